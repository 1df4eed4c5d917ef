"""The epilogue chain of a gemm: each operation with the kernel's arguments for its operands."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from dataclasses import dataclass

from warpwright.epilogue import registry
from warpwright.epilogue.chain import argument_names
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand
from warpwright.families.gemm.parts.names import TAKEN

__all__ = ["Step", "chain_text", "steps"]


@dataclass(frozen=True)
class Step:
    """One operation of the chain with the argument names of its operands (unique within the kernel)."""

    op: EpilogueOp
    dtype: str  # of its vector operand
    arguments: tuple[tuple[EpilogueOperand, str], ...]
    scratch: str  # the buffer that holds its shared_bytes, or ""

    @property
    def reads_tile(self) -> bool:
        return any(operand.kind == "tile" for operand in self.op.operands)

    @property
    def reads_vector(self) -> bool:
        return any(operand.kind in ("vector_m", "vector_n") for operand in self.op.operands)


def chain_text(chain: Iterable[Step]) -> str:
    """Return a chain as a YAML file writes it, e.g. `[alpha, {op: bias_n, dtype: f16}]`."""
    words = (s.op.name if s.dtype == "f32" else f"{{op: {s.op.name}, dtype: {s.dtype}}}" for s in chain)
    return f"[{', '.join(words)}]"


def steps(chain: tuple[tuple[str, str], ...]) -> tuple[Step, ...]:
    """Return the steps of a chain, given as (operation, dtype)."""
    return _steps(chain, os.environ.get(registry.OPS_VARIABLE, ""))


@functools.lru_cache(maxsize=256)
def _steps(chain: tuple[tuple[str, str], ...], folders: str) -> tuple[Step, ...]:
    # `folders` stands for where operations come from: in others, a name may be another operation.
    operations = tuple(registry.get(name, TAKEN) for name, _ in chain)
    named = argument_names(operations)
    scratch = [f"scratch_{number}" if op.shared_bytes else "" for number, op in enumerate(operations, 1)]
    dtypes = [dtype for _, dtype in chain]
    return tuple(Step(*parts) for parts in zip(operations, dtypes, named, scratch, strict=True))
