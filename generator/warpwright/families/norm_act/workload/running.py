"""A normalisation's workload, as whoever runs a kernel sees it (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from warpwright.device.problem import Case, Problem
from warpwright.device.tensors import random_values
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.families.norm_act.workload import cases, launch, peer, problems, reference
from warpwright.families.norm_act.workload.design import NormDesign, chunk, rows_at_once, walks, whole
from warpwright.families.running import Expected, Launched, Memo, Peer, Sample, Work, Workload
from warpwright.plan.types import Argument, Plan

__all__ = ["WORKLOAD"]

#: Elements beyond which the reference is computed for a sample of rows, and how many these are.
_ALL, _SAMPLE = 1 << 25, 1 << 23
#: What is added to x where the mean is large, by x's dtype: just so much that deviations are not all rounded away, and
#: that a mean square minus a squared mean is further off than an output of 16 bits is rounded.
_MEAN = {"bf16": 512.0, "f16": 1024.0, "f32": 4096.0}


class _NormAct:
    designs: Mapping[str, type] = MappingProxyType({"sm_90a": NormDesign})
    modes: tuple[str, ...] = ("M", "N")

    def problems(self, plan: Plan) -> list[Problem]:
        return problems.standard(plan)

    def cases(self, plan: Plan) -> list[Case]:
        return cases.small(plan)

    def compared(self, plan: Plan) -> list[Case]:
        return cases.compared(self.cases(plan))

    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        matrix = len(argument.shape) > 1
        # Beside a weight that is infinite a deviation must not be zero.
        drawn = replace(problem, fill="normal") if matrix and problem.fill == "extreme" else problem
        values = random_values(xp, argument, drawn, seed)
        if problem.fill == "nonfinite" and argument.name == "x":
            reference.strew(values)
        if problem.fill == "extreme" and not matrix:
            reference.strew_scales(values, argument.name)
        if problem.name == problems.LARGE_MEAN and argument.name == "x":
            values = values + _MEAN[argument.dtype]
        if problem.name.startswith(problems.MAGNITUDES) and matrix:
            values = values * xp.array(reference.magnitudes(plan.kernel, values.shape[0]))[:, None]
        return xp.encode(values, argument.dtype)

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        return {}

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        """Nothing is left out of a row."""
        return set()

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        m, n = (problem.extents[mode] for mode in "MN")
        if m * n <= _ALL:
            return None
        rows = max(16, _SAMPLE // max(n, 1))
        return Sample("M", sorted({i * (m - 1) // (rows - 1) for i in range(rows)} | set(range(max(0, m - 8), m))))

    def expected(
        self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array], memo: Memo
    ) -> Mapping[str, Expected]:
        operands = {a.name: stored(a.name) for a in plan.arguments if a.name in ("residual", "weight", "bias")}
        merged = plan.design.ctas_per_row > 1
        return {"y": reference.normalised(xp, plan.kernel, chain(plan), stored("x"), operands, merged)}

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        """Bytes: each matrix once; 16 operations for an element, the activation left out."""
        m, n = extents["M"], extents["N"]
        of = {"tensor": m * n, "vector": n, "scalar": 0}
        moved = sum(of[a.kind] * dtype(a.dtype).bytes for a in plan.arguments)
        return Work(8 * m * n, moved, "TB/s")

    def units(self, plan: Plan, problem: Problem) -> int:
        m, n = (problem.extents[mode] for mode in "MN")
        return 0 if not n else m if plan.design.persistent else -(-m // rows_at_once(plan))

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        """CTA i has row i and, from there on, every row so many further on as there are CTAs; or a run of so many.

        Where CTAs share rows, it is clusters that have a run.
        """
        rows, count = problem.extents["M"], launch.ctas(plan, problem, clusters)
        if plan.design.ahead:
            run = rows_at_once(plan)
            return [{"M": slice(cta * run, min(rows, (cta + 1) * run))} for cta in only]
        return [{"M": slice(row, row + 1)} for cta in only for row in range(cta, rows, count)]

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        m, n = (problem.extents[mode] for mode in "MN")
        return {copy.tensor: walks(plan) * m * whole(plan, n) for copy in plan.main.copies}

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        return [launch.launched(plan, problem, clusters)]

    def huge(self, plan: Plan) -> list[Case]:
        return launch.huge(plan)

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        extents = dict(zip("MN", tensors["y"].shape, strict=True))
        found = [peer.compiled(torch, plan.kernel, tensors), peer.copy(torch, self.work(plan, extents).bytes)]
        return list(filter(None, found))

    def peer_key(self, plan: Plan) -> str:
        """All that is computed, since torch compiles just that."""
        kernel = plan.kernel
        parts = [f"{k}:{kernel[k]['dtype']}" for k in ("x", "y", "weight", "bias") if kernel[k]]
        parts += ["residual"] if kernel["residual"] else []
        return " ".join([kernel["norm"], f"eps:{kernel['eps']}", kernel["activation"], *parts])


def chain(plan: Plan) -> int:
    """The most additions that a term of a row's sum goes through: of a thread, of a warp, of the warps' sums.

    Where CTAs share a row, a warp's mean is two roundings more, and as many are its product and the like.
    """
    d: NormDesign = plan.design
    warps = d.producer_warps // d.producer_groups if d.specialise == "preprocess" else d.warps_per_row
    if d.ctas_per_row > 1:
        return -(-chunk(plan) // (32 * warps)) + 1 + 2 * (5 + 2)
    return -(-d.columns // (32 * warps)) + 1 + 5 + warps


WORKLOAD: Workload = _NormAct()
