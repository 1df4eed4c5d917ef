"""References, operands and cases of every format; kernels that take scales wrongly, or sum in too little, are found."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tests.families.gemm.formats import (
    GEMM,
    XP,
    atom,
    computed_by,
    drawn,
    format_plan,
    judged,
    logical,
    right,
    scale_rows,
)
from warpwright.device.coverage import beyond
from warpwright.device.held import held_shape, numbers
from warpwright.device.problem import Problem, shape_of
from warpwright.dtypes import SCALED, dtype
from warpwright.families.products.problems import multiplication
from warpwright.plan.types import Plan

Array = Any
FORMATS = [("tf32", ""), ("e4m3", ""), ("e5m2", "e4m3"), ("i8", ""), ("mxf8_e4m3", ""), ("mxf8_e5m2", "mxf8_e4m3")]
FORMATS += [("mxf4", ""), ("nvf4", "")]
#: Small enough for numpy.
_MOST = 1 << 24


def cases(plan: Plan) -> list[Problem]:
    found = [case.problem for case in GEMM.cases(plan) if not case.only]
    return [p for p in found if np.prod(list(p.extents.values())) < _MOST and p.name != "far"]


@functools.cache
def made(a: str, b: str, name: str, d: str = "f32") -> tuple[Plan, Problem, dict[str, Array]]:
    plan = format_plan(a, b, d)
    problem = next(p for p in cases(plan) if p.name == name)
    return plan, problem, drawn(plan, problem)


@pytest.mark.parametrize(("a", "b"), FORMATS)
def test_a_right_kernel_is_right_on_every_case(a: str, b: str) -> None:
    for d in ("f32", "f16", *(["i32"] if a == "i8" else [])):
        plan = format_plan(a, b, d)
        for problem in cases(plan):
            held = drawn(plan, problem)
            found = judged(plan, problem, held, computed_by(plan, held))
            assert found.wrong == 0, (problem, found)


@pytest.mark.parametrize(("a", "b"), FORMATS)
def test_inputs_are_held_as_buffers_are(a: str, b: str) -> None:
    plan = format_plan(a, b)
    for problem in [*cases(plan), *(p for p in GEMM.problems(plan) if np.prod(list(p.extents.values())) < 1 << 22)]:
        for argument in plan.arguments:
            if argument.role == "input" and argument.kind != "scalar":
                bits = GEMM.inputs(XP, plan, argument, problem, 3)
                assert tuple(bits.shape) == held_shape(argument, shape_of(argument, problem.extents)), problem
                assert bits.itemsize == max(1, dtype(argument.dtype).bits // 8)


def swapped(plan: Plan, held: Mapping[str, Array], m: int, n: int, k: int) -> tuple[Array, Array]:
    """SFA as SFB, and the other way round; rows that the other has not are its last one."""
    of_a, of_b = right(plan)(held, m, n, k)
    return of_b[:, np.minimum(np.arange(m), n - 1)], of_a[:, np.minimum(np.arange(n), m - 1)]


def ignored(plan: Plan, held: Mapping[str, Array], m: int, n: int, k: int) -> tuple[Array, Array]:
    batches = held["sfa"].shape[0]
    return np.ones((batches, m, k)), np.ones((batches, n, k))


def of_one(name: str, change: Callable[[Array], Array]) -> Callable[..., tuple[Array, Array]]:
    """The factors of A, or of B, changed."""

    def factors(plan: Plan, held: Mapping[str, Array], m: int, n: int, k: int) -> tuple[Array, Array]:
        of_a, of_b = right(plan)(held, m, n, k)
        return (change(of_a), of_b) if name == "sfa" else (of_a, change(of_b))

    return factors


def read(name: str, reads: Callable[..., Any]) -> Callable[..., tuple[Array, Array]]:
    """Atoms of A, or of B, read in another order."""

    def factors(plan: Plan, held: Mapping[str, Array], m: int, n: int, k: int) -> tuple[Array, Array]:
        of_a, of_b = right(plan)(held, m, n, k)
        scaled = SCALED[plan.kernel["a"]["dtype"]]
        changed = scale_rows(held[name], scaled.scale, m if name == "sfa" else n, k, scaled.block, reads)
        return (changed, of_b) if name == "sfa" else (of_a, changed)

    return factors


FAULTS = {
    "ignored": ignored,
    "swapped": swapped,
    **{
        f"{what} of {name}": fault
        for name in ("sfa", "sfb")
        for what, fault in {
            "none": of_one(name, np.ones_like),
            "the row above": of_one(name, lambda x: np.concatenate([x[:, 1:], x[:, :1]], 1)),
            "the row 32 away": of_one(name, lambda x: x[:, (np.arange(x.shape[1]) + 32) % x.shape[1]]),
            "the first row": of_one(name, lambda x: np.broadcast_to(x[:, :1], x.shape)),
            "the first block": of_one(name, lambda x: np.broadcast_to(x[:, :, :1], x.shape)),
            "the batch before": of_one(name, lambda x: np.concatenate([x[-1:], x[:-1]])),
            "an atom by rows": read(name, lambda r, j: 4 * r + j),
            "an atom with quarters for blocks": read(name, lambda r, j: 16 * (r % 32) + 4 * j + r // 32),
            "an atom of one quarter": read(name, lambda r, j: atom(r % 32, j)),
            "the next block": read(name, lambda r, j: atom(r, (j + 1) % 4)),
        }.items()
    },
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("a", SCALED)
def test_a_kernel_that_takes_scales_wrongly_is_found(a: str, fault: str) -> None:
    """On one of the emulator's cases at least; on the device there are the same fills."""
    found = {}
    for name in ("ragged", "batch", "extreme"):
        plan, problem, held = made(a, "", name)
        d = computed_by(plan, held, functools.partial(FAULTS[fault], plan))
        found[name] = judged(plan, problem, held, d).wrong
    assert any(found.values()), found
    if "batch" not in fault:
        assert found["ragged"], found


