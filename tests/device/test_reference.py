"""The reference of a chain: operands reach the operation that they are for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.device.plans import make_plan, problem
from warpwright.device.memo import fresh
from warpwright.device.xp import NumpyXp
from warpwright.epilogue.reference import Chain
from warpwright.families import workload
from warpwright.families.gemm.workload.reference import multiply
from warpwright.plan.types import Argument


def test_an_operation_that_comes_twice_has_operands_of_its_own() -> None:
    steps = [{"op": op, "dtype": "f32"} for op in ("alpha", "bias_n", "relu", "bias_n", "alpha")]
    plain = make_plan(d=("f32", "n"))
    own = [Argument(f"bias_n_{i}", "vector", "f32", ("N",), "N") for i in (1, 2)]
    own += [Argument(f"alpha_{i}", "scalar", "f32") for i in (1, 2)]
    chain = Chain(replace(plain, kernel={"epilogue": steps}, arguments=(*plain.arguments, *own)))
    a, b = np.ones((1, 2, 3)), np.array([[[1.0, -9.0]] * 3])
    first, second = np.array([10.0, 20.0]), np.array([0.5, 0.25])
    scalars = {"alpha_1": 2.0, "alpha_2": -3.0}
    vectors = {"bias_n_1": first, "bias_n_2": second}
    product = multiply(NumpyXp(), a, b, True)
    values, error = chain.apply(NumpyXp(), product.values, product.bound, True, scalars, vectors.__getitem__)
    expected = -3.0 * (np.maximum(2.0 * (a @ b) + first, 0) + second)
    assert np.array_equal(values, expected)
    assert (error > 0).any()  # halves and quarters are no integers: their rounding counts


@pytest.mark.parametrize(("fill", "exact"), [("normal", False), ("integer", True), ("nonfinite", True)])
def test_what_small_integers_give_is_exact(fill: str, exact: bool) -> None:
    plan, xp = make_plan(d=("f32", "n")), NumpyXp()
    given, arguments = problem("p", 4, 8, 8, fill=fill), {a.name: a for a in plan.arguments}
    gemm = workload("gemm")

    def stored(name: str) -> np.ndarray:
        return xp.decode(gemm.inputs(xp, plan, arguments[name], given, 1), "f16")

    found = gemm.expected(xp, plan, given, stored, fresh)["d"]
    assert (found.error[np.isfinite(found.values)] == 0).all() == exact
