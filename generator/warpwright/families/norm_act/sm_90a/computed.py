"""What a kernel computes, as a plan knows it: element types, and the canonical form that a plan keeps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from warpwright.canonical import plain
from warpwright.dtypes import Dtype, dtype
from warpwright.families.norm_act.models import Kernel

__all__ = ["Computed", "computed_by"]


class Computed(NamedTuple):
    """What a kernel computes."""

    x: Dtype
    y: Dtype
    weight: Dtype | None
    bias: Dtype | None
    residual: bool
    mean: bool  # whether it is subtracted
    canonical: Mapping[str, Any]  # the kernel as a plan keeps it


@functools.lru_cache(maxsize=64)
def computed_by(kernel: Kernel) -> Computed:
    """Return what a kernel computes."""
    weight, bias = (dtype(v.dtype) if v else None for v in (kernel.weight, kernel.bias))
    return Computed(
        dtype(kernel.x.dtype),
        dtype(kernel.y.dtype),
        weight,
        bias,
        kernel.residual,
        kernel.norm == "layer",
        plain(kernel),
    )
