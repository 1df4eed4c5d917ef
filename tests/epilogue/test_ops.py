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

    ex2.approx.ftz: 2 ulp from what is rounded correctly, and flushed to 0 below 2^-126. lg2.approx.ftz: absolute 2^-22
    within (0.5, 2), else relative (PTX ISA 9.1). erff: 2 ulp, and exactly 1 where it rounds to that (CUDA C++
    Programming Guide; the code in a kernel's PTX is within 1.2 at 3.5 million arguments).
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.where = np.where
        self.math = SimpleNamespace(exp2=self._exp2, log2=self._log2, erf=self._erf)

    def _off(self, exact: Any, error: Any) -> Any:
        sign = self._rng.choice([-1.0, 0.0, 1.0], np.shape(exact))
        off = np.float32(np.where(np.isfinite(exact), exact + sign * error, exact))
        return np.where(np.abs(off - exact) > error, np.nextafter(off, np.float32(exact)), off)  # as far as it may be

    def _exp2(self, x: Any, fastmath: bool = False) -> Any:
        assert fastmath
        exact = np.exp2(np.float64(x))
        right = np.float32(exact)
        result = self._off(np.float64(right), 2 * np.float64(np.spacing(right)))
        return np.where(np.abs(result) < 2.0**-126, np.float32(0), result)

    def _log2(self, x: Any, fastmath: bool = False) -> Any:
        assert fastmath
        exact = np.log2(np.float64(x))
        near = (x > 0.5) & (x < 2)
        return self._off(exact, np.where(near, 2.0**-22, np.abs(exact) * 2.0**-22))

    def _erf(self, x: Any) -> Any:
        exact = XP.erf(np.float64(x))
        ulp = np.float64(np.spacing(np.abs(np.float32(exact))))
        return np.clip(self._off(exact, np.where(np.abs(np.float32(exact)) < 1, 2 * ulp, 0)), -1, 1)


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


def held_numbers(rng: np.random.Generator) -> Any:
    """float32 of every magnitude: random bits (each exponent alike), subnormals, bends of operations, edges."""
    anything = rng.integers(0, 1 << 32, 25000, dtype=np.uint32).view(np.float32)
    subnormal = rng.integers(0, 1 << 23, 2000, dtype=np.uint32).view(np.float32) * rng.choice([-1, 1], 2000)
    usual = rng.choice([-1, 1], 25000) * 10 ** rng.uniform(-5, 5, 25000)
    bends = rng.uniform(-130, 20, 25000)
    edges = [0.0, 1e-45, 2.0**-126, 1e30, 3.4028234e38, 88.72284, 87.33655, 91.8, 10.0, 6.0, 2.0**-24]
    with np.errstate(invalid="ignore"):  # some of the bits are signalling NaNs
        every = np.concatenate([np.float64(v) for v in (anything, subnormal, usual, bends, edges, np.negative(edges))])
    return np.float32(every[np.isfinite(every)])[None, None, :]


@pytest.mark.parametrize("error", ["none", "round-off", "1e-3 x", "x", "20"])
@pytest.mark.parametrize("name", OPS)
def test_the_error_bound_is_a_bound(name, error):
    op, rng = registry.get(name), np.random.default_rng(2)
    held = held_numbers(rng)  # what the kernel holds; x is the exact value that it stands for, at most e away
    size = np.abs(np.float64(held))
    parts = {"none": 0.0, "round-off": F32_ROUNDOFF, "1e-3 x": 1e-3, "x": 1.0}
    e = 0 * size + 20 if error == "20" else parts[error] * size
    x = held + e * rng.choice([-1.0, 1.0, 0.5, -0.1, 0.0], held.shape)
    e = np.abs(x - np.float64(held)) if error == "20" else e  # where 20 is no more than a rounding of x
    values = operands(op, rng, held.shape)
    with np.errstate(all="ignore"):
        exact, bound = op.reference(XP, x, values), op.error(XP, x, e, values)
    got = execute(op, held, values, rng)
    assert np.all(np.isfinite(exact) & np.isfinite(bound))
    assert held.size > 75000
    # Beyond float32's largest number: that is how a chain and the comparison settle it, not the operation.
    countable = np.isfinite(got) & (np.abs(exact) + bound < 3.4e38)
    assert np.count_nonzero(countable) > 0.95 * held.size
    excess = np.where(countable, np.abs(got - exact) - bound - 1e-15 * np.abs(x), -1.0)  # x itself is rounded here
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    assert excess[worst] <= 0, (float(held[worst]), float(x[worst]), float(exact[worst]), float(got[worst]))


#: Inputs at which a 64th more or less than an operation's value must be outside its bound. Each fails for a reason of
#: its own above or below: gelu_erf cancels below -4 (1 + erf), the other two are flushed to zero.
SHARP = {
    "alpha": (-1e4, 1e4),
    "beta_c": (-1e4, 1e4),
    "bias_m": (-1e4, 1e4),
    "bias_n": (-1e4, 1e4),
    "gelu_erf": (-4.3, 1e4),
    "gelu_tanh": (-9.99, 1e4),
    "relu": (0.0, 1e4),
    "silu": (-87.3, 1e4),
}
MAGNITUDES = np.array([mantissa * 10.0**exponent for exponent in range(-6, 5) for mantissa in (1, 1.8, 3, 5.5, 7.1)])


@pytest.mark.parametrize("name", OPS)
def test_a_value_that_is_a_64th_off_is_outside_the_bound(name):
    """With an input that is exact, as sums of small integers are whatever K is, or off by a few round-offs."""
    op = registry.get(name)
    low, high = SHARP[name]
    x = np.concatenate([-MAGNITUDES[::-1], np.arange(-100, 10, 0.37), MAGNITUDES])
    x = x[(x >= low) & (x <= high) & (x != 0)][None, None, :]
    assert x.size > 50
    values = {o.name: np.array(0.7) for o in op.operands}
    for e in (0 * x, 4 * F32_ROUNDOFF * np.abs(x)):
        with np.errstate(over="ignore"):
            value, bound = np.abs(op.reference(XP, x, values)), op.error(XP, x, e, values)
        apart = np.abs(x + 0.5) > 0.5 if op.operands else np.full(x.shape, True)  # a sum may cancel
        assert np.all((bound < value / 64) | ~apart), x[(bound >= value / 64) & apart]


@pytest.mark.parametrize(
    ("name", "x", "error", "limit"),
    [
        # x, bound on its error, and what that may become: the slope there times it, and round-offs of the result.
        ("gelu_tanh", 300.0, 0.0, 300 * 17 * F32_ROUNDOFF),
        ("gelu_tanh", 300.0, 1e-3, 1.0001e-3 + 300 * 17 * F32_ROUNDOFF),
        ("gelu_tanh", -20.0, 1.0, 1e-36),
        ("gelu_tanh", -0.7525, 1e-3, 1e-6),
        ("silu", 300.0, 1e-3, 1.0001e-3 + 300 * 17 * F32_ROUNDOFF),
        ("silu", -30.0, 1.0, 30 * math.exp(-29)),
        ("silu", -1.2785, 1e-3, 1e-6),
        ("silu", -300.0, 20.0, 1e-36),
        # Where the least value lies within, it is further away than both ends.
        ("silu", -5.0, 4.0, 0.2451),
        ("gelu_tanh", -3.0, 2.5, 0.1665),
        ("gelu_erf", -3.0, 2.5, 0.1665),
        ("gelu_erf", -300.0, 20.0, 1e-36),
        ("gelu_erf", -0.7518, 1e-3, 1e-6),
        ("gelu_erf", 300.0, 1e-3, 1.0001e-3 + 300 * 6 * F32_ROUNDOFF),
        ("relu", -300.0, 20.0, 0.0),
        ("relu", -1.0, 20.0, 19.0),
        ("relu", 300.0, 20.0, 20.0),
    ],
)
def test_the_inputs_error_counts_by_the_slope_where_it_is(name, x, error, limit):
    op = registry.get(name)
    bound = float(op.error(XP, np.array([x]), np.array([error]), {})[0])
    moved = max(abs(FORMULAS[name](x + by, {}) - FORMULAS[name](x, {})) for by in np.linspace(-error, error, 101))
    assert moved <= bound <= limit


def test_an_input_of_which_nothing_is_known_gives_a_result_of_which_nothing_is_known():
    for name in ("gelu_erf", "gelu_tanh", "relu", "silu"):
        with np.errstate(all="ignore"):
            assert registry.get(name).error(XP, np.array([4.0]), np.array([math.inf]), {})[0] == math.inf, name


@pytest.mark.parametrize(("name", "above", "below"), [("silu", -87.33, -87.34), ("gelu_tanh", -10.0, -10.002)])
def test_a_tail_is_flushed_to_zero(name, above, below):
    """What docs/epilogue.md says of it: zero below, though float32 holds the value, and still accurate above."""
    op, rng = registry.get(name), np.random.default_rng(6)
    x = np.array([above, below])
    exact, bound = op.reference(XP, x, {}), op.error(XP, x, np.zeros(2), {})
    got = execute(op, x, {}, rng)
    assert np.all(np.abs(exact) > 9 * 2.0**-126)
    assert got[0] == pytest.approx(exact[0], rel=1e-4)
    assert (got[1], math.copysign(1, got[1])) == (0, -1)
    assert abs(exact[1]) <= bound[1] <= 1.01 * abs(exact[1])
    # From the flush on, all of the value is the bound; a result of the other sign or twice the size is outside.
    assert bound[1] < abs(exact[1] - 2 * exact[1] * 1.01)


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
