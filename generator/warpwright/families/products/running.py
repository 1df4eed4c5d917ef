"""What the workloads of products have in common (families/running.py has the protocol)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod

from warpwright.device.problem import Problem, shape_of
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.families.products import tiles
from warpwright.families.products.reference import Product
from warpwright.families.running import Expected, Memo, Sample, Work
from warpwright.plan.types import Argument, Plan

__all__ = ["Products", "sample_rows"]

#: Arguments of which the product is made.
_FACTORS = ("a", "b", "sfa", "sfb")
#: Elements of D beyond which the reference is computed for a sample of rows.
_ALL_ROWS = 1 << 28


class Products(ABC):
    """Of plans whose design is `Tiled`: what of D each cluster computes, where it is sampled, and what it costs."""

    modes: tuple[str, ...] = ("M", "N", "K", "L")

    @abstractmethod
    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        """Draw an input (families/running.py)."""

    @abstractmethod
    def product(self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array]) -> Product:
        """Multiply A (L, R, K) by B (L, K, N) as they are stored."""

    @abstractmethod
    def finish(
        self, xp: Xp, plan: Plan, problem: Problem, product: Product, stored: Callable[[str], Array]
    ) -> Expected:
        """Return D from the product, by the plan's epilogue."""

    def expected(
        self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array], memo: Memo
    ) -> Mapping[str, Expected]:
        def make() -> tuple[Product, int]:
            product = self.product(xp, plan, problem, stored)
            return product, 16 * xp.size(product.values)

        product = memo(("product", *(x.dtype for x in plan.arguments if x.name in _FACTORS)), make)
        return {"d": self.finish(xp, plan, problem, product, stored)}

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        extents = problem.extents
        if extents["M"] * extents["N"] * extents["L"] <= _ALL_ROWS:
            return None
        return Sample("M", sample_rows(extents["M"]))

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        bits = sum(prod(shape_of(a, extents)) * dtype(a.dtype).bits for a in plan.arguments if a.kind != "scalar")
        return Work(2 * prod(extents[mode] for mode in "LMNK"), bits // 8, "TFLOP/s")

    def units(self, plan: Plan, problem: Problem) -> int:
        return tiles.count(plan.design, problem.extents)

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        return [box for cluster in only for box in tiles.computed(plan.design, problem.extents, clusters, cluster)]


def sample_rows(m: int, stride: int = 61) -> list[int]:
    """Rows that touch every tile of 64 rows or more: every 61st (prime: all offsets in a tile occur) and the last."""
    return sorted({*range(0, m, stride), *range(max(0, m - 3), m)})
