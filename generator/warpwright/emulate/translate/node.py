"""The node of an instruction that the translator orders: what it computes, reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.emulate.numbers.alu import NAMES
from warpwright.emulate.numbers.operation import INTEGERS, Operation
from warpwright.emulate.ptx.syntax import Instruction, Operand, Register

_DTYPES: dict[str, Any] = {"pred": np.bool_, "f32": np.uint32}
_DTYPES |= {kind: np.dtype(f"u{bits // 8}") for kind, bits in INTEGERS.items()}


@dataclass
class Node:
    """`op` is None for effects. `uses` and `defs` are register names; `depth` orders the nodes of a block."""

    instruction: Instruction
    number: int
    op: Operation | None
    result: Register | None = None
    sources: tuple[Operand, ...] = ()
    uses: list[str] = field(default_factory=list)
    defs: list[str] = field(default_factory=list)
    depth: int = 0
    known: bool = True


def lift(op: Operation) -> Callable[..., int]:
    """`op` on plain integers: its vector expression on arrays of one lane."""
    names = [f"a{i}" for i in range(len(op.sources))]
    function = eval(f"lambda {', '.join(names)}: {op.vector.format(*names)}", dict(NAMES))
    views: dict[str, Any] = {k: np.dtype(f"i{v // 8}") for k, v in INTEGERS.items() if k[0] == "s"}
    views["f32"] = np.float32

    def call(*bits: int) -> int:
        arrays = [
            np.array([b], dtype=_DTYPES[kind]).view(views.get(kind, _DTYPES[kind]))
            for b, kind in zip(bits, op.sources, strict=True)
        ]
        value = np.asarray(function(*arrays)).reshape(-1)[:1]
        if op.result == "f32":
            return int(value.astype(np.float32).view(np.uint32)[0])
        if op.result == "pred":
            return int(bool(value[0]))
        return int(value[0]) & ((1 << INTEGERS[op.result]) - 1)

    return call
