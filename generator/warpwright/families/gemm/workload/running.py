"""The GEMM's workload, as whoever runs a kernel sees it (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from warpwright.device.problem import Case, Problem
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.epilogue.reference import Chain
from warpwright.families.gemm.workload import cases, copied, launch, operands, peer, problems, reference
from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign
from warpwright.families.products import far
from warpwright.families.products.launch import huge
from warpwright.families.products.reference import Product
from warpwright.families.products.running import Products
from warpwright.families.running import Expected, Launched, Peer, Workload
from warpwright.plan.types import Argument, Plan

__all__ = ["WORKLOAD", "Gemm"]

#: To what rows are aligned, 16 bytes; clusters in flight, as many as an H200 has SMs.
_ALIGNED_BITS, _LIMIT = 128, 132


class Gemm(Products):
    """Of GEMMs, and of families that stand on this one."""

    designs: Mapping[str, type] = MappingProxyType(
        {"sm_90a": GemmDesign, **dict.fromkeys(("sm_100a", "sm_103a", "sm_110a"), TensorDesign)}
    )

    def problems(self, plan: Plan) -> list[Problem]:
        return [operands.whole(plan, each) for each in problems.standard(plan, Chain(plan).skips.values())]

    def cases(self, plan: Plan) -> list[Case]:
        small = cases.small(plan, self.scalars_of(plan), Chain(plan).skips.values())
        return [operands.whole_case(plan, case) for case in (*small, far.far(plan), *far.most(plan))]

    def compared(self, plan: Plan) -> list[Case]:
        return [operands.whole_case(plan, case) for case in cases.compared(self.cases(plan))]

    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        return operands.drawn(xp, argument, problem, seed)

    def scalars_of(self, plan: Plan) -> list[str]:
        """Names of the scalars of the epilogue."""
        return [a.name for a in plan.arguments if a.kind == "scalar" and a.role == "input"]

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        names = self.scalars_of(plan)
        switches = Chain(plan).skips.values()
        return {
            name: reference.scalar_value(name, problem.fill, problem.zero, problem.special, name in switches)
            for name in names
        }

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        return {tile for tile, scalar in Chain(plan).skips.items() if scalar in problem.zero}

    def product(self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array]) -> Product:
        return reference.product(xp, plan, problem.fill != "normal", stored)

    def finish(
        self, xp: Xp, plan: Plan, problem: Problem, product: Product, stored: Callable[[str], Array]
    ) -> Expected:
        scalars, bound = self.scalars(plan, problem), reference.as_f32(xp, plan, product)
        return Expected(*Chain(plan).apply(xp, product.values, bound, product.exact, scalars, stored))

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        unread = self.unread(plan, problem)
        return {name: 0 if name in unread else count for name, count in copied.copied(plan, problem).items()}

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        return [launch.launched(plan, problem, clusters, self.scalars(plan, problem))]

    def huge(self, plan: Plan) -> list[Case]:
        bits = max(dtype(argument.dtype).bits for argument in plan.arguments if argument.name in ("a", "b"))
        return [operands.whole_case(plan, case) for case in huge(plan, _ALIGNED_BITS // bits, _LIMIT)]

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        return list(filter(None, [peer.vendor_product(torch, plan, tensors)]))

    def peer_key(self, plan: Plan) -> str:
        return peer.signature(plan)


WORKLOAD: Workload = Gemm()
