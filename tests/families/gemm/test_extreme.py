"""Operands of the extreme problems: their results are the same in float32, whatever the order of the sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.plan.space import legal_plans
from warpwright.device.problem import Problem
from warpwright.device.xp import NumpyXp
from warpwright.families import workload
from warpwright.plan.types import Argument, Plan


def _operands(plan: Plan, problem: Problem, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N) in float64."""
    xp, family = NumpyXp(), workload(plan.family)
    found = []
    for argument in plan.arguments:
        if argument.name in ("a", "b"):
            given: Argument = replace(argument, dtype=dtype)
            found.append(xp.decode(family.inputs(xp, plan, given, problem, 3), dtype)[0])
    return found[0], found[1]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("n", [9, 17, 125, 143, 253])
def test_no_order_of_the_sum_in_float32_changes_a_special_result(dtype: str, n: int) -> None:
    plan = next(iter(legal_plans(seed=1, count=1)))
    sizes = (("M", 96), ("N", n), ("K", 69), ("L", 1))
    a, b = _operands(plan, Problem("extreme", sizes, fill="extreme"), dtype)
    with np.errstate(all="ignore"):
        exact = a @ b
        products = (a[:, :, None] * b[None]).astype(np.float32)
        for order in (slice(None), slice(None, None, -1)):
            total = np.zeros(exact.shape, np.float32)
            for k in range(a.shape[1])[order]:
                total = total + products[:, k]
            assert np.array_equal(np.isnan(total), np.isnan(exact))
            infinite = np.isinf(exact) | (np.abs(exact) >= 2.0**128)
            assert np.array_equal(np.isinf(total), infinite)
            assert (np.sign(total[infinite]) == np.sign(exact[infinite])).all()


def test_every_kind_of_result_comes() -> None:
    """NaN, infinities, both ends of f16's range on either side, halfway there, subnormals, and -0."""
    plan = next(iter(legal_plans(seed=1, count=1)))
    sizes = (("M", 96), ("N", 125), ("K", 69), ("L", 1))
    a, b = _operands(plan, Problem("extreme", sizes, fill="extreme"), "f16")
    with np.errstate(all="ignore"):
        exact = a @ b
        stored = exact.astype(np.float16)
    assert np.isnan(exact).any()
    assert {np.inf, -np.inf} <= set(exact[np.isinf(exact)])
    finite = np.isfinite(exact)
    assert {np.inf, -np.inf} <= set(stored[finite & np.isinf(stored)].tolist())
    assert {65504.0, -65504.0} <= set(stored[finite].tolist())
    beyond = np.abs(exact[finite])
    assert ((beyond > 65504) & (beyond < 65520)).any()  # rounds to the largest number
    small = finite & (exact != 0) & (np.abs(exact) < 2.0**-14)
    assert (stored[small] != exact[small]).any()
    assert {65504.0, -65504.0} <= set(a[np.isfinite(a)].tolist())
    assert (np.signbit(a) & (a == 0)).all(axis=1).any()  # a row of nothing but -0


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_beta_times_c_is_finite_in_float32_where_c_is(dtype: str) -> None:
    xp = NumpyXp()
    plan = next(p for p in legal_plans(seed=1, count=200) if any(a.name == "c" for a in p.arguments))
    argument = replace(next(a for a in plan.arguments if a.name == "c"), dtype=dtype)
    problem = Problem("extreme", (("M", 96), ("N", 143), ("K", 69), ("L", 1)), fill="extreme")
    beta = workload(plan.family).scalars(plan, problem)["beta"]
    c = xp.decode(workload(plan.family).inputs(xp, plan, argument, problem, 3), dtype)
    finite = c[np.isfinite(c)]
    assert np.abs(finite).max() > 60000
    assert np.isfinite((finite * beta).astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_alpha_makes_no_finite_sum_infinite(dtype: str) -> None:
    plan = next(p for p in legal_plans(seed=1, count=200) if any(a.name == "alpha" for a in p.arguments))
    problem = Problem("extreme", (("M", 96), ("N", 143), ("K", 69), ("L", 1)), fill="extreme")
    alpha = workload(plan.family).scalars(plan, problem)["alpha"]
    a, b = _operands(plan, problem, dtype)
    with np.errstate(all="ignore"):
        sums = (a @ b).astype(np.float32)
        assert (np.isfinite(sums * np.float32(alpha)) == np.isfinite(sums)).all()
