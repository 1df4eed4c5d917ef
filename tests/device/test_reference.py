"""The reference of a chain: operands reach the operation that they are for."""

from __future__ import annotations

import numpy as np

from warpwright.device.reference import Chain, multiply
from warpwright.device.xp import NumpyXp
from warpwright.epilogue.registry import get
from warpwright.plan import plan
from warpwright.point import Point


def test_an_operation_that_comes_twice_has_operands_of_its_own() -> None:
    kernel = {"a": {"dtype": "f16", "major": "k"}, "b": {"dtype": "f16", "major": "k"}}
    steps = ({"op": "alpha"}, {"op": "bias_n"}, {"op": "relu"}, {"op": "bias_n"}, {"op": "alpha"})
    point = Point.model_validate(
        {
            "kernel": {**kernel, "d": {"dtype": "f32", "major": "n"}, "epilogue": steps},
            "design": {"tile": {"m": 128, "n": 64, "k": 64}},
        }
    )
    chain, xp = Chain(plan(point), get), NumpyXp()
    a, b = np.ones((1, 2, 3)), np.array([[[1.0, -9.0]] * 3])
    first, second = np.array([10.0, 20.0]), np.array([0.5, 0.25])
    scalars = {"alpha_1": 2.0, "alpha_2": -3.0}
    vectors = {"bias_n_1": first, "bias_n_2": second}
    found = chain.apply(xp, multiply(xp, a, b, True), scalars, vectors.__getitem__)
    expected = -3.0 * (np.maximum(2.0 * (a @ b) + first, 0) + second)
    assert np.array_equal(found.values, expected)
    assert (found.error > 0).any()  # halves and quarters are no integers: their rounding counts
