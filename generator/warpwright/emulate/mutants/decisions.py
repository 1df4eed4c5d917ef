"""Altered decisions of a kernel: which tile, which elements, from what accumulators on. No barrier is touched.

Such a mutant runs through without a hang or a race; only a problem that comes to the decision shows it. It says of the
cases what deleted barriers say of the emulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpwright.emulate.translate.unit import Alteration

__all__ = ["decisions"]

#: Largest tile index that a mutant knows: a walk longer than that shows it.
_CLAMPS = (15, 63)
_SETP = re.compile(r"\s*setp\.(lt|le|gt|ge)\.([su])(16|32|64)\s+(%\w+), (\S+), (\S+);")
_STEP = re.compile(r"\s*add\.s32\s+(%\w+), (%\w+), (%\w+);")
_INDEXES = re.compile(r"\s*(div\.[su]32|mul\.wide\.[su]32|cvt\.s64\.s32|mul\.lo\.s32)\s+(%\w+), (%\w+)(.*);")
_ZERO = re.compile(r"\s*(?:mov\.[bf]32\s+(%\w+), 0f00000000|selp\.[bf]32\s+(%\w+), 0f00000000, (%\w+), %\w+);")
_BRANCH = re.compile(r"\s*@!?%\w+ bra\s+\S+;")
_GUARDED = re.compile(r"(\s*)@!?%\w+\s+((?:st\.global|cp\.async\.bulk\S*global\.shared)\S*)(\s.*)")
_STORE = re.compile(r"\s*(st\.global\S*|cp\.async\.bulk\.(?:tensor\.\S+\.)?global\.shared\S*)\s")
_OTHER = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}


def decisions(lines: list[str]) -> Iterator[Alteration]:
    """Yield alterations of a kernel's lines.

    - a tile index that knows no more than 16 or 64 tiles, wherever it is used
    - a comparison of integers that is off by one; tests of a sign are left alone
    - accumulators that are not set to zero: a run of registers, and its last one alone
    - a store to global memory that no condition guards
    """
    yield from _clamps(lines)
    yield from _comparisons(lines)
    yield from _fills(lines)
    yield from _stores(lines)


def _clamps(lines: list[str]) -> Iterator[Alteration]:
    """A counter of a loop is compared with a bound after `add counter, counter, step`, the step being a register."""
    compared = {match[5] for line in lines if (match := _SETP.fullmatch(line)) and match[6].startswith("%")}
    steps = [match for line in lines if (match := _STEP.fullmatch(line))]
    counters = {name for match in steps if match[1] in compared for name in match.groups()[:2]}
    for number, line in enumerate(lines, 1):
        use = _INDEXES.fullmatch(line)
        if use and use[3] in counters:
            for most in _CLAMPS:
                text = f"{{ .reg .b32 few; min.s32 few, {use[3]}, {most}; {use[1]} {use[2]}, few{use[4]}; }}"
                yield f"index at most {most} in", use[1], number, [(number, text)]


def _comparisons(lines: list[str]) -> Iterator[Alteration]:
    for number, line in enumerate(lines, 1):
        test = _SETP.fullmatch(line)
        if test and not (test[6] == "0" and test[2] == "s" and test[1] in ("lt", "ge")):
            opcode = f"setp.{test[1]}.{test[2]}{test[3]}"
            text = f"setp.{_OTHER[test[1]]}.{test[2]}{test[3]} {test[4]}, {test[5]}, {test[6]};"
            yield f"{_OTHER[test[1]]} for {test[1]} in", opcode, number, [(number, text)]


def _fills(lines: list[str]) -> Iterator[Alteration]:
    run: list[int] = []
    for number, line in enumerate([*lines, ""], 1):
        zeroed = _ZERO.fullmatch(line)
        # Only the register itself remains without: of `selp a, 0, b` that is so where a is b.
        if zeroed and (zeroed[1] or zeroed[2] == zeroed[3]):
            run.append(number)
            continue
        if len(run) > 1:
            opcode = lines[run[0] - 1].split()[0]
            yield "no fill by", opcode, run[0], [(each, "") for each in run]
            yield "no last fill by", opcode, run[-1], [(run[-1], "")]
        run = []


def _stores(lines: list[str]) -> Iterator[Alteration]:
    for number, line in enumerate(lines, 1):
        guarded = _GUARDED.fullmatch(line)
        if guarded:
            yield "no guard of", guarded[2], number, [(number, f"{guarded[1]}{guarded[2]}{guarded[3]}")]
        branch = _BRANCH.fullmatch(line)
        store = _skipped_store(lines, number) if branch else ""
        if store:
            yield "no guard of", store, number, [(number, "")]


def _skipped_store(lines: list[str], start: int) -> str:
    """The first store among what follows `start` and is reached from there alone; "" for none."""
    for line in lines[start:]:
        if line.startswith("$") or _BRANCH.fullmatch(line):
            return ""
        store = _STORE.match(line)
        if store:
            return store[1]
    return ""
