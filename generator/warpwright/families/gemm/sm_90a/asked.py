"""What a point asks for, flat: what is computed, and the choices that were made or left to the solver."""

from __future__ import annotations

from typing import Literal, NamedTuple

from warpwright.families.gemm import models
from warpwright.families.gemm.parts.computed import Computed, computed
from warpwright.point import Point

__all__ = ["Asked", "asked"]


#: Of consumers, where nobody chooses.
_USUAL_WARPS = 8


class Asked(NamedTuple):
    """A point's choices; None and "auto" are left to the solver. Extents in elements."""

    computed: Computed
    tile_m: int
    tile_n: int
    tile_k: int
    cluster_m: int
    cluster_n: int
    stages: int | None
    producer_warps: int
    consumer_warps: int
    pingpong: bool
    registers: tuple[int, int] | Literal["auto", "none"]
    persistent: bool
    raster: Literal["m", "n"]
    group: int
    by_tma: bool  # D is stored by TMA
    epilogue_n: int | None
    epilogue_stages: int | None
    design: models.Design  # as the file has it

    @property
    def walk(self) -> int:
        """How far the counter of tiles goes, in times of as many as there are.

        A persistent CTA steps by the clusters of the grid, no more than there are tiles, and stops when it is beyond
        the last one; a consumer of two that take turns goes by two steps.
        """
        return (3 if self.pingpong else 2) if self.persistent else 1


def asked(point: Point) -> Asked:
    """Flatten a point of this family."""
    design: models.Design = point.design
    tile, cluster, scheduler, registers = design.tile, design.cluster, design.scheduler, design.registers
    return Asked(
        computed(point.kernel),
        tile.m,
        tile.n,
        tile.k,
        cluster.m,
        cluster.n,
        _number(design.stages),
        design.producer_warps,
        _USUAL_WARPS if design.consumer_warps == "auto" else design.consumer_warps,
        design.schedule == "pingpong",
        registers if isinstance(registers, str) else (registers.producer, registers.consumer),
        scheduler.kind == "persistent",
        scheduler.raster,
        scheduler.group,
        design.store == "tma",
        _number(design.epilogue_n),
        _number(design.epilogue_stages),
        design,
    )


def _number(value: int | str) -> int | None:
    return value if isinstance(value, int) else None
