"""Each operation against an independent formula, and its rendered code, run in float32, against its own error bound."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warpwright.device.xp import NumpyXp
from warpwright.epilogue import registry
from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp

XP = NumpyXp()
OPS = ("alpha", "beta_c", "bias_m", "bias_n", "gelu_erf", "gelu_tanh", "relu", "silu")
SHAPE = (2, 3, 5)  # L, M, N: a broadcast along the wrong mode shows

FORMULAS = {
    "alpha": lambda x, o: o["alpha"] * x,
    "beta_c": lambda x, o: math.fsum((x, o["beta"] * o["c"])),
    "bias_m": lambda x, o: math.fsum((x, o["bias_m"])),
    "bias_n": lambda x, o: math.fsum((x, o["bias_n"])),
    "gelu_erf": lambda x, o: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x, o: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x, o: max(x, 0.0),
    "silu": lambda x, o: x * 0.5 * (1 + math.tanh(x / 2)),
}
#: What becomes of (NaN, +Inf, -Inf): see docs/epilogue.md.
SPECIAL = {
    "alpha": (math.nan, math.inf, -math.inf),
    "beta_c": (math.nan, math.inf, -math.inf),
    "bias_m": (math.nan, math.inf, -math.inf),
    "bias_n": (math.nan, math.inf, -math.inf),
    "gelu_erf": (math.nan, math.inf, math.nan),
    "gelu_tanh": (math.nan, math.inf, math.nan),
    "relu": (math.nan, math.inf, 0.0),
    "silu": (math.nan, math.inf, math.nan),
}


def operands(op: EpilogueOp, rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Any]:
    """Values of float32, in float64 and in the shapes in which the reference gets them."""
    shapes = {"tile": shape, "vector_m": (shape[-2], 1), "vector_n": shape[-1:], "scalar": ()}
    return {o.name: np.float64(np.float32(rng.normal(0, 2, shapes[o.kind]))) for o in op.operands}


class Machine:
    """The part of the DSL that operations use, on float32 arrays; each approximation is off by what PTX allows.

    ex2.approx.ftz: relative 2^-22.5, and flushed to 0 below 2^-126. lg2.approx.ftz: absolute 2^-22 within (0.5, 2),
    else relative. erff: 2 units in the last place, and exactly 1 where it rounds to that.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.where = np.where
        self.math = SimpleNamespace(exp2=self._exp2, log2=self._log2, erf=self._erf)

    def _off(self, exact: Any, error: Any) -> Any:
        sign = self._rng.choice([-1.0, 0.0, 1.0], np.shape(exact))
        return np.float32(np.where(np.isfinite(exact), exact + sign * error, exact))

    def _exp2(self, x: Any, fastmath: bool = False) -> Any:
        assert fastmath
        exact = np.exp2(np.float64(x))
        result = self._off(exact, exact * 2.0**-22.5)
        return np.where(np.abs(result) < 2.0**-126, np.float32(0), result)

    def _log2(self, x: Any, fastmath: bool = False) -> Any:
        assert fastmath
        exact = np.log2(np.float64(x))
        near = (x > 0.5) & (x < 2)
        return self._off(exact, np.where(near, 2.0**-22, np.abs(exact) * 2.0**-22))

    def _erf(self, x: Any) -> Any:
        exact = XP.erf(np.float64(x))
        return self._off(exact, np.where(np.abs(np.float32(exact)) < 1, np.abs(exact) * 2.0**-22, 0))


def execute(op: EpilogueOp, x: Any, values: dict[str, Any], rng: np.random.Generator) -> Any:
    """Run the operation's code as a kernel does: element by element in float32."""
    scope = {name: np.float32(value) for name, value in values.items()} | {"x": np.float32(x), "cute": Machine(rng)}
    with np.errstate(all="ignore"):
        exec(compile(op.code, op.name, "exec"), scope)
    assert scope["x"].dtype == np.float32
    return np.float64(scope["x"])


def test_every_shipped_operation_is_tested():
    assert set(registry.names()) == set(OPS) == set(FORMULAS) == set(SPECIAL)


