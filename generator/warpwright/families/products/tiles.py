"""How a product's output is cut into tiles, and which of them each cluster of the grid computes, in which order."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal, Protocol

__all__ = ["Tiled", "ceil", "computed", "count", "counted_as", "grid", "tile_of"]


class Tiled(Protocol):
    """What of a design says how its output is cut; extents in elements, `cluster_m` and `cluster_n` in CTAs."""

    @property
    def tile_m(self) -> int: ...

    @property
    def tile_n(self) -> int: ...

    @property
    def tile_k(self) -> int: ...

    @property
    def cluster_m(self) -> int: ...

    @property
    def cluster_n(self) -> int: ...

    @property
    def stages(self) -> int: ...

    @property
    def persistent(self) -> bool:
        """Whether a cluster walks over tiles, or has one."""

    @property
    def raster(self) -> Literal["m", "n"]:
        """Along which mode clusters walk, in bands of `group`."""

    @property
    def group(self) -> int: ...

    @property
    def snake(self) -> bool:
        """Whether every second band is walked backwards across."""


def ceil(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def grid(d: Tiled, extents: Mapping[str, int]) -> tuple[int, int, int]:
    """Clusters along M, N and L that tile the output."""
    m, n = ceil(extents["M"], d.tile_m * d.cluster_m), ceil(extents["N"], d.tile_n * d.cluster_n)
    return m, n, extents["L"]


def count(d: Tiled, extents: Mapping[str, int]) -> int:
    """Tiles of a cluster in all."""
    return prod(grid(d, extents))


def counted_as(d: Tiled) -> tuple[str, str]:
    """What a kernel calls `grid` and `count`: of clusters where it has some, else of tiles."""
    return ("clusters", "cluster_tiles") if d.cluster_m * d.cluster_n > 1 else ("tiles_mnl", "tile_count")


def tile_of(d: Tiled, counts: tuple[int, int, int], number: int) -> tuple[int, int, int]:
    """Return the cluster's place (m, n, batch), in clusters, of tile `number` of the walk.

    Clusters walk along the raster's mode in bands of `group`; the last band may be narrower. With `snake` every second
    band is walked backwards.
    """
    along, across = counts[:2] if d.raster == "m" else counts[1::-1]
    batch, within = divmod(number, along * across)
    band, within = divmod(within, d.group * across)
    width = min(d.group, along - band * d.group)
    far, near = divmod(within, width)
    walk = band * d.group + near
    if d.snake and band % 2:
        far = across - 1 - far
    return (walk, far, batch) if d.raster == "m" else (far, walk, batch)


def computed(d: Tiled, extents: Mapping[str, int], clusters: int, cluster: int) -> list[Mapping[str, slice]]:
    """Return the part of D, by mode, of each tile of one cluster; `clusters` is the grid limit."""
    counts, total = grid(d, extents), count(d, extents)
    numbers = range(cluster, total, min(total, clusters)) if d.persistent else range(cluster, cluster + 1)
    size = {"M": d.tile_m * d.cluster_m, "N": d.tile_n * d.cluster_n, "L": 1}
    found: list[Mapping[str, slice]] = []
    for number in numbers:
        place = zip("MNL", tile_of(d, counts, number), strict=True)
        found.append({mode: slice(at * size[mode], min((at + 1) * size[mode], extents[mode])) for mode, at in place})
    return found