def test_blocks_of_another_length_are_found() -> None:
    plan, problem, held = made("nvf4", "", "ragged")

    def of_32(held: Mapping[str, Array], m: int, n: int, k: int) -> tuple[Array, Array]:
        return tuple(scale_rows(held[s], "ue4m3", rows, k, 32) for s, rows in (("sfa", m), ("sfb", n)))  # type: ignore

    assert judged(plan, problem, held, computed_by(plan, held, of_32)).wrong


@pytest.mark.parametrize("a", SCALED)
def test_scales_of_rows_and_blocks_that_there_are_not_change_nothing(a: str) -> None:
    """Those of rows are NaN, which shows where one is taken; those of blocks are 0, as zeros behind K need it."""
    plan, problem, held = made(a, "", "ragged")
    scales = next(argument for argument in plan.arguments if argument.name == "sfb")
    every = numbers(XP, scales, held["sfb"])
    n, k = problem.extents["N"], problem.extents["K"]
    assert every.shape[1] > n
    assert np.isnan(every[:, n:, : k // scales.block]).all()
    behind = held["sfb"].reshape(*held["sfb"].shape[:3], 32, 4, 4)[:, :, -1, :, :, -(-k // scales.block) % 4 :]
    assert -(-k // scales.block) % 4
    assert (behind == 0).all()
    assert logical(plan, "sfb") == ("L", "N", f"K/{scales.block}")


@pytest.mark.parametrize("a", SCALED)
def test_scales_are_drawn_unlike_and_extreme_ones_far_apart(a: str) -> None:
    plan = format_plan(a)
    for fill, least in (("normal", 12), ("integer", 4), ("extreme", 6)):
        problem = multiplication("p", 256, 128, 512, 2, fill=fill)  # type: ignore[arg-type]
        held = drawn(plan, problem)
        of = [numbers(XP, x, held[x.name]) for x in plan.arguments if x.block]
        for each in of:
            kinds = np.unique(each[np.isfinite(each)])
            assert len(kinds) >= least, (fill, kinds)
            assert np.mean(each[:, 1:] == each[:, :-1]) < (0.6 if fill == "extreme" else 0.35)
        if fill == "extreme":
            wide = 2.0**60 if dtype(plan.arguments[2].dtype).name == "ue8m0" else 2.0**9
            assert np.nanmax(of[0]) / np.nanmin(of[0]) > wide
            both = of[0][:, :128] * of[1]
            assert 1 <= np.nanmin(both) <= np.nanmax(both) <= 4
            assert all(np.isnan(each).any() for each in of)


def test_integers_are_exact_and_their_sums_too() -> None:
    plan, problem = format_plan("i8", d="i32"), multiplication("n", 40, 50, 3000)
    held = drawn(plan, problem)
    assert {-128, 127} <= set(np.unique(held["a"]).tolist())
    exact = computed_by(plan, held)
    assert np.abs(exact).max() > 2.0**18
    assert judged(plan, problem, held, exact).wrong == 0
    assert judged(plan, problem, held, exact + (exact == exact.max())).wrong == 1, "one, by one"


@pytest.mark.parametrize("d", ["f16", "bf16", "f32"])
def test_integers_that_float32_cannot_hold_are_rounded_once(d: str) -> None:
    plan = format_plan("i8", d=d)
    problem = multiplication("n", 2, 2, 1)
    held = {"a": np.full((1, 2, 1 << 15), 127, np.int8), "b": np.full((1, 1 << 15, 2), 127, np.int8)}
    held["a"][0, 0, 0] = 126
    exact = computed_by(plan, held)
    assert exact.max() > 2.0**24
    rounded = exact.astype(np.float32).astype(np.float64)
    assert judged(plan, problem, held, rounded).wrong == 0
    if d == "f32":
        assert judged(plan, problem, held, rounded + 128).wrong


@pytest.mark.parametrize(("a", "nan", "inf"), [("e5m2", True, True), ("e4m3", True, False), ("e2m1", False, False)])
def test_special_numbers_are_those_that_a_format_has(a: str, nan: bool, inf: bool) -> None:
    plan = format_plan({"e2m1": "mxf4"}.get(a, a))
    for fill in ("nonfinite", "extreme"):
        problem = multiplication(fill, 64, 64, 64, fill=fill)  # type: ignore[arg-type]
        values = numbers(XP, plan.arguments[0], drawn(plan, problem)["a"])
        assert (bool(np.isnan(values).any()), bool(np.isinf(values).any())) == (nan, inf)
        if a == "e2m1":
            assert {-6.0, 6.0} <= set(np.unique(values).tolist())


@pytest.mark.parametrize(("a", "b"), [("e4m3", "e4m3"), ("e5m2", "e5m2"), ("mxf8_e4m3", ""), ("mxf8_e5m2", "")])
def test_results_go_beyond_the_range_of_an_f16_d(a: str, b: str) -> None:
    plan, problem, held = made(a, b, "extreme", "f16")
    with np.errstate(over="ignore"):
        exact = computed_by(plan, held)
        beyond = np.isfinite(exact) & np.isinf(exact.astype(np.float16))
    assert beyond.any()
    assert {-1.0, 1.0} <= set(np.sign(exact[beyond]).tolist())
    clamped = np.where(beyond, np.sign(exact) * 65504.0, exact)
    assert judged(plan, problem, held, clamped).wrong


def test_tf32_operands_are_tf32_numbers() -> None:
    plan, _, held = made("tf32", "", "ragged")
    assert not any((held[name] & 0x1FFF).any() for name in "ab")
    values = numbers(XP, plan.arguments[0], held["a"])
    fewer = XP.decode(XP.encode(values, "bf16"), "bf16")
    assert np.mean(fewer != values) > 0.8, "a kernel that keeps fewer bits is wrong"


@pytest.mark.parametrize(("a", "bits"), [("e4m3", 13), ("mxf8_e4m3", 13)])
def test_sums_of_a_few_bits_are_found(a: str, bits: int) -> None:
    """As Hopper's tensor cores sum fp8, with 13 bits behind the first one: it shows in short sums."""
    plan, problem, held = made(a, "", "tiny")
    exact = computed_by(plan, held)
    step = np.exp2(np.floor(np.log2(np.maximum(np.abs(exact), 1))) - bits)
    assert judged(plan, problem, held, np.trunc(exact / step) * step).wrong


def test_packed_operands_have_an_even_k_throughout() -> None:
    plan = format_plan("nvf4")
    every = [*GEMM.problems(plan), *(c.problem for c in [*GEMM.cases(plan), *GEMM.compared(plan), *GEMM.huge(plan)])]
    assert all(problem.extents["K"] % 2 == 0 for problem in every)
    assert any(problem.extents["K"] % 2 for problem in GEMM.problems(format_plan("mxf8_e4m3")))


def test_an_odd_k_of_packed_operands_is_left_out_with_a_sentence() -> None:
    plan = format_plan("mxf4")
    odd, even = ({"m": 8, "n": 8, "k": k, "l": 1} for k in (33, 34))
    assert beyond(plan, odd) == "K = 33 is odd: two of a share a byte"
    assert beyond(plan, even) == beyond(format_plan("mxf8_e4m3"), odd) == ""
