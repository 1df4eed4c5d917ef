"""Stand-ins for arguments: which extents are one symbol, and how wide it is."""

from __future__ import annotations

from warpwright.build.arguments import stand_ins
from warpwright.plan.types import Argument


def test_extents_are_shared_by_mode_and_wide_where_large_ones_are_legal() -> None:
    wide, also, narrow, _ = stand_ins(
        (
            Argument("x", "vector", "f16", ("N",), "N", largest_extent=2**40),
            Argument("y", "vector", "f32", ("N",), "N", "output", largest_extent=2**40),
            Argument("z", "vector", "f32", ("M",), "M"),
        )
    )
    assert wide.shape[0] is also.shape[0]
    assert (wide.shape[0].width, narrow.shape[0].width) == (64, 32)
