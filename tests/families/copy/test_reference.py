"""The workload: what a right kernel gives is within the bound, what is a little wrong is not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.families.copy.points import DTYPES, legal
from warpwright.device.memo import fresh
from warpwright.device.problem import Problem
from warpwright.device.tolerance import Agreement, compare
from warpwright.device.xp import Array, NumpyXp
from warpwright.families import workload
from warpwright.families.copy.workload.reference import SPECIAL, alpha_of, product
from warpwright.plan.types import Plan

XP = NumpyXp()
COPY = workload("copy")
DTYPE_BYTES = {"f16": 2, "bf16": 2, "f32": 4}
PAIRS = [(x, y) for x in DTYPES for y in DTYPES]


def problem(n: int, fill: str = "normal", zero: tuple[str, ...] = ()) -> Problem:
    return Problem("p", (("N", n),), fill, zero=zero)  # type: ignore[arg-type]


def computed(plan: Plan, given: Problem, ulps: int = 0, unsigned: bool = False) -> Agreement:
    """Compare what a kernel computes, in f32, then rounded, with the reference; `ulps` further off in y's bits,
    or `unsigned`, without a negative zero."""
    x = XP.decode(COPY.inputs(XP, plan, plan.arguments[0], given, 3), plan.kernel["x"]["dtype"])
    alpha = np.float32(COPY.scalars(plan, given)["alpha"])
    with np.errstate(all="ignore"):
        single = x.astype(np.float32) * alpha
    got = XP.decode(XP.encode(single, plan.kernel["y"]["dtype"]) + ulps, plan.kernel["y"]["dtype"])
    expected = COPY.expected(XP, plan, given, lambda name: x, fresh)["y"]
    got = got + 0.0 if unsigned else got
    return compare(XP, got, expected.values, expected.error, plan.kernel["y"]["dtype"], expected.signed)


@pytest.mark.parametrize(("x", "y"), PAIRS)
@pytest.mark.parametrize("given", [problem(4099), problem(4099, "integer"), problem(4099, "nonfinite"),
                                   problem(999, "nonfinite", ("alpha",)), problem(4099, "extreme")])  # fmt: skip
def test_the_kernel_s_arithmetic_is_within_the_bound(x: str, y: str, given: Problem) -> None:
    agreement = computed(legal(x, y), given)
    assert (agreement.wrong, agreement.elements) == (0, given.extents["N"])
    if given.fill == "integer":
        assert agreement.ratio == 0


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_two_units_in_the_last_place_are_wrong(x: str, y: str) -> None:
    assert computed(legal(x, y), problem(4099), ulps=2).wrong == 4099
    assert computed(legal(x, y), problem(4099, "integer"), ulps=1).wrong > 3000  # of a zero, one unit is subnormal


@pytest.mark.parametrize("y", DTYPES)
def test_a_zero_keeps_its_sign(y: str) -> None:
    for given in (problem(999, "nonfinite"), problem(999, "normal", ("alpha",))):
        agreement = computed(legal("f32", y), given, unsigned=True)
        assert agreement.wrong > 8
        assert (agreement.worst["got"], str(agreement.worst["expected"])[0]) == (0.0, "-")


def test_a_product_that_f32_holds_has_no_error() -> None:
    for alpha in (1.0, -2.0, 0.0):
        assert not product(XP, np.float64(np.float32([1.1, -3e-39, 65504.0])), alpha).error.any()
    assert (product(XP, np.float64(np.float32([1.1, 3e-40])), alpha_of("normal", ())).error > 0).all()


def test_alpha_zero_makes_no_zero_of_what_is_not_finite() -> None:
    expected = product(XP, np.array([1.0, np.nan, np.inf, -2.0]), 0.0)
    assert np.array_equal(expected.values, [0.0, np.nan, np.nan, 0.0], equal_nan=True)


def test_inputs_follow_the_fill() -> None:
    plan = legal("f32", "f16")
    (x,) = (argument for argument in plan.arguments if argument.name == "x")

    def drawn(given: Problem) -> Array:
        return XP.decode(COPY.inputs(XP, plan, x, given, 1), "f32")

    assert set(drawn(problem(500, "integer"))) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    strewn = drawn(problem(500, "nonfinite"))
    assert np.array_equal(strewn[: len(SPECIAL)], np.float32(SPECIAL), equal_nan=True)
    assert np.isnan(strewn).sum() == 9
    assert len(set(drawn(problem(500)))) > 490
    assert drawn(problem(3, "nonfinite")).shape == (3,)


def test_work_units_and_what_is_copied() -> None:
    plan = legal("f16", "f32", store="tma")
    e = plan.design.stage_elements
    work = COPY.work(plan, {"N": 1000})
    assert (work.flop, work.bytes, work.rate) == (1000, 6000, "TB/s")
    assert work.speed(1e-9) == 6.0
    assert [COPY.units(plan, problem(n)) for n in (0, 1, 8, e, e + 7, e + 8)] == [0, 1, 1, 1, 1, 2]
    assert COPY.copied(plan, problem(e + 9)) == {"x": e + 8, "y": e + 8}
    assert COPY.copied(legal("f16", "f32", store="direct"), problem(e + 9)) == {"x": e + 8}


def test_large_problems_are_sampled_everywhere_in_a_chunk_and_to_the_end() -> None:
    plan = legal()
    assert COPY.sample(plan, problem(2**27 + 13)) is None
    n = 2**31 + 4099
    sample = COPY.sample(plan, problem(n))
    assert sample
    assert (sample.mode, sample.indices[0], sample.indices[-1]) == ("N", 0, n - 1)
    assert len(sample.indices) == len(set(sample.indices)) < 300_000
    assert {index % plan.design.stage_elements for index in sample.indices} == set(range(plan.design.stage_elements))


def test_problems_are_named_once_and_reach_beyond_32_bits() -> None:
    for plan in (legal(), legal("f32", "f32", ctas_per_sm=1, store="tma")):
        problems = COPY.problems(plan)
        assert len({p.name for p in problems}) == len(problems)
        assert min(p.extents["N"] for p in problems) == 0
        assert max(p.extents["N"] for p in problems) > 2**31
        assert all(p.extents["N"] >= 0 for p in problems)


def test_the_peer_writes_y() -> None:
    class Tensor:
        copied: list[object]

        def __init__(self) -> None:
            self.copied = []

        def copy_(self, source: object) -> None:
            self.copied.append(source)

    x, y = Tensor(), Tensor()
    (peer,) = COPY.peers(None, legal(), {"x": x, "y": y, "alpha": 1.0})
    assert peer.same
    peer.launch()
    assert y.copied == [x, x]
    assert COPY.peer_key(legal("f16", "f32")) == "x:f16 y:f32"


def test_a_subnormal_product_is_rounded_to_their_spacing() -> None:
    """2^-149, of which half may be lost, however small the product; a whole one is wrong."""
    x = np.float64(np.float32([3e-45, 1e-43, 7e-42, 1e-40]))
    alpha = alpha_of("normal", ())
    expected = product(XP, x, alpha)
    got = np.float64(np.float32(x) * np.float32(alpha))
    assert (got != expected.values).all()
    assert (np.abs(got - expected.values) <= expected.error).all()
    assert (expected.error < 2.0**-149).all()


def test_problems_are_what_their_names_say() -> None:
    for plan in (
        legal(),
        legal("f32", "f32", ctas_per_sm=1, store="tma"),
        legal("f16", "f32", stages=2, ctas_per_sm=2),
    ):
        d = plan.design
        e, grain = d.stage_elements, 16 // min(DTYPE_BYTES[plan.kernel[name]["dtype"]] for name in "xy")
        n = {problem.name: problem.extents["N"] for problem in COPY.problems(plan)}
        resident = 132 * d.ctas_per_sm  # CTAs that an H200 holds
        assert (n["empty"], n["one"], n["below_grain"], n["grain"], n["above_grain"]) == (
            0,
            1,
            grain - 1,
            grain,
            grain + 1,
        )
        assert n["slice_less"] < e // d.consumer_warps < n["slice_more"] < 2 * e
        assert (n["chunk_less"], n["chunk"], n["chunk_more"]) == (e - 1, e, e + 1)
        assert n["ring"] // e > d.stages
        assert n["one_chunk_each"] == resident * e < n["one_chunk_each_more"]
        assert n["rounds"] // e // resident >= 2 * d.stages  # every CTA goes twice through its ring
        assert n["rounds"] % e
        assert n["large"] > 2**27
        assert n["beyond_2_31"] > 2**31


def test_a_copy_far_away_has_chunks_that_begin_beyond_2_31_and_2_32() -> None:
    for plan in (legal(), legal("f32", "f16", stage_bytes=8192)):
        (far,) = (case for case in COPY.cases(plan) if case.problem.name == "far")
        size, n = plan.design.stage_elements, far.problem.extents["N"]
        first = [cta * size for cta in far.only]
        assert n > 2**32 + 2 * size
        assert first[0] == 0
        assert 2**31 < 2**32 - first[1] < 3 * 2**30
        assert 2**31 <= first[2] < 2**31 + 2 * size
        assert 2**32 <= first[3] < first[4] < n <= first[4] + size + 16


def test_the_share_of_a_cta_is_every_so_many_th_chunk() -> None:
    """Three CTAs and 7 chunks: the last CTA copies the few elements behind the last chunk, too."""
    plan = legal("f16", "f16")
    e = plan.design.stage_elements
    given = problem(6 * e + 16 + 3)

    def parts(*only: int) -> list[tuple[int, int]]:
        return [(part["N"].start, part["N"].stop) for part in COPY.share(plan, given, 3, only)]

    assert parts(0) == [(0, e), (3 * e, 4 * e), (6 * e, 6 * e + 16)]
    assert parts(1) == [(e, 2 * e), (4 * e, 5 * e)]
    assert parts(2) == [(2 * e, 3 * e), (5 * e, 6 * e), (6 * e + 16, 6 * e + 19)]
    assert parts(0, 1, 2) == [*parts(0), *parts(1), *parts(2)]
