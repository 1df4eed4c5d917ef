"""Mutants of tcgen05 instructions that are more than a deletion: what an MMA is told, scale factors, allocations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.build.ptx_values import Statement
    from warpwright.emulate.translate.unit import Alteration

_DESCRIPTOR, _SCALES_OF_A, _SCALES_OF_B = 3, 4, 5  # operands of an MMA
_A_ID, _B_ID = 29, 4  # the first bit of the ids of scales
#: One bit of the instruction descriptor each, and what is another then.
_BITS = {"format of A": 7, "format of B": 10, "sign": 13, "order of A": 15, "order of B": 16}


def alter(body: list[Statement], lines: list[str]) -> Iterator[Alteration]:
    """Commits to the barriers of several CTAs, to the own one alone, and to all but the first; allocations and
    deallocations of half and of twice the columns; copies to the next columns; of the first MMA of a kind each part of
    what its descriptor says, and sums that begin with what was there; of the others, sums that do not; scales of
    another id, and of the next columns."""
    known: set[str] = set()
    for s in body:
        if s.opcode.startswith("tcgen05.commit") and s.opcode.endswith(".multicast::cluster.b64"):
            alone = s.opcode.replace(".multicast::cluster", "")
            yield "own CTA in", s.opcode, s.line, [(s.line, f"{alone} {s.operands[0]};")]
            mask = s.operands[1]
            fewer = f".reg .b16 other; add.s16 other, {mask}, -1; and.b16 other, other, {mask};"
            yield "first CTA left out in", s.opcode, s.line, [(s.line, _line(s, lines, 1, "other", fewer))]
        elif s.opcode.startswith(("tcgen05.alloc", "tcgen05.dealloc")) and len(s.operands) == 2:
            for size, change in (("half", "shr.b32"), ("twice", "shl.b32")):
                yield f"{size} the columns in", s.opcode, s.line, _with(s, lines, 1, change, "1")
        elif s.opcode.startswith("tcgen05.cp") and len(s.operands) == 2:
            yield "next columns in", s.opcode, s.line, _moved(s, lines, 0)
        elif s.opcode.startswith("tcgen05.mma") and len(s.operands) > _DESCRIPTOR:
            yield from _mma(s, lines, s.opcode not in known)
            known.add(s.opcode)


def _mma(s: Statement, lines: list[str], first: bool) -> Iterator[Alteration]:
    scaled = len(s.operands) > _SCALES_OF_B and s.operands[_SCALES_OF_B].startswith("[")
    for what, bit in _BITS.items() if first else ():
        yield f"another {what} in", s.opcode, s.line, _with(s, lines, _DESCRIPTOR, "xor.b32", hex(1 << bit))
    if first:
        fewer = hex((2 if "cta_group::2" in s.opcode else 1) << 17)
        yield "fewer columns in", s.opcode, s.line, _with(s, lines, _DESCRIPTOR, "sub.s32", fewer)
    added = _last_predicate(s)
    if added is not None:
        text = f".reg .pred other; setp.{'eq' if first else 'ne'}.b32 other, 0, 0;"
        altered = [(s.line, _line(s, lines, added, "other", text))]
        if first:
            yield "adds in", s.opcode, s.line, altered
        else:
            yield "adds nothing in", s.opcode, s.line, altered
    if scaled:
        for name, at, bit in (("A", _SCALES_OF_A, _A_ID), ("B", _SCALES_OF_B, _B_ID)):
            size = 1 if "mxf8f6f4" in s.opcode else 2
            other = hex(size << bit)
            yield f"other scales of {name} in", s.opcode, s.line, _with(s, lines, _DESCRIPTOR, "xor.b32", other)
            yield f"next scales of {name} in", s.opcode, s.line, _moved(s, lines, at)


def _last_predicate(s: Statement) -> int | None:
    """Which operand says whether sums are added to."""
    found = [at for at, operand in enumerate(s.operands) if operand.startswith("%p")]
    return found[-1] if found else None


def _with(s: Statement, lines: list[str], at: int, change: str, by: str) -> list[tuple[int, str]]:
    """The line with an operand changed by an instruction."""
    text = f".reg .b32 other; {change} other, {s.operands[at]}, {by};"
    return [(s.line, _line(s, lines, at, "other", text))]


def _moved(s: Statement, lines: list[str], at: int) -> list[tuple[int, str]]:
    """The line with a column of tensor memory that is one further."""
    inside = s.operands[at].strip("[]").strip()
    base, _, offset = inside.partition("+")
    return [(s.line, _line(s, lines, at, f"[{base.strip()}+{int(offset or 0) + 1}]", ""))]


def _line(s: Statement, lines: list[str], at: int, operand: str, before: str) -> str:
    """The line of `s` with another operand, behind more text; a guard stays."""
    line = lines[s.line - 1]
    start = line.index(s.opcode)
    end = line.find(";", start)
    guard = line[:start].rpartition(";")[2]
    head = line[: start - len(guard)]
    operands = ", ".join([*s.operands[:at], operand, *s.operands[at + 1 :]])
    return f"{head}{{ {before} {guard.strip()} {s.opcode} {operands}; }}{line[end + 1 :]}"
