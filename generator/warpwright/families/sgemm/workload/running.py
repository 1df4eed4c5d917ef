"""The SGEMM's workload, as whoever runs a kernel sees it (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from warpwright.device.problem import Case, Problem
from warpwright.device.tensors import random_values
from warpwright.device.xp import Array, Xp
from warpwright.families.products import extreme, far
from warpwright.families.products.launch import huge
from warpwright.families.products.problems import multiplication, standard
from warpwright.families.products.reference import Product
from warpwright.families.products.running import Products
from warpwright.families.running import Expected, Launched, Peer, Workload
from warpwright.families.sgemm.workload import cases, copied, launch, peer, reference
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.types import Argument, Plan

__all__ = ["WORKLOAD"]

#: Elements of 16 bytes; CTAs in flight, two on each SM of an H200.
_ALIGNED, _LIMIT = 4, 264
#: Twice the large one is beyond f32's range; a quarter of the small one is a subnormal number.
_LARGE, _SMALL = 2.0**127, 3 * 2.0**-140


class _Sgemm(Products):
    designs: Mapping[str, type] = MappingProxyType({"sm_90a": SgemmDesign})

    def problems(self, plan: Plan) -> list[Problem]:
        d: SgemmDesign = plan.design
        return standard(d, [multiplication("extreme", d.tile_m + 7, d.tile_n + 9, d.tile_k + 3, fill="extreme")])

    def cases(self, plan: Plan) -> list[Case]:
        return [*cases.small(plan), far.far(plan), *far.most(plan)]

    def compared(self, plan: Plan) -> list[Case]:
        return cases.compared(self.cases(plan))

    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        values = random_values(xp, argument, problem, seed)
        if problem.fill == "extreme" and xp.size(values):
            extreme.strew(values, argument.name, _LARGE, _SMALL)
        return xp.encode(values, argument.dtype)

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        return {}

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        return set()

    def product(self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array]) -> Product:
        return reference.multiply(xp, stored("a"), stored("b"), problem.fill != "normal")

    def finish(
        self, xp: Xp, plan: Plan, problem: Problem, product: Product, stored: Callable[[str], Array]
    ) -> Expected:
        bias = stored("bias") if plan.kernel["bias"] else None
        return Expected(*reference.finish(xp, product, bias, plan.kernel["activation"] == "relu"))

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        return copied.copied(plan.design, problem.extents)

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        return [launch.launched(plan, problem, clusters)]

    def huge(self, plan: Plan) -> list[Case]:
        return huge(plan, _ALIGNED, _LIMIT)

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        a, b, d = (tensors[name] for name in "abd")
        relu = plan.kernel["activation"] == "relu"
        return list(filter(None, [peer.vendor_product(torch, a, b, d, tensors.get("bias"), relu)]))

    def peer_key(self, plan: Plan) -> str:
        kernel = plan.kernel
        majors = f"a:f32/{kernel['a']['major']} b:f32/{kernel['b']['major']} d:f32/n"
        return f"{majors}{' bias' * kernel['bias']} {kernel['activation']}"


WORKLOAD: Workload = _Sgemm()
