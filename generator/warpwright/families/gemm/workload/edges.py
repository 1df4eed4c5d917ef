"""Where the output of a GEMM ends: in each subtile of a tile, with and without elements that fill no 16 bytes.

A TMA store writes whole 16 bytes along D's contiguous mode, threads what is left; where an extent ends decides which
subtile both meet in, and whether they meet at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign
from warpwright.plan.types import Plan

__all__ = ["Edge", "edge_of"]


@dataclass(frozen=True)
class Edge:
    """Along D's contiguous `mode`: elements of a tile, of a subtile, and of what is stored at once: 16 bytes by TMA, by
    threads nothing whole."""

    mode: str
    tile: int
    subtile: int
    grain: int
    by_tma: bool

    @property
    def subtiles(self) -> int:
        return max(1, self.tile // self.subtile)

    def mixed(self, subtile: int) -> int:
        """Elements of a tile that ends in `subtile` with whole 16 bytes and the most that are left: 15 for f16.

        Where threads store everything, with all but the last element, so that each of theirs is there once.
        """
        if not self.by_tma:
            return (subtile % self.subtiles + 1) * self.subtile - 1
        return subtile % self.subtiles * self.subtile + min(2 * self.grain, self.subtile) - 1

    def tail(self, subtile: int) -> int:
        """The same where nothing whole stands before what is left: 3 elements."""
        if not self.by_tma:
            return self.mixed(subtile)
        return subtile % self.subtiles * self.subtile + 3

    def extents(self, contiguous: int, other: int) -> tuple[int, int]:
        """M and N of these extents along the contiguous mode and the other one."""
        return (contiguous, other) if self.mode == "M" else (other, contiguous)


def edge_of(plan: Plan) -> Edge:
    """Return the edge of a plan's output."""
    d: GemmDesign | TensorDesign = plan.design
    output = next(argument for argument in plan.arguments if argument.output)
    grain = output.alignment // dtype(output.dtype).bytes
    if output.contiguous == "M":
        return Edge("M", d.tile_m, d.subtile_m, grain, d.store == "tma")
    return Edge("N", d.tile_n, d.subtile_n, grain, d.store == "tma")
