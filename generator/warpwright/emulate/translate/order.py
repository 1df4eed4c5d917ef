"""The order of a block's nodes, and which of them become one call.

Nodes get a depth: behind what they read, and behind what reads or writes what they write. Arithmetic of one depth that
is alike is one numpy call over a range of rows. Effects keep their order; those of a kind that follow each other and
depend on none of each other (the stores of a subtile) have one depth, and are one call as well.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from warpwright.emulate.translate.node import Node

if TYPE_CHECKING:
    from warpwright.emulate.translate.writer import BlockWriter


def grouped(writer: BlockWriter, nodes: list[Node]) -> list[list[Node]]:
    """The nodes in the order in which they are done, those that are done at once together."""
    runs = _runs(writer, nodes)
    suspends = bool(nodes) and nodes[0].op is None and writer.flow.traits(nodes[0].instruction.opcode).suspends
    if any(run != at for at, run in enumerate(runs)):
        _depths_of_runs(nodes, runs, suspends)
    else:
        _depths(nodes, suspends)
    groups: dict[Any, list[Node]] = {}
    for position, node in enumerate(nodes):
        groups.setdefault(_key(writer, node, runs[position]), []).append(node)
    return sorted(groups.values(), key=lambda g: g[0].depth)  # stable: else in the order of the text


def _key(writer: BlockWriter, node: Node, position: int) -> tuple[Any, ...]:
    if node.op is not None and node.result is not None and node.result.name in writer.flow.varying:
        shape = tuple(writer.shape(s) for s in node.sources)
        if any(isinstance(s, int) for s in shape):
            guard = node.instruction.guard
            width = writer.owner.width(node.result.name)
            return node.depth, -1, node.op, shape, width, guard and (guard.name, node.instruction.negated)
    return node.depth, position


def _depths(nodes: list[Node], suspends: bool) -> None:
    written: dict[str, int] = {}
    read: dict[str, int] = {}
    effect = 0
    for position, node in enumerate(nodes):
        depth = 1
        for name in node.uses:
            depth = max(depth, written.get(name, 0) + 1)
        for name in node.defs:
            depth = max(depth, written.get(name, 0) + 1, read.get(name, 0) + 1)
        if node.op is None:
            depth = max(depth, effect + 1)
            if position == 0 and suspends:
                depth = 0
            effect = depth
        for name in node.uses:
            read[name] = max(read.get(name, 0), depth)
        for name in node.defs:
            written[name] = depth
        node.depth = depth


def _runs(writer: BlockWriter, nodes: list[Node]) -> list[int]:
    """Of each node the position of the first one that it is done at once with: mostly its own."""
    runs = list(range(len(nodes)))
    first, alike = -1, None
    behind: set[str] = set()  # registers that hold something that depends on the run
    in_use: set[str] = set()  # registers that something reads which depends on the run
    for position, node in enumerate(nodes):
        if node.op is not None and first < 0:
            continue
        depends = not (behind.isdisjoint(node.uses) and behind.isdisjoint(node.defs) and in_use.isdisjoint(node.defs))
        if node.op is None:
            key = _alike(writer, node)
            if key is not None and key == alike and not depends:
                runs[position] = first
            elif key is None:
                first, alike, behind, in_use = -1, None, set(), set()
                continue
            else:
                first, alike, behind, in_use = position, key, set(), set()
            depends = True
        if depends:
            behind.update(node.defs)
            in_use.update(node.uses)
    return runs


def _alike(writer: BlockWriter, node: Node) -> Hashable:
    opcode = writer.owner.units.find(node.instruction.opcode)
    if opcode is None or opcode.gather is None:
        return None
    key = opcode.gather.alike(writer, node)
    guard = node.instruction.guard
    return None if key is None else (key, guard and (guard.name, node.instruction.negated))


def _depths_of_runs(nodes: list[Node], runs: list[int], suspends: bool) -> None:
    """The same where some effects are done at once: a run is as deep as its deepest member, whatever comes between."""
    before: dict[int, set[int]] = {run: set() for run in runs}
    written: dict[str, int] = {}
    read: dict[str, set[int]] = {}
    effect = -1
    for run, node in zip(runs, nodes, strict=True):
        earlier = before[run]
        for name in node.uses:
            if name in written:
                earlier.add(written[name])
        for name in node.defs:
            if name in written:
                earlier.add(written[name])
            earlier |= read.get(name, set())
        if node.op is None:
            if effect >= 0:
                earlier.add(effect)
            effect = run
        for name in node.uses:
            read.setdefault(name, set()).add(run)
        for name in node.defs:
            written[name] = run
            read[name] = set()
        earlier.discard(run)
    depths: dict[int, int] = {}
    for run in before:
        pending = [run]
        while pending:
            at = pending[-1]
            missing = [e for e in before[at] if e not in depths]
            if missing:
                pending += missing
                continue
            pending.pop()
            depths[at] = 1 + max((depths[e] for e in before[at]), default=0)
            if at == 0 and suspends:
                depths[at] = 0
    for run, node in zip(runs, nodes, strict=True):
        node.depth = depths[run]
