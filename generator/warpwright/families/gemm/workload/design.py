"""How a GEMM is computed once every choice is made: what `auto` became, and nothing that follows from the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = ["GemmDesign", "TensorDesign"]


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
    snake: ClassVar[bool] = False
    takes_over: ClassVar[bool] = False
    subtile_m: ClassVar[int] = 64  # rows of a subtile: those of one wgmma

    @property
    def sharing(self) -> int:
        """Consumer warpgroups that share one tile."""
        return 1 if self.schedule == "pingpong" else self.consumers

    @property
    def warpgroup_m(self) -> int:
        """Rows of D that one consumer warpgroup computes per tile."""
        return self.tile_m // self.sharing


@dataclass(frozen=True)
class TensorDesign:
    """How it is computed where sums lie in tensor memory (sm_100a). Extents in elements, of one CTA."""

    tile_m: int
    tile_n: int
    tile_k: int
    cluster_m: int
    cluster_n: int
    cta_group: Literal[1, 2]  # CTAs of one MMA
    stages: int
    consumers: int  # warps that issue MMAs
    epilogue_warps: int
    accumulator_stages: int
    scheduler: Literal["persistent", "dynamic", "one_tile"]
    raster: Literal["m", "n"]
    group: int  # clusters that walk together
    snake: bool
    store: Literal["tma", "direct"]
    subtile_n: int
    subtile_stages: int  # 0 where threads store
    c_stages: int  # 0 where there is no tile operand
    schedule: ClassVar[str] = "cooperative"
    subtile_m: ClassVar[int] = 128  # rows of a subtile: lanes of tensor memory

    @property
    def persistent(self) -> bool:
        """Whether a cluster steps through tiles by the size of the grid."""
        return self.scheduler == "persistent"

    @property
    def takes_over(self) -> bool:
        """Whether a cluster is handed the tiles of clusters that have not started."""
        return self.scheduler == "dynamic"

    @property
    def warpgroups(self) -> int:
        """Of the epilogue."""
        return self.epilogue_warps // 4

    @property
    def across(self) -> int:
        """Warpgroups that drain one accumulator side by side."""
        return self.warpgroups // self.consumers
