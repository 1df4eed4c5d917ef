"""What a YAML file says of the ladder: the dtype, the rung, and the tile that it keeps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from warpwright.families.gemm.models import Problem, Tile
from warpwright.frozen import Frozen

__all__ = ["Design", "Kernel", "Problem"]


class Kernel(Frozen):
    """What is computed: D = relu(A B + bias), summed in f32; A and B contiguous along K, D along N, of one dtype."""

    family: Literal["ladder"] = "ladder"
    arch: Literal["sm_90a", "sm_100a"] = "sm_90a"
    dtype: Literal["f16", "bf16"] = "f16"


class Design(Frozen):
    """How it is computed."""

    rung: Annotated[int, Field(ge=1, le=9)]  # 6 on sm_100a
    tile: Tile = Tile(m=128, n=128, k=64)  # on sm_100a what a CTA loads for one MMA
    stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
