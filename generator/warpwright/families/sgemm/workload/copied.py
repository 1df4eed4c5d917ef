"""What the CTAs of an SGEMM copy asynchronously, in elements."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.families.products.tiles import ceil, count
from warpwright.families.sgemm.workload.design import SgemmDesign

__all__ = ["copied"]


def copied(d: SgemmDesign, extents: Mapping[str, int]) -> dict[str, int]:
    """Elements of A and B that TMA copies, in whole boxes; none where threads copy."""
    if not d.specialised:
        return {}
    depth = ceil(extents["K"], d.tile_k) * d.tile_k * count(d, extents)
    return {"a": d.tile_m * depth, "b": d.tile_n * depth}
