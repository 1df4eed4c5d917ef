"""What a YAML file says of a copy: the kernel, how it is run, and the problems it is tried on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from warpwright.frozen import Frozen

__all__ = ["Design", "Kernel", "Problem", "Vector"]


class Vector(Frozen):
    """Element type of x or y."""

    dtype: Literal["f16", "bf16", "f32"]


class Kernel(Frozen):
    """What is computed: y = alpha x, multiplied in f32 and rounded to y's dtype."""

    family: Literal["copy"] = "copy"
    arch: Literal["sm_90a"] = "sm_90a"
    x: Vector
    y: Vector


class Design(Frozen):
    """How it is computed."""

    stage_bytes: Annotated[int, Field(ge=1)] = 4096  # of one chunk, in the wider of the two dtypes
    stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    consumer_warps: Annotated[int, Field(ge=1)] = 4
    producer_warps: Annotated[int, Field(ge=1)] = 1
    ctas_per_sm: Annotated[int, Field(ge=1)] = 4
    store: Literal["tma", "direct"] = "direct"
    slots: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"  # buffers per consumer warp, of the way out by TMA


class Problem(Frozen):
    """Elements of x and y; there may be none."""

    n: Annotated[int, Field(ge=0, le=2**40)]
