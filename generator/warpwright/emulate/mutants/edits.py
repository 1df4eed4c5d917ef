"""Mutants of a kernel: its PTX with one synchronising instruction deleted or altered.

An emulator that passes a kernel says little unless it fails the kernel's mutants. Edits keep the number of lines, so
that findings about a mutant point into the original text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from warpwright.build.launch_capture import Launch
from warpwright.build.ptx_values import Statement, Values, statements
from warpwright.emulate.mutants.decisions import decisions
from warpwright.emulate.translate.unit import Alteration
from warpwright.emulate.units import UNITS

__all__ = ["Mutant", "apply", "mutants"]

#: What makes a shared address that of the leader of a pair of CTAs (bit 24 cleared), and of a whole mbarrier.
_LEADER = ("-16777217", "-16777224")
_INDEX = re.compile(r"setp\.eq\.\w+\s+(%\w+), (%\w+), (\d+);")


@dataclass(frozen=True)
class Mutant:
    """One alteration. `name` is `kind opcode #n`, n counting the places of that kind and opcode in program order:
    it outlives changes elsewhere in the kernel. `edits` maps a line to its new text. `launch` alters what is launched
    instead of the text."""

    name: str
    line: int
    instruction: str
    edits: tuple[tuple[int, str], ...]
    launch: Callable[[tuple[Launch, ...]], tuple[Launch, ...]] | None = field(default=None, compare=False)


def apply(ptx: str, mutant: Mutant) -> str:
    """Return the mutant's text."""
    lines = ptx.split("\n")
    for number, text in mutant.edits:
        lines[number - 1] = text
    return "\n".join(lines)


def mutants(ptx: str, stages: Iterable[int]) -> list[Mutant]:
    """List every mutant of the one kernel in `ptx`, in program order; `stages` are the depths of its rings.

    - each instruction deleted that its unit says a kernel needs, and each count of one (arrivals, threads, bytes) up
      and down
    - what units alter besides: phases of waits, arrivals without bytes, ... (`Unit.alter`)
    - each address in a peer CTA's shared memory kept in the own one
    - at each use of a stage's index, stages 0 and 1 swapped
    - decisions altered: tile indices, comparisons, zeros of accumulators, guards of stores (`decisions`)
    """
    body = statements(ptx)
    lines = ptx.split("\n")
    found = [*_deletions(body), *_counts(body, Values(ptx, body)), *_peers(body)]
    found += [each for unit in UNITS if unit.alter for each in unit.alter(body, lines)]
    found += _swaps(lines, frozenset(stages))
    found += decisions(lines)
    found.sort(key=lambda each: each[2])
    count: Counter[tuple[str, str]] = Counter()
    result = []
    for kind, opcode, line, edits in found:
        count[kind, opcode] += 1
        name = f"{kind} {opcode} #{count[kind, opcode]}"
        result.append(Mutant(name, line, lines[line - 1].strip(), tuple(edits)))
    return result


def _deletions(body: list[Statement]) -> Iterator[Alteration]:
    for s in body:
        opcode = UNITS.find(s.opcode)
        if opcode is not None and opcode.deleted:
            yield "delete", s.opcode, s.line, [(s.line, "")]


def _counts(body: list[Statement], values: Values) -> Iterator[Alteration]:
    for s in body:
        opcode = UNITS.find(s.opcode)
        count = opcode.count if opcode is not None else None
        if count is None or len(s.operands) < count.operands:
            continue
        last = values.of(s.operands[-1]).known
        for step in count.steps:
            if last is not None and last + step > 0:
                operands = ", ".join([*s.operands[:-1], str(last + step)])
                yield f"{step:+} {count.what} in", s.opcode, s.line, [(s.line, f"{s.opcode} {operands};")]


def _peers(body: list[Statement]) -> Iterator[Alteration]:
    for s in body:
        if (s.opcode == "and.b32" and s.operands[-1] in _LEADER) or s.opcode.startswith("mapa.shared::cluster"):
            yield "own CTA in", s.opcode, s.line, [(s.line, f"mov.b32 {s.operands[0]}, {s.operands[1]};")]


def _swaps(lines: list[str], stages: frozenset[int]) -> Iterator[Alteration]:
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
