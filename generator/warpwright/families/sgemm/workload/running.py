"""The SGEMM's workload, as whoever runs a kernel sees it (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from warpwright.device.problem import Case, Problem, shape_of
from warpwright.device.tensors import random_values
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.families.running import Expected, Launched, Memo, Peer, Sample, Work, Workload
from warpwright.families.sgemm.workload import cases, extreme, far, launch, peer, problems, reference, tiles
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.types import Argument, Plan

__all__ = ["WORKLOAD"]

#: Elements of D beyond which the reference is computed for a sample of rows.
_ALL_ROWS = 1 << 28


class _Sgemm:
    design: type = SgemmDesign
    modes: tuple[str, ...] = ("M", "N", "K", "L")

    def problems(self, plan: Plan) -> list[Problem]:
        return problems.standard(plan)

    def cases(self, plan: Plan) -> list[Case]:
        return [*cases.small(plan), far.far(plan), *far.most(plan)]

    def compared(self, plan: Plan) -> list[Case]:
        return cases.compared(self.cases(plan))

    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        values = random_values(xp, argument, problem, seed)
        if problem.fill == "extreme" and xp.size(values):
            extreme.strew(values, argument)
        return xp.encode(values, argument.dtype)

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        return {}

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        return set()

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        extents = problem.extents
        if extents["M"] * extents["N"] * extents["L"] <= _ALL_ROWS:
            return None
        return Sample("M", reference.sample_rows(extents["M"]))

    def expected(
        self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array], memo: Memo
    ) -> Mapping[str, Expected]:
        def make() -> tuple[reference.Product, int]:
            product = reference.multiply(xp, stored("a"), stored("b"), problem.fill != "normal")
            return product, 16 * xp.size(product.values)

        product = memo(("product",), make)
        bias = stored("bias") if plan.kernel["bias"] else None
        return {"d": Expected(*reference.finish(xp, product, bias, plan.kernel["activation"] == "relu"))}

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        bits = sum(prod(shape_of(a, extents)) * dtype(a.dtype).bits for a in plan.arguments if a.kind != "scalar")
        return Work(2 * prod(extents[mode] for mode in "LMNK"), bits // 8, "TFLOP/s")

    def units(self, plan: Plan, problem: Problem) -> int:
        return tiles.count(plan.design, problem.extents)

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        return [box for cta in only for box in tiles.computed(plan.design, problem.extents, clusters, cta)]

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        return tiles.copied(plan.design, problem.extents)

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        return [launch.launched(plan, problem, clusters)]

    def huge(self, plan: Plan) -> list[Case]:
        return launch.huge(plan)

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        a, b, d = (tensors[name] for name in "abd")
        relu = plan.kernel["activation"] == "relu"
        return list(filter(None, [peer.vendor_product(torch, a, b, d, tensors.get("bias"), relu)]))

    def peer_key(self, plan: Plan) -> str:
        kernel = plan.kernel
        majors = f"a:f32/{kernel['a']['major']} b:f32/{kernel['b']['major']} d:f32/n"
        return f"{majors}{' bias' * kernel['bias']} {kernel['activation']}"


WORKLOAD: Workload = _Sgemm()
