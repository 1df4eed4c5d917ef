"""What a YAML file says of an SGEMM: the kernel, how it is run, and the problems it is tried on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from warpwright.frozen import Frozen

__all__ = ["Design", "Kernel", "OperandA", "OperandB", "Problem", "Registers", "ThreadTile", "WarpGrid"]


class OperandA(Frozen):
    """The mode of stride 1 of A."""

    major: Literal["m", "k"]


class OperandB(Frozen):
    """The mode of stride 1 of B."""

    major: Literal["n", "k"]


class Kernel(Frozen):
    """What is computed: D = activation(A B + bias), all of it f32; D is contiguous along N, the bias lies along N."""

    family: Literal["sgemm"] = "sgemm"
    arch: Literal["sm_90a"] = "sm_90a"
    a: OperandA
    b: OperandB
    bias: bool = True
    activation: Literal["relu", "identity"] = "relu"


class WarpGrid(Frozen):
    """How the warps that compute are arranged over a tile."""

    m: Annotated[int, Field(ge=1)]
    n: Annotated[int, Field(ge=1)]


class ThreadTile(Frozen):
    """Elements of D that one thread computes."""

    m: Literal[8, 16]
    n: Literal[8, 16]


class Registers(Frozen):
    """Registers per thread after setmaxnreg."""

    producer: int
    consumer: int


class Design(Frozen):
    """How it is computed. A tile has warps x lanes x thread rows and columns."""

    specialise: Literal["producer", "none"] = "producer"  # none: all warps load and compute
    warps: WarpGrid = WarpGrid(m=4, n=2)
    thread: ThreadTile = ThreadTile(m=16, n=8)
    lanes_m: Literal[4, 8, "auto"] = "auto"  # lanes of a warp along M; the others lie along N
    lane_order: Literal["crossed", "interleaved", "plain"] = "crossed"
    tile_k: Literal[8, 16, 32, 64] = 32  # depth of one stage
    unroll: Literal[2, 4, 8, 16, 32, "auto"] = "auto"  # steps of K that are written out
    stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    producer_warps: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    registers: Registers | Literal["auto", "none"] = "auto"
    ctas_per_sm: Annotated[int, Field(ge=1)] = 1
    raster: Literal["m", "n"] = "m"  # the direction in which consecutive tiles walk
    group: Annotated[int, Field(ge=1)] = 8  # tiles that walk together, so that L2 is shared


#: Extents are 32-bit in the kernels' interface.
Extent = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Problem(Frozen):
    """Extents of one problem: D (l, m, n) = A (l, m, k) B (l, k, n); any of them may be 0."""

    m: Extent
    n: Extent
    k: Extent
    l: Extent = 1  # noqa: E741 - the field's own name for the batch
