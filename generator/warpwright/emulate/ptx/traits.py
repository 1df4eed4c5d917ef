"""What the control flow must know of opcodes that are more than arithmetic, and how opcodes are looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from warpwright.emulate.ptx.syntax import Instruction, Operand

T = TypeVar("T")
#: (instruction, whether an operand differs between lanes) -> the names of the results that do.
Varies = Callable[[Instruction, Callable[[Operand], bool]], list[str]]


@dataclass(frozen=True)
class Traits:
    """How an instruction stands in the flow of its kernel.

    result: its first operand is written, where that is a register; reads_result: and read as well (accumulators).
    varies: which results differ between lanes: all where an operand does, "always", "never", or those it names.
    suspends: it may make the warp wait, so that a block starts there, to be run again once the warp is woken.
    spins: it tests what others change; alone in a loop it is a wait, and suspends the warp.
    effect: it does something beside its result, so such instructions keep their order.
    """

    result: bool = True
    reads_result: bool = False
    varies: Literal["operands", "always", "never"] | Varies = "operands"
    suspends: bool = False
    spins: bool = False
    effect: bool = True


ARITHMETIC = Traits(effect=False)
#: The opcodes that are no unit's: control flow, and the parameters of the kernel.
CORE: Mapping[str, Traits] = {
    "bra": Traits(result=False),
    "ret": Traits(result=False),
    "exit": Traits(result=False),
    "ld.param": Traits(),
}


class Prefixes(Generic[T]):
    """Values by opcode: that of the longest prefix, in whole parts, of the one that is looked up."""

    def __init__(self, values: Mapping[str, T]) -> None:
        self.values = values
        self._found: dict[str, T | None] = {}

    def find(self, opcode: str) -> T | None:
        if opcode not in self._found:
            parts = opcode.split(".")
            prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
            self._found[opcode] = next((self.values[p] for p in prefixes if p in self.values), None)
        return self._found[opcode]
