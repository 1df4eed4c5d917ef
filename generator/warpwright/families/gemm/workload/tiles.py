"""Which tiles each cluster of the grid computes, in which order: by the raster that the plan says."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.families.gemm.workload.design import GemmDesign

__all__ = ["ceil", "computed", "grid", "tile_of"]


def ceil(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def grid(d: GemmDesign, extents: Mapping[str, int]) -> tuple[int, int, int]:
    """Clusters along M, N and L that tile the output."""
    m, n = ceil(extents["M"], d.tile_m * d.cluster_m), ceil(extents["N"], d.tile_n * d.cluster_n)
    return m, n, extents["L"]


def tile_of(d: GemmDesign, counts: tuple[int, int, int], number: int) -> tuple[int, int, int]:
    """Return the cluster's place (m, n, batch), in clusters, of tile `number` of the walk.

    Clusters walk along the raster's mode in bands of `group`; the last band may be narrower.
    """
    along, across = counts[:2] if d.raster == "m" else counts[1::-1]
    batch, within = divmod(number, along * across)
    band, within = divmod(within, d.group * across)
    width = min(d.group, along - band * d.group)
    far, near = divmod(within, width)
    walk = band * d.group + near
    return (walk, far, batch) if d.raster == "m" else (far, walk, batch)


def computed(d: GemmDesign, extents: Mapping[str, int], clusters: int, cluster: int) -> list[Mapping[str, slice]]:
    """Return the part of D, by mode, of each tile of one cluster; `clusters` is the grid limit."""
    counts = grid(d, extents)
    total = counts[0] * counts[1] * counts[2]
    numbers = range(cluster, total, min(total, clusters)) if d.persistent else range(cluster, cluster + 1)
    size = {"M": d.tile_m * d.cluster_m, "N": d.tile_n * d.cluster_n, "L": 1}
    found: list[Mapping[str, slice]] = []
    for number in numbers:
        place = zip("MNL", tile_of(d, counts, number), strict=True)
        found.append({mode: slice(at * size[mode], min((at + 1) * size[mode], extents[mode])) for mode, at in place})
    return found
