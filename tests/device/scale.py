"""A family that is no GEMM: y = alpha x along one mode, the sum of chunks beside it, and a workspace between."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostBackend
from warpwright.device.problem import Case, Problem, shape_of
from warpwright.device.tensors import random_values
from warpwright.device.variant import Variant
from warpwright.dtypes import dtype
from warpwright.families.running import Expected, Peer, Sample, Work
from warpwright.plan.types import Argument, KernelPlan, Plan


@dataclass(frozen=True)
class ScaleDesign:
    chunk: int


class ScaleWorkload:
    designs: Mapping[str, type] = types.MappingProxyType({"sm_90a": ScaleDesign})
    modes = ("N",)
    sampled = False

    def problems(self, plan: Plan) -> list[Problem]:
        return [Problem("even", (("N", 64),)), Problem("exact", (("N", 37),), fill="integer", padding=2)]

    def cases(self, plan: Plan) -> list[Case]:
        return [Case(problem, 1, 1, (1,)) for problem in self.problems(plan)]

    def compared(self, plan: Plan) -> list[Case]:
        return self.cases(plan)

    def inputs(self, xp: Any, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Any:
        return xp.encode(random_values(xp, argument, problem, seed), argument.dtype)

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        return {"alpha": 0.0 if "alpha" in problem.zero else 2.0}

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        return {"x"} & ({"x"} if "alpha" in problem.zero else set())

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        return Sample("N", range(0, problem.extents["N"], 5)) if self.sampled else None

    def expected(
        self, xp: Any, plan: Plan, problem: Problem, stored: Callable[[str], Any], memo: Any
    ) -> Mapping[str, Expected]:
        alpha = self.scalars(plan, problem)["alpha"]
        x = stored("x") if alpha else xp.zeros((problem.extents["N"],))
        y = memo(("y",), lambda: (alpha * x, 8 * xp.size(x)))
        total = xp.array([float(y.sum())] * 4)
        bound = xp.array([float(2.0**-20 * abs(y).sum())] * 4)
        found = {"y": Expected(y, xp.zeros((xp.size(y),)))}
        return found if self.sampled else {**found, "total": Expected(total, bound)}

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        moved = [prod(shape_of(a, extents)) * dtype(a.dtype).bytes for a in plan.arguments if a.name in ("x", "y")]
        return Work(extents["N"], sum(moved), "TB/s")

    def units(self, plan: Plan, problem: Problem) -> int:
        return -(-problem.extents["N"] // plan.design.chunk)

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        return dict.fromkeys(("x", "y"), problem.extents["N"])

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        return [Peer("double", lambda: tensors["y"].bits + tensors["alpha"])]

    def peer_key(self, plan: Plan) -> str:
        return f"x:{plan.arguments[0].dtype}"


def scale_plan(outputs: tuple[str, ...] = ("y", "total")) -> Plan:
    tensors = {
        "x": Argument("x", "tensor", "f16", ("N",), "N"),
        "y": Argument("y", "tensor", "f16", ("N",), "N", "output"),
        "total": Argument("total", "vector", "f32", ("4",), "4", "output", 4),
        "partial": Argument("partial", "tensor", "f32", ("2", "N"), "N", "workspace"),
    }
    return Plan(
        family="scale",
        arch="sm_90a",
        label="scale",
        kernel={},
        design=ScaleDesign(chunk=8),
        symbol="scale",
        kernels=(
            KernelPlan("scale_kernel", threads=64, cluster=(1, 1, 1), shared_bytes=4096, entry_registers=32),
            KernelPlan("sum_kernel", threads=32, cluster=(1, 1, 1), shared_bytes=0, entry_registers=32),
        ),
        arguments=(
            tensors["x"],
            *(tensors[name] for name in outputs),
            tensors["partial"],
            Argument("alpha", "scalar", "f32"),
            Argument("max_ctas", "scalar", "i32", role="grid_limit"),
        ),
    )


class ScaleKernel:
    """The function of a variant; `fault` says how it goes wrong."""

    def __init__(self, plan: Plan, backend: HostBackend, fault: str = "") -> None:
        self.plan, self.backend, self.fault = plan, backend, fault
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *arguments: Any) -> None:
        given = dict(zip((a.name for a in self.plan.arguments), arguments, strict=True))
        self.calls.append(given)
        xp, alpha = self.backend.xp, given["alpha"]
        values = alpha * xp.decode(given["x"].bits, "f16") if alpha else xp.zeros(given["x"].shape)
        fresh = np.isnan(xp.decode(given["partial"].bits, "f32")).all()
        given["partial"].bits[0] = xp.encode(values if fresh else values + 1, "f32")
        given["y"].bits[...] = xp.encode(xp.decode(given["partial"].bits[0], "f32"), "f16")
        if "total" in given:
            given["total"].bits[...] = xp.encode(np.full(4, values.sum() + (self.fault == "sum")), "f32")
        if self.fault == "random":  # within its bound, and never twice the same
            given["total"].bits[-1] ^= len(self.calls)
        if self.fault == "unwritten":
            given["y"].bits[-1] = dtype("f16").poison
        if self.fault == "workspace":
            end = given["partial"].bits[-1]
            np.lib.stride_tricks.as_strided(end, (end.size + 1,), (4,))[-1] = 0


class ScaleBackend(HostBackend):
    """Loads scale kernels."""

    fault = ""

    def load(self, variant: Variant) -> Callable[..., None]:
        return ScaleKernel(variant.plan, self, self.fault)

    def peers(self, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        return ScaleWorkload().peers(None, plan, tensors)


def register(monkeypatch: pytest.MonkeyPatch) -> ScaleWorkload:
    """Make the family known, as the registry's line and its package would."""
    found = types.ModuleType("warpwright.families.scale.workload")
    found.WORKLOAD = workload = ScaleWorkload()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, found.__name__, found)
    monkeypatch.setattr("warpwright.families.NAMES", ("gemm", "scale"))
    return workload
