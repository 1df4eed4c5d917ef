"""What a YAML file says of a normalisation: the kernel, how it is run, and the problems it is tried on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from warpwright.frozen import Frozen

__all__ = ["Design", "Kernel", "Problem", "Vector"]


class Vector(Frozen):
    """Element type of a tensor."""

    dtype: Literal["f16", "bf16", "f32"]


class Kernel(Frozen):
    """What is computed: y = activation(norm(x + residual) weight + bias), in f32, rounded to y's dtype."""

    family: Literal["norm_act"] = "norm_act"
    arch: Literal["sm_90a"] = "sm_90a"
    x: Vector
    y: Vector
    norm: Literal["layer", "rms"] = "layer"
    eps: Annotated[float, Field(ge=1e-12, le=1.0, allow_inf_nan=False)] = 1e-5
    residual: bool = False  # a matrix like x, of x's dtype, added to it before it is normalised
    weight: Vector | None = None
    bias: Vector | None = None
    activation: Literal["identity", "relu", "silu", "gelu_tanh", "gelu_erf"] = "gelu_tanh"


class Design(Frozen):
    """How it is computed."""

    specialise: Literal["none", "preprocess", "tma"] = "tma"
    columns: Annotated[int, Field(ge=1, le=65536)] = 4096  # of a row, at most
    warps_per_row: Annotated[int, Field(ge=1)] = 4
    groups: Annotated[int, Field(ge=1)] = 3  # of so many warps, each with a row of its own
    ctas_per_row: Annotated[int, Field(ge=1)] = 1  # none, not persistent: CTAs of a cluster, which share a row
    rows_per_group: Annotated[int, Field(ge=1)] = 1  # none, not persistent: rows that one thread asks for at once
    producer_warps: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    producer_groups: Annotated[int, Field(ge=1)] = 1  # of producers, each with a row of its own; of one warp with tma
    stages: Annotated[int, Field(ge=0)] | Literal["auto"] = "auto"
    ring: Literal["mbarrier", "named"] = "mbarrier"  # preprocess: what tells that a stage is full, or empty
    ctas_per_sm: Annotated[int, Field(ge=1)] = 1
    persistent: bool = True
    row: Literal["registers", "shared", "streamed"] = "registers"  # where a row stays; streamed: it is loaded again
    scales: Literal["registers", "shared"] = "registers"  # where weight and bias are held
    reallocate: bool = False  # tma: the producers' warpgroup gives registers to the others
    access_bytes: Literal[2, 4, 8, 16] = 16  # of the wider of x and y that a lane moves at once

    @property
    def long(self) -> bool:
        """Whether registers do not hold a row: its threads walk over it, chunk by chunk."""
        return self.row != "registers"

    @property
    def ahead(self) -> bool:
        """Whether one thread asks for all rows of its group at once, by bulk copies."""
        return self.rows_per_group > 1 or self.ctas_per_row > 1


class Problem(Frozen):
    """M rows of N columns; there may be none of either."""

    m: Annotated[int, Field(ge=0, lt=2**31)]
    n: Annotated[int, Field(ge=0, lt=2**31)]
