"""How an SGEMM is computed once every choice is made: what `auto` became, and nothing that follows from the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SgemmDesign"]


@dataclass(frozen=True)
class SgemmDesign:
    """Extents in elements, registers per thread after setmaxnreg (None: left as they are at launch)."""

    warps_m: int
    warps_n: int
    thread_m: int
    thread_n: int
    lanes_m: int
    lane_order: Literal["crossed", "interleaved", "plain"]
    tile_k: int
    unroll: int  # steps of K that are written out
    stages: int
    producer_warps: int  # 0: all warps load and compute
    producer_registers: int | None
    consumer_registers: int | None
    ctas_per_sm: int
    raster: Literal["m", "n"]
    group: int  # tiles that walk together

    @property
    def lanes_n(self) -> int:
        """Lanes of a warp along N."""
        return 32 // self.lanes_m

    @property
    def tile_m(self) -> int:
        """Rows of D that a CTA computes at a time."""
        return self.warps_m * self.lanes_m * self.thread_m

    @property
    def tile_n(self) -> int:
        """Columns of D that a CTA computes at a time."""
        return self.warps_n * self.lanes_n * self.thread_n

    #: A CTA is by itself, and goes from tile to tile.
    cluster_m, cluster_n, persistent, snake = 1, 1, True, False

    @property
    def specialised(self) -> bool:
        """Whether there are warps that only load."""
        return self.producer_warps > 0
