"""What the FFMAs of a kernel's busiest loop read, from its machine code.

A scheduler reads one register per clock from each of two banks, the even and the odd ones, and keeps what the
instruction before it had in the same place, where that is marked for reuse. What it reads beyond one of each bank costs
a clock each: an FFMA that shares no factor with the one before it reads three registers, and two of one bank.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Reads", "reads"]

_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9.]*)\s*([^;]*);", re.MULTILINE)
_LABEL = re.compile(r"^(\.L\w+):", re.MULTILINE)
_REGISTER = re.compile(r"-?\|?R(\d+)(\.reuse)?")


class Reads(NamedTuple):
    """Of one turn of the loop."""

    instructions: int
    ffmas: int
    of_one_bank: int  # FFMAs that read two registers of one bank, and no third one
    of_three: int  # FFMAs that read three registers

    @property
    def conflicts(self) -> float:
        """The part of the FFMAs that read two registers of one bank."""
        return self.of_one_bank / self.ffmas


def reads(sass: str) -> Reads:
    """Count in the smallest loop that has at least half of all FFMAs. Raises ValueError where there is none."""
    code = [(int(found[1], 16), found[2], found[3]) for found in _LINE.finditer(sass)]
    total = sum(opcode == "FFMA" for _, opcode, _ in code)
    loops = []
    for last, (_, opcode, operands) in enumerate(code):
        target = _target(sass, operands) if opcode.startswith("BRA") else None
        first = next((at for at, (address, _, _) in enumerate(code) if address == target), last + 1)
        body = code[first : last + 1]
        if 2 * sum(opcode == "FFMA" for _, opcode, _ in body) >= max(total, 1):
            loops.append(body)
    if not loops:
        raise ValueError("no loop has half of the FFMAs")
    return _count(min(loops, key=len))


def _target(sass: str, operands: str) -> int | None:
    """Where a branch goes."""
    name = re.search(r"\.L\w+", operands)
    if name is None:
        number = re.search(r"0x([0-9a-f]+)", operands)
        return int(number[1], 16) if number else None
    label = re.search(rf"^{re.escape(name[0])}:", sass, re.MULTILINE)
    following = _LINE.search(sass, label.end()) if label else None
    return int(following[1], 16) if following else None


def _count(body: list[tuple[int, str, str]]) -> Reads:
    kept: dict[int, int] = {}  # by place
    ffmas = one_bank = three = 0
    for _, opcode, operands in body:
        sources = [_REGISTER.match(part.strip()) for part in operands.split(",")[1:]]
        if opcode == "FFMA":
            numbers = {place: int(found[1]) for place, found in enumerate(sources) if found}
            read = {number for place, number in numbers.items() if kept.get(place) != number}
            ffmas += 1
            three += len(read) == 3
            one_bank += len(read) == 2 and len({number % 2 for number in read}) == 1
        kept = {place: int(found[1]) for place, found in enumerate(sources) if found and found[2]}
    return Reads(len(body), ffmas, one_bank, three)