@pytest.mark.parametrize("name", OPS)
def test_the_reference_is_the_formula(name):
    op, rng = registry.get(name), np.random.default_rng(1)
    for scale in (0.01, 1.0, 5.0):
        x = rng.normal(0, scale, SHAPE)
        values = operands(op, rng, SHAPE)
        got = op.reference(XP, x, values)
        each = {key: np.broadcast_to(value, SHAPE) for key, value in values.items()}
        for index in np.ndindex(SHAPE):
            want = FORMULAS[name](float(x[index]), {key: float(value[index]) for key, value in each.items()})
            assert got[index] == pytest.approx(want, rel=1e-12, abs=1e-15 * abs(x[index]))


@pytest.mark.parametrize("relative_error", [0.0, F32_ROUNDOFF, 1e-3, 1.0])
@pytest.mark.parametrize("name", OPS)
def test_the_error_bound_is_a_bound(name, relative_error):
    op, rng = registry.get(name), np.random.default_rng(2)
    shape = (1, 200, 500)
    # What the kernel holds, of every magnitude, and the exact value that it stands for, at most e away.
    held = np.float32(rng.choice([-1, 1], shape) * 10 ** rng.uniform(-5, 5, shape))
    e = relative_error * np.abs(np.float64(held))
    x = held + e * rng.choice([-1.0, 1.0, 0.5, 0.0], shape)
    values = operands(op, rng, shape)
    with np.errstate(over="ignore"):
        exact, bound = op.reference(XP, x, values), op.error(XP, x, e, values)
    got = execute(op, held, values, rng)
    assert np.all(np.isfinite(exact) & np.isfinite(bound))
    excess = np.abs(got - exact) - bound * (1 + 1e-12)  # x itself is rounded here
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    assert excess[worst] <= 0, (float(held[worst]), float(x[worst]), float(exact[worst]), float(got[worst]))


@pytest.mark.parametrize("name", OPS)
def test_the_error_bound_is_not_idle(name):
    """A result in float32 that is off by a thousandth must be outside: the bound is of use."""
    op, rng = registry.get(name), np.random.default_rng(3)
    x = np.float64(np.float32(rng.uniform(0.5, 4, SHAPE)))
    values = {key: np.abs(value) for key, value in operands(op, rng, SHAPE).items()}
    bound = op.error(XP, x, np.zeros(SHAPE), values)
    assert np.all(bound < 1e-3 * np.abs(op.reference(XP, x, values)))


@pytest.mark.parametrize("name", OPS)
def test_nan_and_infinity(name):
    op, rng = registry.get(name), np.random.default_rng(4)
    x = np.array([[[math.nan, math.inf, -math.inf]]])
    values = {key: np.abs(value) for key, value in operands(op, rng, x.shape).items()}
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(op.reference(XP, x, values)[0, 0], SPECIAL[name])
    np.testing.assert_array_equal(execute(op, x, values, rng)[0, 0], SPECIAL[name])


def test_finite_extremes_stay_finite():
    x = np.array([-3e38, -1e20, -1e5, -90.0, -88.0, 90.0, 1e20, 3e38])
    for name in ("gelu_erf", "gelu_tanh", "silu"):
        op, rng = registry.get(name), np.random.default_rng(5)
        with np.errstate(all="ignore"):
            exact, bound = op.reference(XP, x, {}), op.error(XP, x, np.zeros_like(x), {})
        got = execute(op, x, {}, rng)
        assert np.all(np.abs(got - exact) <= bound)
        np.testing.assert_array_equal(got[:4], 0.0)
        np.testing.assert_allclose(got[-2:], x[-2:], rtol=1e-6)


def test_beta_of_zero_means_no_c():
    op = registry.get("beta_c")
    x = np.array([[[1.0, 2.0]]])
    values = {"beta": np.array(0.0), "c": np.array([[[math.nan, math.inf]]])}
    np.testing.assert_array_equal(op.reference(XP, x, values), x)
    np.testing.assert_array_equal(op.error(XP, x, np.full_like(x, 0.5), values), 0.5)
    (tile,) = [operand for operand in op.operands if operand.kind == "tile"]
    assert tile.skip_if_zero == "beta"
