"""Registers that a tcgen05.ld fills: they must not be used before tcgen05.wait::ld. The compiler moves them before
that, though, so copies are as unready as what they were copied from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.units.tcgen05.copies import Moves

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.translator import Translator
    from warpwright.emulate.translate.writer import BlockWriter


#: What ends loads, or lets other warps go on: where a use is the wait for a load, what is told then depends on it.
_TELLS = ("tcgen05.wait", "tcgen05.fence", "mbarrier.arrive", "bar.", "barrier.")


def arrange(_owner: Translator, prepared: list[list[Node]]) -> frozenset[str]:
    """The registers that are loaded, and those that moves copy them to."""
    nodes = [node for block in prepared for node in block]
    names = {name for n in nodes if n.instruction.opcode.startswith("tcgen05.ld") for name in n.defs}
    moves = [n for n in nodes if names and n.instruction.parts[0] == "mov"]
    while more := {name for n in moves if not names.isdisjoint(n.uses) for name in n.defs} - names:
        names |= more
    for block in prepared if names else ():
        here = sorted(names.intersection(name for n in block for name in (*n.uses, *n.defs)))
        for node in block:
            if node.instruction.opcode.startswith(_TELLS):  # no use of them moves across
                node.uses += here
                node.defs += here
    return frozenset(names)


def before(w: BlockWriter, group: list[Node], loaded: frozenset[str]) -> None:
    """Report a use of registers that a load may not have filled, and follow copies of them."""
    if not loaded or group[0].instruction.opcode.startswith((*_TELLS, "tcgen05.ld")):
        return
    if group[0].instruction.parts[0] == "mov":
        copies = ((loaded.intersection(n.uses), frozenset(n.defs)) for n in group)
        moves = Moves((source, target) for source, target in copies if source)
        if moves.pairs:
            w.heads["loading"] = "w.own(Loading)"
            w.lines.append(f"if loading.names: loading.copy({w.owner.constant(moves, 'N')})")
        return
    names = loaded.intersection(name for node in group for name in (*node.uses, *node.defs))
    if names:
        w.heads["loading"] = "w.own(Loading)"
        name = w.owner.constant(names, "N")
        test = f"loading.names and not loading.names.isdisjoint({name})"
        w.lines.append(f"if {test}: tcgen05_touch(w, {group[0].number}, {name})")
