"""The parts of a PTX text: operands, instructions, kernels, modules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class PtxError(ValueError):
    """The text is not PTX that the reader understands; the message names the line."""


#: What reading raises where a text has not the parts, or not those kinds of parts, that it should have.
MALFORMED = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError,
             ValueError)  # fmt: skip


def misread(where: str, what: str, error: BaseException) -> PtxError:
    """The error to raise for one of MALFORMED, with the place in the text; a PtxError knows that itself."""
    if isinstance(error, PtxError):
        return error
    return PtxError(f"{where}: {what} ({type(error).__name__}{f': {error}' if str(error) else ''})")


@dataclass(frozen=True)
class Register:
    name: str


@dataclass(frozen=True)
class Immediate:
    """`value` holds the bits: two's complement for integers, the encoding for floats (`bits` 32 or 64, 0: integer)."""

    value: int
    bits: int = 0


@dataclass(frozen=True)
class Symbol:
    name: str


@dataclass(frozen=True)
class Special:
    name: str


@dataclass(frozen=True)
class Sink:
    """The operand `_`: a result that is thrown away."""


@dataclass(frozen=True)
class Vector:
    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Memory:
    """`[base + offset]`, or `[map, {coordinates}]` of a tensor copy."""

    base: Operand
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Pair:
    """`destination | predicate`."""

    first: Operand
    second: Operand


Location = tuple[tuple[str, int, int], ...]
Operand = Register | Immediate | Symbol | Special | Sink | Vector | Memory | Pair


def items_of(operand: Operand) -> tuple[Operand, ...]:
    """The items of a vector; any other operand is one item."""
    return operand.items if isinstance(operand, Vector) else (operand,)


@dataclass
class Instruction:
    """One statement; `loc` holds (file, line, column) of the nearest `.loc` above it, then of where that is inlined."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | None
    negated: bool
    line: int
    loc: Location
    text: str
    parts: tuple[str, ...] = ()
    mods: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.parts = tuple(self.opcode.split("."))
        self.mods = frozenset(self.parts[1:])

    @property
    def where(self) -> str:
        return f"PTX line {self.line}: {self.text}"


@dataclass(frozen=True)
class Param:
    name: str
    bytes: int
    align: int


@dataclass(frozen=True)
class SharedSymbol:
    """`bytes` is 0 for the extern array: dynamic shared memory."""

    name: str
    bytes: int
    align: int


@dataclass(frozen=True)
class Array:
    """A declared array of `size` bytes; `data`: its first ones, the rest are zero."""

    name: str
    space: str
    size: int
    align: int
    data: bytes = b""


@dataclass
class Kernel:
    """One `.entry`: `registers` gives the width in bits of each name (1 for predicates)."""

    name: str
    params: list[Param]
    registers: dict[str, int] = field(default_factory=dict)
    shared: list[SharedSymbol] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    reqntid: tuple[int, int, int] | None = None
    maxntid: int | None = None  # threads
    reqnctapercluster: tuple[int, int, int] | None = None
    program: Any = None  # the translation, made at the first launch


@dataclass
class Module:
    """The kernels of one PTX text, by name, in order."""

    kernels: dict[str, Kernel]
    target: str
    version: str

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel called `name`, or the only one; `PtxError` where that is not one kernel."""
        if name is None and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        if name not in self.kernels:
            raise PtxError(f"no kernel {name!r} in this module, which has {', '.join(self.kernels) or 'none'}")
        return self.kernels[name]
