"""What a GEMM computes: its matrices, and the chain that makes D of the product."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpwright.dtypes import Dtype, dtype, element
from warpwright.epilogue import registry
from warpwright.families.gemm import models
from warpwright.families.gemm.parts.chain import Step, steps

__all__ = ["Computed", "Matrix", "computed"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Element type of one matrix, the size of one element, and the mode of stride 1; there is one of each.

    word: what the file calls its dtype, which is a block-scaled format where elements have scales.
    """

    dtype: Dtype
    bytes: int  # of smaller elements one
    major: str
    word: str

    @property
    def bits(self) -> int:
        """Of one element."""
        return self.dtype.bits


@dataclass(frozen=True, eq=False)
class Computed:
    """What a kernel computes. There is one of each, so that tables can be looked up by it."""

    a: Matrix
    b: Matrix
    c: Matrix | None
    d: Matrix
    accumulator: Dtype
    steps: tuple[Step, ...]
    tile_operands: tuple[str, ...]  # arguments of the chain that are matrices
    canonical: Mapping[str, Any]  # the kernel as a plan keeps it

    @property
    def read(self) -> Matrix | None:
        """The matrix C, where the chain reads it."""
        return self.c if self.tile_operands else None


def computed(kernel: models.Kernel) -> Computed:
    """What a kernel of a file computes."""
    return _computed(kernel, os.environ.get(registry.OPS_VARIABLE, ""))


@functools.lru_cache(maxsize=1024)
def _computed(kernel: models.Kernel, folders: str) -> Computed:
    # `folders` stands for where operations come from: in others, a name may be another operation.
    chain = steps(tuple((step.op, step.dtype) for step in kernel.epilogue))
    return Computed(
        _matrix(kernel.a.dtype, kernel.a.major),
        _matrix(kernel.b.dtype, kernel.b.major),
        _matrix(kernel.c.dtype, kernel.c.major) if kernel.c else None,
        _matrix(kernel.d.dtype, kernel.d.major),
        dtype(kernel.accumulator),
        chain,
        tuple(name for step in chain for operand, name in step.arguments if operand.kind == "tile"),
        kernel.model_dump(mode="json"),
    )


@functools.cache
def _matrix(name: str, major: str) -> Matrix:
    return Matrix(element(name), max(1, element(name).bits // 8), major, name)
