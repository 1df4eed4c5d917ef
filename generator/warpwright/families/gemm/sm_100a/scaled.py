"""Scales of blocks beside the ring of A and B: how many atoms a stage has, and where they lie."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.dtypes import SCALED, Dtype, dtype
from warpwright.families.gemm.sm_100a.asked import Asked

__all__ = ["ATOM_BLOCKS", "ATOM_BYTES", "ATOM_COLUMNS", "ATOM_ROWS", "MAPPED", "Scales", "scales"]

#: An atom: the scales of 128 rows and 4 blocks of K, in memory, and in tensor memory (PTX ISA 9.1, 9.7.16.10.7).
ATOM_BYTES, ATOM_ROWS, ATOM_BLOCKS = 512, 128, 4
#: Columns of 32 bits: the four scales of a row side by side in one, in each quarter of the lanes.
ATOM_COLUMNS = 4
#: What tensor maps count of an atom: pairs of scales, of which a box holds as many as its longest mode may have.
MAPPED = "u16"


class Scales(NamedTuple):
    """The scales of a stage, of one CTA."""

    dtype: Dtype
    block: int  # elements along K that share one
    deep: int  # atoms along K
    a: int  # atoms along M
    b: int  # atoms along N: of a pair's whole tile, in each of its CTAs

    @property
    def bytes(self) -> int:
        return ATOM_BYTES * self.deep * (self.a + self.b)

    @property
    def rows_first(self) -> bool:
        """Whether maps and boxes have row atoms before those along K: where boxes are one atom deep, the DSL makes maps
        whose modes are in that order."""
        return self.deep == 1

    @property
    def columns(self) -> int:
        """Of tensor memory, of one stage. Each has its own: MMAs are in order behind copies, not copies behind MMAs."""
        return ATOM_COLUMNS * self.deep * (self.a + self.b)


def scales(a: Asked) -> Scales | None:
    """Return the scales of a stage, None where A and B have none. Defined for every point: rules say what is wrong."""
    scaled = SCALED.get(a.computed.a.word)
    if scaled is None:
        return None
    deep = max(1, a.tile_k // (ATOM_BLOCKS * scaled.block))
    return Scales(dtype(scaled.scale), scaled.block, deep, max(1, a.tile_m // ATOM_ROWS), -(-a.tile_n // ATOM_ROWS))
