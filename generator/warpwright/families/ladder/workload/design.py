"""How a rung is computed: as a GEMM is, and which rung it is."""

from __future__ import annotations

from dataclasses import dataclass

from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign

__all__ = ["LadderDesign", "TensorLadderDesign"]


@dataclass(frozen=True)
class LadderDesign(GemmDesign):
    """A GEMM's design. Rungs below 5 have no producer warps; the first walks over all tiles in one CTA."""

    rung: int

    @property
    def one_cta(self) -> bool:
        """Whether one CTA computes everything."""
        return self.rung == 1


@dataclass(frozen=True)
class TensorLadderDesign(TensorDesign):
    """The same with accumulators in tensor memory. Rungs below 4 have no roles; the first walks over all tiles."""

    rung: int

    @property
    def one_cta(self) -> bool:
        """Whether one CTA computes everything."""
        return self.rung == 1
