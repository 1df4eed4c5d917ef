"""Constants behind PTX registers: enough arithmetic to say which shared-memory offset an instruction addresses.

PTX as NVVM writes it assigns nearly every register once, so a register's value follows from its definition. What
depends on run-time values is kept as "some offset plus this constant", which still names the buffer or barrier,
because a stage index only moves within one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

__all__ = ["Statement", "Value", "Values", "statements"]


@dataclass(frozen=True)
class Statement:
    """One PTX instruction: mnemonic with all its suffixes, and operands; brackets and braces stay together."""

    line: int
    opcode: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Value:
    """`shared` times the base of dynamic shared memory, plus `constant`, plus something unknown if `dynamic`."""

    shared: int = 0
    constant: int = 0
    dynamic: bool = False

    def __add__(self, other: Value) -> Value:
        return Value(self.shared + other.shared, self.constant + other.constant, self.dynamic or other.dynamic)

    @property
    def known(self) -> int | None:
        """The value as a plain number, or None."""
        return self.constant if not self.shared and not self.dynamic else None

    @property
    def shared_offset(self) -> int | None:
        """The constant part of an address in dynamic shared memory; None where it is no such address."""
        return self.constant if self.shared == 1 else None


UNKNOWN = Value(dynamic=True)
_STATEMENT = re.compile(r"^(?:@!?[%\w]+\s+)?([a-z][a-z0-9_]*(?:[.:]+[\w]+)*)(?:\s+(.*))?$", re.DOTALL)
#: Bits of the address of an mbarrier in shared memory that say where in a CTA it lies; above them stands which CTA's.
_ADDRESS = 0xFFFFF8
_COPIES = ("mov.", "cvt.", "cvta.", "mapa.", "shfl.sync.idx")


def _split_operands(text: str) -> tuple[str, ...]:
    """Split at commas outside brackets and braces; `a|b` destinations count as their first part."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return tuple(p.split("|")[0] if p.startswith("%") else p for p in parts if p)


def statements(ptx: str) -> list[Statement]:
    """Return the instructions of a PTX text in order, those of inline assembly included."""
    result = []
    for number, line in enumerate(ptx.splitlines(), 1):
        code = line.partition("//")[0].strip()
        if not code or code[0] in "{}." or code.endswith(":"):
            continue
        for piece in code.split(";"):
            match = _STATEMENT.match(piece.strip())
            if match:
                result.append(Statement(number, match[1], _split_operands(match[2] or "")))
    return result


class Values:
    """Evaluates operands of one kernel's statements."""

    def __init__(self, ptx: str, body: list[Statement]) -> None:
        self._shared_symbols = set(re.findall(r"\.extern\s+\.shared\s.*?([\w$]+)\[\]", ptx))
        self._definitions: dict[str, list[Statement]] = defaultdict(list)
        self._memo: dict[str, Value] = {}
        for statement in body:
            if not statement.operands:
                continue
            target = statement.operands[0]
            for register in re.findall(r"%\w+", target) if target.startswith(("%", "{")) else ():
                self._definitions[register].append(statement)

    def of(self, operand: str) -> Value:
        """Return the value of a register, number, symbol or bracketed address."""
        operand = operand.strip("[] ")
        base, plus, offset = operand.partition("+")
        if plus:
            return self.of(base) + self.of(offset)
        if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", operand):
            return Value(constant=int(operand, 0))
        if operand in self._shared_symbols:
            return Value(shared=1)
        if operand not in self._memo:
            self._memo[operand] = UNKNOWN  # what depends on itself round a loop is unknown
            self._memo[operand] = self._define(operand)
        return self._memo[operand]

    def _define(self, register: str) -> Value:
        definitions = self._definitions.get(register, [])
        counted = [one for one in definitions if self._follows(one, register)]
        values = {self._apply(one) for one in definitions if one not in counted}
        start = values.pop() if len(values) == 1 else UNKNOWN
        # What a loop counts up starts at a constant part.
        return Value(start.shared, start.constant, dynamic=True) if counted else start

    def _follows(self, statement: Statement, register: str) -> bool:
        """Whether a statement adds to `register`, directly or by way of one other register."""
        if register in statement.operands[1:]:
            return True
        sources = (self._definitions.get(operand, []) for operand in statement.operands[1:])
        return any(register in one.operands[1:] for found in sources if len(found) == 1 for one in found)

    def _apply(self, statement: Statement) -> Value:
        opcode, operands = statement.opcode, statement.operands
        if opcode.startswith(_COPIES) and len(operands) >= 2 and operands[1][0] != "{":
            return self.of(operands[1])
        if len(operands) == 3:
            a, b = self.of(operands[1]), self.of(operands[2])
            if opcode.startswith("add."):
                if UNKNOWN in (a, b) and ((a.known or 0) < 0 or (b.known or 0) < 0):
                    return UNKNOWN  # counted from the number that is taken off, as a warp from the first of its role
                return a + b
            if opcode.startswith("and.b32") and b.known is not None and ~b.known & _ADDRESS == 0:
                return a  # the same place in the CTA of even rank of a pair
            if opcode.startswith("or.b") and a.dynamic and not b.shared and not a.shared:
                return Value(0, a.constant + b.constant, True)  # LLVM writes a sum of disjoint bits as `or`
            factor = {"shl.": lambda n: 1 << n, "mul": lambda n: n}.get(opcode[: 4 if opcode[0] == "s" else 3])
            if factor and b.known is not None and not a.shared and "hi" not in opcode:
                return Value(0, a.constant * factor(b.known), a.dynamic)
        if len(operands) == 4 and opcode.startswith("mad.lo"):
            a, b, c = (self.of(o) for o in operands[1:])
            if b.known is not None and not a.shared:
                return Value(0, a.constant * b.known, a.dynamic) + c
        return UNKNOWN
