"""Which tiles each CTA of the grid computes, in which order, and what it copies for them."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.families.sgemm.workload.design import SgemmDesign

__all__ = ["ceil", "computed", "copied", "count", "grid", "tile_of"]


def ceil(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def grid(d: SgemmDesign, extents: Mapping[str, int]) -> tuple[int, int, int]:
    """Tiles along M, N and L."""
    return ceil(extents["M"], d.tile_m), ceil(extents["N"], d.tile_n), extents["L"]


def count(d: SgemmDesign, extents: Mapping[str, int]) -> int:
    """Tiles in all."""
    m, n, batches = grid(d, extents)
    return m * n * batches


def tile_of(d: SgemmDesign, counts: tuple[int, int, int], number: int) -> tuple[int, int, int]:
    """Return the place (m, n, batch) of tile `number` of the walk.

    Tiles walk along the raster's mode in bands of `group`; the last band may be narrower.
    """
    along, across = counts[:2] if d.raster == "m" else counts[1::-1]
    batch, within = divmod(number, along * across)
    band, within = divmod(within, d.group * across)
    far, near = divmod(within, min(d.group, along - band * d.group))
    walk = band * d.group + near
    return (walk, far, batch) if d.raster == "m" else (far, walk, batch)


def computed(d: SgemmDesign, extents: Mapping[str, int], ctas: int, cta: int) -> list[Mapping[str, slice]]:
    """Return the part of D, by mode, of each tile of one CTA; `ctas` is the grid limit."""
    counts, total = grid(d, extents), count(d, extents)
    size = {"M": d.tile_m, "N": d.tile_n, "L": 1}
    found: list[Mapping[str, slice]] = []
    for number in range(cta, total, min(total, ctas)):
        place = zip("MNL", tile_of(d, counts, number), strict=True)
        found.append({mode: slice(at * size[mode], min((at + 1) * size[mode], extents[mode])) for mode, at in place})
    return found


def copied(d: SgemmDesign, extents: Mapping[str, int]) -> dict[str, int]:
    """Elements of A and B that TMA copies, in whole boxes; none where threads copy."""
    if not d.specialised:
        return {}
    depth = ceil(extents["K"], d.tile_k) * d.tile_k * count(d, extents)
    return {"a": d.tile_m * depth, "b": d.tile_n * depth}
