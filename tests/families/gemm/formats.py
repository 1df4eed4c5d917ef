"""Plans of a GEMM in every format, and kernels of numpy that compute what such a plan says, or something near it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tests.plan.space import point
from warpwright import families
from warpwright.device.held import modes_of, numbers
from warpwright.device.memo import fresh
from warpwright.device.problem import Problem
from warpwright.device.tolerance import Agreement, compare
from warpwright.device.xp import NumpyXp
from warpwright.dtypes import SCALED
from warpwright.families import workload
from warpwright.families.gemm.models import Kernel
from warpwright.families.gemm.parts.computed import computed
from warpwright.families.gemm.parts.interface import arguments
from warpwright.plan.types import Plan

XP, GEMM = NumpyXp(), workload("gemm")
Array = Any
#: Of a kernel for sm_90a, whose cases follow from its tiles alone.
TILES = {"design.tile": {"m": 128, "n": 64, "k": 128}, "design.stages": 2}
#: Where in an atom of scales (bytes) that of row r and block j of 4 is.
Reads = Callable[[Any, Any], Any]


def atom(r: Array, j: Array) -> Array:
    return 16 * (r % 32) + 4 * (r // 32) + j


def format_plan(a: str, b: str = "", d: str = "f32", epilogue: tuple[Any, ...] = (), majors: str = "kk") -> Plan:
    """A plan with what workloads read."""
    tree = {"a": {"dtype": a, "major": majors[0]}, "b": {"dtype": b or a, "major": majors[1]}}
    kernel = Kernel.model_validate({**tree, "d": {"dtype": d, "major": "n"}, "epilogue": epilogue})
    small = families.target("gemm", "sm_90a").plan(point(TILES))
    return replace(small, kernel=kernel.model_dump(mode="json"), arguments=arguments(computed(kernel), True, True))


def drawn(plan: Plan, problem: Problem) -> dict[str, Array]:
    """The inputs as they are held."""
    inputs = [a for a in plan.arguments if a.kind != "scalar" and a.role == "input"]
    return {a.name: GEMM.inputs(XP, plan, a, problem, 7) for a in inputs}


def scale_rows(held: Array, dtype: str, rows: int, depth: int, block: int, reads: Reads = atom) -> Array:
    """A factor for each of (L, rows, depth), read from atoms element by element."""
    r, j = np.arange(rows)[:, None], (np.arange(depth) // block)[None, :]
    values = XP.decode(held, dtype)
    return values[:, r // 128, j // 4, np.asarray(reads(r % 128, j % 4)) % 512]


def computed_by(
    plan: Plan, held: Mapping[str, Array], factors: Callable[..., tuple[Array, Array]] | None = None
) -> Array:
    """D (L, M, N) in float64 before it is rounded; `factors(held, M, N, K)` gives the scales of their elements."""
    named = {argument.name: argument for argument in plan.arguments}
    a, b = (numbers(XP, named[name], held[name]) for name in "ab")
    if "sfa" in named:
        given = factors or right(plan)
        of_a, of_b = given(held, a.shape[1], b.shape[2], a.shape[2])
        a, b = a * of_a, b * of_b.swapaxes(1, 2)
    return XP.matmul(a, b)


def right(plan: Plan) -> Callable[..., tuple[Array, Array]]:
    """The factors that a plan means."""
    scaled = SCALED[plan.kernel["a"]["dtype"]]

    def factors(held: Mapping[str, Array], m: int, n: int, k: int) -> tuple[Array, Array]:
        return (
            scale_rows(held["sfa"], scaled.scale, m, k, scaled.block),
            scale_rows(held["sfb"], scaled.scale, n, k, scaled.block),
        )

    return factors


def judged(plan: Plan, problem: Problem, held: Mapping[str, Array], d: Array) -> Agreement:
    """What the family's reference says of D, rounded to its dtype."""
    named = {argument.name: argument for argument in plan.arguments}

    def stored(name: str) -> Array:
        return numbers(XP, named[name], held[name])

    expected = GEMM.expected(XP, plan, problem, stored, fresh)["d"]
    dtype = named["d"].dtype
    got = XP.decode(XP.encode(d, dtype), dtype)
    return compare(XP, got, expected.values, expected.error, dtype, expected.signed)


def logical(plan: Plan, name: str) -> tuple[str, ...]:
    return modes_of(next(argument for argument in plan.arguments if argument.name == name))
