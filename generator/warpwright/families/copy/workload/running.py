"""The copy's workload, as whoever runs a kernel sees it (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from warpwright.device.problem import Case, Problem
from warpwright.device.tensors import random_values
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.families.copy.workload import cases, far, launch, problems, reference
from warpwright.families.copy.workload.design import CopyDesign, chunks, whole
from warpwright.families.running import Expected, Launched, Memo, Peer, Sample, Work, Workload
from warpwright.plan.types import Argument, Plan

__all__ = ["WORKLOAD"]

#: Elements beyond which the reference is computed for a sample.
_ALL = 1 << 28
#: Of the sample: a prime, so that all offsets in a chunk occur; and all of the end.
_STRIDE, _END = 8191, 8192


class _Copy:
    designs: Mapping[str, type] = MappingProxyType({"sm_90a": CopyDesign})
    modes: tuple[str, ...] = ("N",)

    def problems(self, plan: Plan) -> list[Problem]:
        return problems.standard(plan)

    def cases(self, plan: Plan) -> list[Case]:
        return [*cases.small(plan), far.far(plan), far.most(plan)]

    def compared(self, plan: Plan) -> list[Case]:
        return cases.compared(self.cases(plan))

    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        # What alpha = 1 makes of numbers is rounded to y's dtype as any other product is.
        drawn = replace(problem, fill="normal") if problem.fill == "extreme" else problem
        values = random_values(xp, argument, drawn, seed)
        if problem.fill in ("nonfinite", "extreme"):
            reference.strew(values)
        return xp.encode(values, argument.dtype)

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        return {"alpha": reference.alpha_of(problem.fill, problem.zero, problem.special)}

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        """Nothing: with alpha = 0 the product is 0 * x, which is NaN where x is not finite."""
        return set()

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        n = problem.extents["N"]
        if n <= _ALL:
            return None
        return Sample("N", [*range(0, n - _END, _STRIDE), *range(n - _END, n)])

    def expected(
        self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array], memo: Memo
    ) -> Mapping[str, Expected]:
        return {"y": reference.product(xp, stored("x"), self.scalars(plan, problem)["alpha"])}

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        bits = sum(dtype(argument.dtype).bits for argument in plan.arguments if argument.kind == "vector")
        return Work(extents["N"], extents["N"] * bits // 8, "TB/s")

    def units(self, plan: Plan, problem: Problem) -> int:
        """Chunks; one CTA at least where there is anything, which the last few elements may be."""
        n = problem.extents["N"]
        return max(1, chunks(plan, n)) if n else 0

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        """Every so-many-th chunk from a CTA's own; the last CTA copies the few elements behind the last chunk too."""
        n, size = problem.extents["N"], plan.design.stage_elements
        ctas, end = min(max(1, chunks(plan, n)), clusters), whole(plan, n)
        found = [slice(at, min(at + size, end)) for cta in only for at in range(cta * size, end, ctas * size)]
        if ctas - 1 in only and end < n:
            found.append(slice(end, n))
        return [{"N": part} for part in found]

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        moved = whole(plan, problem.extents["N"])
        return {copy.tensor: moved for copy in plan.main.copies}

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        return [launch.launched(plan, problem, clusters, self.scalars(plan, problem))]

    def huge(self, plan: Plan) -> list[Case]:
        return launch.huge(plan)

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        """Return the device's own copy, which casts but does not multiply: nothing of torch's is faster."""
        x, y = tensors["x"], tensors["y"]
        y.copy_(x)
        return [Peer("torch y.copy_(x)", lambda: y.copy_(x))]

    def peer_key(self, plan: Plan) -> str:
        return " ".join(f"{name}:{plan.kernel[name]['dtype']}" for name in "xy")


WORKLOAD: Workload = _Copy()
