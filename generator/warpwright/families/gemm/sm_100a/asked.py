"""What a point asks for, flat: what is computed, and the choices that were made or left to the solver."""

from __future__ import annotations

from typing import Literal, NamedTuple

from warpwright import archs
from warpwright.archs import Arch
from warpwright.families.gemm import models
from warpwright.families.gemm.parts.computed import Computed, computed
from warpwright.point import Point

__all__ = ["Asked", "asked"]


class Asked(NamedTuple):
    """A point's choices; None is left to the solver. Extents in elements, of one CTA."""

    arch: Arch  # sm_100a's limits for an arch without tensor memory, which a rule refuses
    named: str  # the arch that was asked for
    computed: Computed
    tile_m: int
    tile_n: int
    tile_k: int
    cluster_m: int
    cluster_n: int
    cta_group: int  # CTAs of one MMA
    stages: int | None
    accumulator_stages: int | None
    consumer_warps: int | None
    epilogue_warps: int | None
    scheduler: Literal["persistent", "dynamic", "one_tile"]
    raster: Literal["m", "n"]
    group: int
    snake: bool
    by_tma: bool  # D is stored by TMA
    epilogue_n: int | None
    epilogue_stages: int | None
    design: models.Design  # as the file has it

    @property
    def persistent(self) -> bool:
        """Whether a cluster steps through tiles by the size of the grid."""
        return self.scheduler == "persistent"

    @property
    def several_tiles(self) -> bool:
        """Whether a CTA may compute more than one: its accumulators are filled again."""
        return self.scheduler != "one_tile"

    @property
    def walk(self) -> int:
        """How far the counter of tiles goes, in times of as many as there are: a persistent CTA stops beyond the last
        one, within a step of the grid's clusters."""
        return 2 if self.persistent else 1


def asked(point: Point) -> Asked:
    """Flatten a point of this family."""
    design: models.Design = point.design
    tile, cluster, scheduler = design.tile, design.cluster, design.scheduler
    arch = archs.arch(point.arch)
    return Asked(
        arch if arch.tensor_columns else archs.SM100A,
        point.arch,
        computed(point.kernel),
        tile.m,
        tile.n,
        tile.k,
        cluster.m,
        cluster.n,
        design.cta_group,
        _number(design.stages),
        _number(design.accumulator_stages),
        _number(design.consumer_warps),
        _number(design.epilogue_warps),
        scheduler.kind,
        scheduler.raster,
        scheduler.group,
        scheduler.snake,
        design.store == "tma",
        _number(design.epilogue_n),
        _number(design.epilogue_stages),
        design,
    )


def _number(value: int | str) -> int | None:
    return value if isinstance(value, int) else None
