"""The bounds: exact where arithmetic is, tight at ties, subnormals and overflow, and strict about NaN and infinity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.plans import make_plan
from warpwright.device.tolerance import compare, output_rounding
from warpwright.device.xp import NumpyXp
from warpwright.dtypes import dtype as described
from warpwright.epilogue.reference import Chain
from warpwright.families.gemm.workload.accumulation import accumulation_bound
from warpwright.families.gemm.workload.reference import multiply
from warpwright.families.products.reference import Product
from warpwright.families.products.running import sample_rows

XP = NumpyXp()
INF, NAN = math.inf, math.nan


def agree(got: list[float], values: list[float], error: float = 0.0, dtype: str = "f16"):
    array = np.array(values)
    return compare(XP, np.array(got), array, np.full(array.shape, error), dtype)


@given(st.floats(-70000, 70000), st.sampled_from(["f16", "bf16", "f32"]))
def test_rounding_a_value_is_within_its_bound(value: float, dtype: str) -> None:
    got = XP.decode(XP.encode(np.array([value]), dtype), dtype)
    assert agree(got.tolist(), [value], dtype=dtype).wrong == 0


@given(st.floats(2.0**-23, 65000), st.sampled_from(["f16", "bf16", "f32"]), st.sampled_from([-1, 1]))
def test_the_next_number_but_one_is_wrong(value: float, dtype: str, direction: int) -> None:
    bits = XP.encode(np.array([value]), dtype) + 2 * direction
    got = XP.decode(bits, dtype)
    assert agree(got.tolist(), [value], dtype=dtype).wrong == 1


def test_what_the_dtype_holds_must_be_exact() -> None:
    assert agree([2047.0], [2047.0]).ratio == 0.0
    assert agree([2048.0], [2047.0]).wrong == 1
    assert agree([2048.0], [2049.0]).ratio == 1.0  # a tie: both neighbours are right
    assert agree([2050.0], [2049.0]).ratio == 1.0
    assert agree([256.0], [257.0], dtype="bf16").wrong == 0
    assert agree([16777216.0], [16777215.0], dtype="f32").wrong == 1


def test_a_zero_has_the_sign_that_is_asked_for() -> None:
    def wrong(got: float, value: float, *others: float) -> int:
        values = np.array([value, *others])
        return compare(XP, np.array([got, *others]), values, np.zeros(values.shape), "f16", signed=True).wrong

    for others in ((), (INF,)):  # all finite, and not
        assert [wrong(0.0, 0.0, *others), wrong(-0.0, -0.0, *others), wrong(-0.0, -(2.0**-26), *others)] == [0, 0, 0]
        assert [wrong(0.0, -0.0, *others), wrong(-0.0, 0.0, *others), wrong(0.0, -(2.0**-26), *others)] == [1, 1, 1]
    assert agree([0.0, -0.0], [-0.0, 0.0]).wrong == 0


def test_subnormals_are_rounded_to_their_own_spacing() -> None:
    assert agree([2.0**-24], [2.0**-24 * 1.4]).wrong == 0
    assert agree([0.0], [2.0**-24]).wrong == 1
    assert agree([0.0], [2.0**-26]).wrong == 0


def test_overflow_gives_infinity_of_the_right_sign() -> None:
    assert agree([INF, -INF], [70000.0, -70000.0]).wrong == 0
    assert agree([-INF], [70000.0]).wrong == 1
    assert agree([65504.0], [70000.0]).wrong == 1
    assert agree([65504.0], [65519.0]).wrong == 0
    assert agree([INF], [65519.0]).wrong == 1
    assert agree([INF], [65519.0], error=1.0).wrong == 0
    assert agree([INF], [3.4e38], dtype="bf16").wrong == 0  # largest finite: 3.39e38


def test_nan_and_infinity_must_be_where_mathematics_has_them() -> None:
    assert agree([NAN, INF, -INF], [NAN, INF, -INF], error=NAN).wrong == 0
    for got, due in [(0.0, NAN), (NAN, 1.0), (INF, NAN), (NAN, INF), (-INF, INF), (65504.0, INF), (INF, 1.0)]:
        assert agree([got], [due]).wrong == 1, (got, due)


def test_an_error_bound_that_is_not_a_number_excuses_nothing() -> None:
    assert agree([1.5], [1.0], error=NAN).wrong == 1


def test_the_first_wrong_element_is_described() -> None:
    found = agree([1.0, 3.0, NAN], [1.0, 2.0, 3.0])
    assert found.wrong == 2
    assert found.worst == {"index": [1], "got": 3.0, "expected": 2.0, "bound": 0.0}
    assert found.ratio == INF
    assert found.relative == pytest.approx(1 / math.sqrt(5))


def test_the_relative_error_is_that_of_norms() -> None:
    found = agree([1.0, 2.5], [1.0, 2.0], error=1.0, dtype="f32")
    assert (found.wrong, found.relative) == (0, pytest.approx(0.5 / math.sqrt(5)))
    assert found.ratio == pytest.approx(0.5, rel=1e-6)


def test_nothing_to_compare_is_right() -> None:
    empty = np.zeros((2, 0, 3))
    assert compare(XP, empty, empty, empty, "f16").wrong == 0


def test_accumulation_is_bounded_by_k_truncations() -> None:
    assert accumulation_bound(XP, np.array([1.0]), 0)[0] == 0
    assert accumulation_bound(XP, np.array([3.0]), 100)[0] == pytest.approx(300 * 2.0**-23, rel=1e-4)


def test_products_that_may_be_flushed_are_bounded() -> None:
    """bf16 holds 2^-70: three products of 2^-140, of which float32 keeps 2^-149 and a tensor core perhaps nothing."""
    assert accumulation_bound(XP, np.array([3 * 2.0**-140]), 3)[0] >= 3 * 2.0**-140
    assert accumulation_bound(XP, np.array([0.0]), 5)[0] == 5 * 2.0**-126
    assert accumulation_bound(XP, np.array([1.0]), 1)[0] == pytest.approx(2.0**-23, rel=1e-6)


@pytest.mark.parametrize(
    ("value", "exact"), [(2.0**24 - 1, True), (2.0**24, False), (2.0**24 + 1, False), (0.5, False)]
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_integers_are_exact_up_to_2_24(value: float, exact: bool, sign: int) -> None:
    chain = Chain(make_plan(d=("f32", "n"), epilogue=("alpha",)))
    values = np.full((1, 1, 1), sign * value)
    _, error = chain.apply(XP, values, 0 * values, True, {"alpha": 1.0}, {}.__getitem__)
    assert (error == 0).all() == exact


def test_truncated_float32_sums_lie_within_the_bound() -> None:
    """A model of the tensor core: blocks of 16 exact products aligned to the largest, truncated to 26 bits."""
    rng = np.random.default_rng(1)
    for k in (16, 64, 1024):
        a, b = (rng.standard_normal(k).astype(np.float16).astype(np.float64) for _ in range(2))
        total = 0.0
        for first in range(0, k, 16):
            terms = [total, *(a[first : first + 16] * b[first : first + 16])]
            unit = 2.0 ** (math.floor(math.log2(max(map(abs, terms)))) - 25)
            summed = sum(math.trunc(term / unit) for term in terms) * unit
            step = 2.0 ** (math.floor(math.log2(abs(summed))) - 23)
            total = math.trunc(summed / step) * step
        bound = accumulation_bound(XP, np.array([np.abs(a) @ np.abs(b)]), k)[0]
        assert 0 < abs(total - a @ b) <= bound


def through(chain: Chain, product: Product, scalars: dict[str, float], stored: Callable[[str], Any]) -> Any:
    """What the chain makes of a product, and its bound."""
    return chain.apply(XP, product.values, product.bound, product.exact, scalars, stored)


def test_integers_are_exact_through_a_chain_of_sums_and_products() -> None:
    plan = make_plan(epilogue=("alpha", "beta_c", {"op": "bias_n", "dtype": "f32"}, "relu"))
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-2, 3, shape).astype(float) for shape in ((1, 4, 8), (1, 8, 6)))
    stored = {"c": np.full((1, 4, 6), 2.0), "bias_n": np.arange(6.0)}
    chain = Chain(plan)
    product = multiply(XP, a, b, exact=True)
    values, error = through(chain, product, {"alpha": 2.0, "beta": -3.0}, stored.__getitem__)
    assert np.array_equal(values, np.maximum(2 * (a @ b) - 6 + np.arange(6), 0))
    assert not error.any()
    assert through(chain, product, {"alpha": 0.3, "beta": -3.0}, stored.__getitem__)[1].any()
    rounded = multiply(XP, a, b, exact=False)
    error = through(chain, rounded, {"alpha": 2.0, "beta": 1.0}, stored.__getitem__)[1]
    summed = 2 * (a @ b) + 2 + np.arange(6)
    assert 0 < np.count_nonzero(summed < 0) < summed.size
    assert np.array_equal(error > 0, summed >= 0)  # relu makes exactly 0 of what is below 0 for certain


def test_a_bias_of_rows_goes_down_and_one_of_columns_across() -> None:
    """M and N are alike, so that no shape tells them apart."""
    chain = Chain(make_plan(d=("f32", "n"), epilogue=("bias_m", "bias_n")))
    stored = {"bias_m": np.array([10.0, 20.0]), "bias_n": np.array([1.0, 2.0])}
    values, _ = chain.apply(XP, np.zeros((3, 2, 2)), np.zeros((3, 2, 2)), True, {}, stored.__getitem__)
    assert values.tolist() == [[[11.0, 12.0], [21.0, 22.0]]] * 3


def test_a_transcendental_operation_is_never_taken_for_exact() -> None:
    chain = Chain(make_plan(epilogue=("gelu_erf",)))
    product = multiply(XP, np.array([[[1.0], [2.0]]]), np.array([[[1.0, 3.0]]]), exact=True)
    assert through(chain, product, {}, {}.__getitem__)[1].all()


def test_a_tile_that_does_not_exist_is_not_read() -> None:
    chain = Chain(make_plan(epilogue=("beta_c",)))
    assert chain.skips == {"c": "beta"}
    product = multiply(XP, np.ones((1, 2, 3)), np.ones((1, 3, 2)), exact=True)
    values, _ = through(chain, product, {"beta": 0.0}, lambda name: pytest.fail(f"{name} is read"))
    assert np.array_equal(values, np.full((1, 2, 2), 3.0))


def test_an_operand_that_the_plan_lacks_is_named() -> None:
    plan = replace(make_plan(), kernel={"epilogue": [{"op": "alpha", "dtype": "f32"}]})
    with pytest.raises(LookupError, match="operand 'alpha' of 'alpha'"):
        Chain(plan)


def test_sampled_rows_touch_every_stripe_of_64() -> None:
    rows = sample_rows(46411)
    assert rows[-1] == 46410
    assert {row // 64 for row in rows} == set(range(46410 // 64 + 1))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_no_arithmetic_gives_the_poison(dtype: str) -> None:
    poison = np.array([described(dtype).poison], f"int{described(dtype).bits}")
    value = XP.decode(poison, dtype)
    assert np.isnan(value[0])
    with np.errstate(invalid="ignore"):
        assert XP.encode(value * 1.0, dtype)[0] != poison[0]


def test_rounding_of_zero_is_zero() -> None:
    assert output_rounding(XP, np.zeros(1), np.zeros(1), "f16")[0] == 0


def test_from_the_edge_of_overflow_on_a_finite_number_is_wrong() -> None:
    """65520 lies half-way between 65504 and 65536, the even one, which f16 has no more."""
    assert agree([INF, -INF], [65520.0, -65520.0]).wrong == 0
    assert agree([65504.0], [65520.0]).wrong == 1
    assert agree([65504.0, INF], [65520.0, 65520.0], error=1.0).wrong == 0


def test_infinite_intermediate_results_are_certain_and_float32_overflows() -> None:
    """relu makes 0 of -inf, whatever the bound on the sum was; 2^128 is beyond float32, so 2^-1 of it is infinite."""
    plan = make_plan(d=("f32", "n"), epilogue=("alpha", "relu"))
    values = np.array([[[-INF, INF, NAN, 2.0**128, 4.0]]])
    got, error = Chain(plan).apply(XP, values, np.full(values.shape, INF), False, {"alpha": 0.5}, {}.__getitem__)
    assert np.array_equal(got, [[[0, INF, NAN, INF, 2]]], equal_nan=True)
    assert error.tolist() == [[[0, 0, 0, 0, INF]]]
