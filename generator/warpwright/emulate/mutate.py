"""Mutants of a kernel: its PTX with one synchronising instruction deleted or altered.

An emulator that passes a kernel says little unless it fails the kernel's mutants. Edits keep the number of lines, so
that findings about a mutant point into the original text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpwright.build.ptx_values import Statement, Values, statements

__all__ = ["Mutant", "apply", "mutants"]

#: What is deleted as it stands; a wait on an mbarrier is a loop and is made to fall through instead.
_DELETED = (
    "mbarrier.init",
    "mbarrier.arrive",
    "mbarrier.expect_tx",
    "mbarrier.complete_tx",
    "fence.",
    "bar.",
    "barrier.",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "tcgen05.fence",
    "tcgen05.commit",
    "tcgen05.wait",
    "tcgen05.dealloc",
)
#: What makes a shared address that of the leader of a pair of CTAs (bit 24 cleared), and of a whole mbarrier.
_LEADER = ("-16777217", "-16777224")
_INDEX = re.compile(r"setp\.eq\.\w+\s+(%\w+), (%\w+), (\d+);")


@dataclass(frozen=True)
class Mutant:
    """One alteration. `name` is `kind opcode #n`, n counting the places of that kind and opcode in program order:
    it outlives changes elsewhere in the kernel. `edits` maps a line to its new text."""

    name: str
    line: int
    instruction: str
    edits: tuple[tuple[int, str], ...]


def apply(ptx: str, mutant: Mutant) -> str:
    """Return the mutant's text."""
    lines = ptx.split("\n")
    for number, text in mutant.edits:
        lines[number - 1] = text
    return "\n".join(lines)


def mutants(ptx: str, stages: Iterable[int]) -> list[Mutant]:
    """List every mutant of the one kernel in `ptx`, in program order; `stages` are the depths of its rings.

    - each synchronising instruction deleted; cluster arrive and wait also as a pair; expect_tx also without its bytes
    - each arrival and thread count, and each transaction count, one up and one down (threads by a warp)
    - each wait_group one looser
    - each arrival at a peer CTA's barrier kept in the own CTA; likewise of a pair's commits and TMA loads
    - the phase of each wait flipped, which is its initial phase flipped
    - at each use of a stage's index, stages 0 and 1 swapped
    """
    body = statements(ptx)
    lines = ptx.split("\n")
    found = [*_deletions(body), *_counts(body, Values(ptx, body)), *_phases(body, lines), *_peers(body)]
    found += _swaps(lines, frozenset(stages))
    found.sort(key=lambda each: each[2])
    count: Counter[tuple[str, str]] = Counter()
    result = []
    for kind, opcode, line, edits in found:
        count[kind, opcode] += 1
        name = f"{kind} {opcode} #{count[kind, opcode]}"
        result.append(Mutant(name, line, lines[line - 1].strip(), tuple(edits)))
    return result


_Found = tuple[str, str, int, list[tuple[int, str]]]


def _deletions(body: list[Statement]) -> Iterator[_Found]:
    pending: Statement | None = None
    for s in body:
        if s.opcode.startswith(_DELETED):
            yield "delete", s.opcode, s.line, [(s.line, "")]
        if "expect_tx" in s.opcode and s.opcode.startswith("mbarrier.arrive"):
            plain = s.opcode.replace(".expect_tx", "")
            text = f"{plain} {', '.join(s.operands[:-1])}, 1;"
            yield "no bytes in", s.opcode, s.line, [(s.line, text)]
        if s.opcode.startswith("barrier.cluster.arrive"):
            pending = s
        elif s.opcode.startswith("barrier.cluster.wait") and pending is not None:
            yield "delete pair", pending.opcode, pending.line, [(pending.line, ""), (s.line, "")]
            pending = None


def _counts(body: list[Statement], values: Values) -> Iterator[_Found]:
    for s in body:
        last = values.of(s.operands[-1]).known if s.operands else None
        if s.opcode.startswith("mbarrier.") and "expect_tx" in s.opcode:
            changes = [(1, "byte"), (-1, "byte")]
        elif s.opcode.startswith(("mbarrier.init", "mbarrier.arrive")) and len(s.operands) > 1:
            changes = [(1, "arrival"), (-1, "arrival")]
        elif s.opcode.startswith(("bar.sync", "bar.arrive", "barrier.sync", "barrier.arrive")) and len(s.operands) > 1:
            changes = [(32, "threads"), (-32, "threads")]
        elif "wait_group" in s.opcode:
            changes = [(1, "group")]
        else:
            continue
        for step, what in changes:
            if last is not None and (last + step > 0 or "wait_group" in s.opcode):
                operands = ", ".join([*s.operands[:-1], str(last + step)])
                yield f"{step:+} {what} in", s.opcode, s.line, [(s.line, f"{s.opcode} {operands};")]


def _phases(body: list[Statement], lines: list[str]) -> Iterator[_Found]:
    for s in body:
        if not s.opcode.startswith(("mbarrier.try_wait.parity", "mbarrier.test_wait.parity")):
            continue
        label = next(n for n in range(s.line - 1, 0, -1) if lines[n - 1].strip().endswith(":"))
        target, address, parity, *rest = s.operands
        flipped = f".reg .b32 flipped; xor.b32 flipped, {parity}, 1; {lines[label - 1].strip()}"
        waits = f"{s.opcode} {', '.join([target, address, 'flipped', *rest])};"
        yield "flip phase of", s.opcode, s.line, [(label, flipped), (s.line, waits)]
        yield "delete", s.opcode, s.line, [(s.line, f"setp.eq.b32 {target}, 0, 0;")]


def _peers(body: list[Statement]) -> Iterator[_Found]:
    for s in body:
        if s.opcode.startswith("tcgen05.commit") and s.opcode.endswith(".multicast::cluster.b64"):
            alone = s.opcode.replace(".multicast::cluster", "")
            yield "own CTA in", s.opcode, s.line, [(s.line, f"{alone} {s.operands[0]};")]
        elif (s.opcode == "and.b32" and s.operands[-1] in _LEADER) or s.opcode.startswith("mapa.shared::cluster"):
            yield "own CTA in", s.opcode, s.line, [(s.line, f"mov.b32 {s.operands[0]}, {s.operands[1]};")]


def _swaps(lines: list[str], stages: frozenset[int]) -> Iterator[_Found]:
    """A stage index returns to 0 at the depth of a ring: `add t, i, 1; setp.eq p, t, STAGES; selp i, 0, t, p`."""
    indices = set()
    for number, line in enumerate(lines):
        match = _INDEX.search(line)
        if match and int(match[3]) in stages:
            for later in lines[number + 1 : number + 4]:
                selected = re.search(rf"selp\.b32\s+(%\w+), 0, {re.escape(match[2])}, {re.escape(match[1])};", later)
                if selected:
                    indices.add(selected[1])
    for number, line in enumerate(lines, 1):
        use = re.fullmatch(r"\s*((?:shl|mul|mad|add)[\w.]*)\s+(%\w+), (%\w+), (.+);", line)
        if use and use[3] in indices and (use[1][:3], use[4]) != ("add", "1"):
            text = (
                f"{{ .reg .pred few; .reg .b32 other; setp.lt.u32 few, {use[3]}, 2; selp.b32 other, 1, 0, few;"
                f" xor.b32 other, other, {use[3]}; {use[1]} {use[2]}, other, {use[4]}; }}"
            )
            yield "swap stages 0 and 1 in", use[1], number, [(number, text)]
