"""How a GEMM is computed once every choice is made: what `auto` became, and nothing that follows from the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["GemmDesign"]


@dataclass(frozen=True)
class GemmDesign:
    """Extents in elements, registers per thread after setmaxnreg (None: left as they are at launch)."""

    tile_m: int
    tile_n: int
    tile_k: int
    cluster_m: int
    cluster_n: int
    stages: int
    producer_warps: int
    consumers: int  # warpgroups
    schedule: Literal["cooperative", "pingpong"]
    producer_registers: int | None
    consumer_registers: int | None
    persistent: bool
    raster: Literal["m", "n"]
    group: int  # clusters that walk together
    store: Literal["tma", "direct"]
    subtile_n: int
    subtile_stages: int  # 0 where threads store
    c_stages: int  # 0 where there is no tile operand

    @property
    def sharing(self) -> int:
        """Consumer warpgroups that share one tile."""
        return 1 if self.schedule == "pingpong" else self.consumers

    @property
    def warpgroup_m(self) -> int:
        """Rows of D that one consumer warpgroup computes per tile."""
        return self.tile_m // self.sharing
