"""What a point asks for, flat: what is computed, and the choices that were made or left to the solver."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from warpwright.dtypes import Dtype, dtype
from warpwright.epilogue import registry
from warpwright.families.gemm import models
from warpwright.families.gemm.sm_90a.chain import Step, steps
from warpwright.point import Point

__all__ = ["Asked", "Computed", "Matrix", "asked"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Element type of one matrix, the size of one element, and the mode of stride 1; there is one of each."""

    dtype: Dtype
    bytes: int
    major: str


@dataclass(frozen=True, eq=False)
class Computed:
    """What a kernel computes. There is one of each, so that tables can be looked up by it."""

    a: Matrix
    b: Matrix
    c: Matrix | None
    d: Matrix
    steps: tuple[Step, ...]
    tile_operands: tuple[str, ...]  # arguments of the chain that are matrices
    canonical: Mapping[str, Any]  # the kernel as a plan keeps it

    @property
    def read(self) -> Matrix | None:
        """The matrix C, where the chain reads it."""
        return self.c if self.tile_operands else None


class Asked(NamedTuple):
    """A point's choices; None and "auto" are left to the solver. Extents in elements."""

    computed: Computed
    tile_m: int
    tile_n: int
    tile_k: int
    cluster_m: int
    cluster_n: int
    stages: int | None
    producer_warps: int
    consumer_warps: int
    pingpong: bool
    registers: tuple[int, int] | Literal["auto", "none"]
    persistent: bool
    raster: Literal["m", "n"]
    group: int
    by_tma: bool  # D is stored by TMA
    epilogue_n: int | None
    epilogue_stages: int | None


def asked(point: Point) -> Asked:
    """Flatten a point of this family."""
    design: models.Design = point.design
    tile, cluster, scheduler, registers = design.tile, design.cluster, design.scheduler, design.registers
    return Asked(
        _computed(point.kernel, os.environ.get(registry.OPS_VARIABLE, "")),
        tile.m,
        tile.n,
        tile.k,
        cluster.m,
        cluster.n,
        _number(design.stages),
        design.producer_warps,
        design.consumer_warps,
        design.schedule == "pingpong",
        registers if isinstance(registers, str) else (registers.producer, registers.consumer),
        scheduler.kind == "persistent",
        scheduler.raster,
        scheduler.group,
        design.store == "tma",
        _number(design.epilogue_n),
        _number(design.epilogue_stages),
    )


def _number(value: int | str) -> int | None:
    return value if isinstance(value, int) else None


@functools.lru_cache(maxsize=1024)
def _computed(kernel: models.Kernel, folders: str) -> Computed:
    # `folders` stands for where operations come from: in others, a name may be another operation.
    chain = steps(tuple((step.op, step.dtype) for step in kernel.epilogue))
    return Computed(
        _matrix(kernel.a.dtype, kernel.a.major),
        _matrix(kernel.b.dtype, kernel.b.major),
        _matrix(kernel.c.dtype, kernel.c.major) if kernel.c else None,
        _matrix(kernel.d.dtype, kernel.d.major),
        chain,
        tuple(name for step in chain for operand, name in step.arguments if operand.kind == "tile"),
        kernel.model_dump(mode="json"),
    )


@functools.cache
def _matrix(name: str, major: str) -> Matrix:
    return Matrix(dtype(name), dtype(name).bytes, major)
