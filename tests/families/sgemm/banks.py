"""How long the FFMAs of a kernel's busiest loop take to read their registers, from its machine code.

A scheduler reads one register per clock from each of two banks, the even and the odd ones, and keeps what the
instruction before had in the same place where that is marked for reuse. Of what an FFMA reads from one bank, one
register may be late by a clock, as long as the next instruction has one less to read there; of 21 kernels that were
timed, this is within some percents of what they took beyond what they issue.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Loop", "loop"]

_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9.]*)\s*([^;]*);", re.MULTILINE)
_REGISTER = re.compile(r"-?\|?R(\d+)(\.reuse)?")
_LATE = 1  # clocks


class Loop(NamedTuple):
    """One turn of a loop."""

    instructions: int
    ffmas: int
    clocks: int  # of issue, and of waiting for registers

    @property
    def waits(self) -> float:
        """Clocks that are waited per FFMA."""
        return (self.clocks - self.instructions) / self.ffmas


def loop(sass: str) -> Loop:
    """Count in the smallest loop that has at least a quarter of all FFMAs. Raises ValueError where there is none."""
    code = [(int(found[1], 16), found[2], found[3]) for found in _LINE.finditer(sass)]
    total = sum(opcode == "FFMA" for _, opcode, _ in code)
    places = {address: at for at, (address, _, _) in enumerate(code)}
    loops = []
    for last, (_, opcode, operands) in enumerate(code):
        target = re.search(r"0x([0-9a-f]+)", operands) if opcode.startswith("BRA") else None
        first = places.get(int(target[1], 16), last + 1) if target else last + 1
        body = [(opcode, operands) for _, opcode, operands in code[first : last + 1]]
        if 4 * sum(opcode == "FFMA" for opcode, _ in body) >= max(total, 1):
            loops.append(body)
    if not loops:
        raise ValueError("no loop has a quarter of the FFMAs")
    return _run(min(loops, key=len))


def _run(body: list[tuple[str, str]]) -> Loop:
    """Two turns, of which the second counts."""
    kept: dict[int, int] = {}  # by place
    clock, began, read_until = 0, 0, [0, 0]  # by bank
    for turn in range(2):
        began = clock if turn else 0
        for opcode, operands in body:
            clock += 1
            sources = [_REGISTER.match(part.strip()) for part in operands.split(",")[1:]]
            if opcode == "FFMA":
                numbers = {place: int(found[1]) for place, found in enumerate(sources) if found}
                for number in {number for place, number in numbers.items() if kept.get(place) != number}:
                    read_until[number % 2] = max(read_until[number % 2], clock - 1) + 1
                clock = max(clock, max(read_until) - _LATE)
            kept = {place: int(found[1]) for place, found in enumerate(sources) if found and found[2]}
    return Loop(len(body), sum(opcode == "FFMA" for opcode, _ in body), clock - began)
