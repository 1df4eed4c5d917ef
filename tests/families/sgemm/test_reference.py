"""The workload: what a right kernel gives is within the bound, what is a little wrong is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.families.sgemm.points import legal
from warpwright.device.memo import fresh
from warpwright.device.problem import Problem
from warpwright.device.tolerance import Agreement, compare
from warpwright.device.xp import Array, NumpyXp
from warpwright.families import workload
from warpwright.families.products.problems import multiplication
from warpwright.families.sgemm.workload.peer import vendor_product
from warpwright.plan.types import Plan

XP = NumpyXp()
SGEMM = workload("sgemm")


def operands(plan: Plan, given: Problem) -> dict[str, Array]:
    inputs = [argument for argument in plan.arguments if argument.role == "input" and argument.kind != "scalar"]
    return {a.name: XP.decode(SGEMM.inputs(XP, plan, a, given, 3), "f32") for a in inputs}


def by_ffma(stored: dict[str, Array], relu: bool) -> Array:
    """One product after another, each rounded once: a float64 holds the product, and the sum as well but for a last
    bit in 2^29."""
    a, b = stored["a"], stored["b"]
    total = np.zeros((a.shape[0], a.shape[1], b.shape[2]), np.float32)
    with np.errstate(all="ignore"):
        for k in range(a.shape[2]):
            total = (a[:, :, k, None] * b[:, k, None, :] + total.astype(np.float64)).astype(np.float32)
        if "bias" in stored:
            total = total + stored["bias"].astype(np.float32)
        return np.where(total < 0, np.float32(0), total).astype(np.float32) if relu else total


def agreement(plan: Plan, given: Problem, change: Any = lambda got: got) -> Agreement:
    stored = operands(plan, given)
    got = change(by_ffma(stored, plan.kernel["activation"] == "relu"))
    expected = SGEMM.expected(XP, plan, given, lambda name: stored[name], fresh)["d"]
    return compare(XP, got.astype(np.float64), expected.values, expected.error, "f32")


PLANS = [legal(), legal(bias=False), legal(activation="identity"), legal(bias=False, activation="identity")]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.label)
@pytest.mark.parametrize("fill", ["normal", "integer", "extreme"])
@pytest.mark.parametrize("depth", [1, 40, 700])
def test_the_kernel_s_arithmetic_is_within_the_bound(plan: Plan, fill: Any, depth: int) -> None:
    found = agreement(plan, multiplication("p", 37, 151, depth, 2, fill=fill))
    assert (found.wrong, found.elements) == (0, 2 * 37 * 151)
    if fill == "normal":
        assert 0 < found.ratio <= 1
    else:
        assert found.ratio == 0


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.label)
def test_one_product_lost_is_wrong(plan: Plan) -> None:
    """Of small integers everywhere but under relu; of random numbers, where it is larger than the bound."""
    given = multiplication("p", 37, 151, 40, fill="integer")
    stored = operands(plan, given)
    relu = plan.kernel["activation"] == "relu"
    full = SGEMM.expected(XP, plan, given, lambda name: stored[name], fresh)["d"]
    got = by_ffma({**stored, "a": stored["a"][:, :, 1:], "b": stored["b"][:, 1:, :]}, relu)
    lost = compare(XP, got.astype(np.float64), full.values, full.error, "f32").wrong
    product = stored["a"][:, :, :1] * stored["b"][:, :1, :] != 0
    assert 0.3 * product.sum() < lost <= product.sum()
    random = multiplication("p", 37, 151, 40)
    stored = operands(plan, random)
    full = SGEMM.expected(XP, plan, random, lambda name: stored[name], fresh)["d"]
    got = by_ffma({**stored, "a": stored["a"][:, :, 1:], "b": stored["b"][:, 1:, :]}, relu)
    assert compare(XP, got.astype(np.float64), full.values, full.error, "f32").wrong > 0.4 * 37 * 151


def test_a_product_in_tf32_is_wrong() -> None:
    """Operands of 11 significant bits: what a tensor core would take."""
    plan = legal(activation="identity")
    given = multiplication("p", 64, 64, 256)
    stored = operands(plan, given)
    full = SGEMM.expected(XP, plan, given, lambda name: stored[name], fresh)["d"]
    short = {name: stored[name].astype(np.float32).view(np.uint32) & 0xFFFFE000 for name in "ab"}
    got = by_ffma({**stored, **{n: v.view(np.float32).astype(np.float64) for n, v in short.items()}}, False)
    assert compare(XP, got.astype(np.float64), full.values, full.error, "f32").wrong > 0.5 * 64 * 64


def test_relu_keeps_nan_and_what_is_beyond_the_range_is_infinite_before_the_bias() -> None:
    plan, given = legal(), multiplication("p", 1, 4, 1)
    stored = {"a": np.array([[[2.0**127]]]), "b": np.array([[[2.0, -2.0, np.nan, 1.0]]]),
              "bias": np.array([-np.inf, 0.0, 0.0, -(2.0**127)])}  # fmt: skip
    extreme = Problem("p", given.sizes, "extreme")
    expected = SGEMM.expected(XP, plan, extreme, lambda name: stored[name], fresh)["d"]
    assert np.array_equal(expected.values[0, 0], [np.nan, 0.0, np.nan, 0.0], equal_nan=True)
    assert not expected.error.any()


def test_every_kind_of_result_comes_of_extreme_operands() -> None:
    """NaN, infinities, sums beyond f32's range, subnormal ones, -0; and a bias of such numbers."""
    plan = legal(activation="identity")
    stored = operands(plan, multiplication("p", 96, 125, 69, fill="extreme"))
    with np.errstate(all="ignore"):
        sums = stored["a"][0] @ stored["b"][0]
    assert np.isnan(sums).any()
    assert {np.inf, -np.inf} <= set(sums.ravel())
    finite = sums[np.isfinite(sums)]
    assert {2.0**128, -(2.0**128), 2.0**127} <= set(finite)
    assert (np.abs(finite[finite != 0]) < 2.0**-126).any()
    assert (np.signbit(stored["a"]) & (stored["a"] == 0)).all(axis=2).any()  # a row of nothing but -0
    assert {np.inf, -np.inf, 2.0**127, -(2.0**127), 3 * 2.0**-140} <= set(stored["bias"])
    assert np.isnan(stored["bias"]).any()


def test_work_units_and_what_is_copied() -> None:
    plan = legal(tile_k=16)
    work = SGEMM.work(plan, {"M": 10, "N": 20, "K": 30, "L": 2})
    assert (work.flop, work.rate) == (2 * 10 * 20 * 30 * 2, "TFLOP/s")
    assert work.bytes == 4 * (2 * (10 * 30 + 30 * 20 + 10 * 20) + 20)
    given = multiplication("p", 257, 128, 17, 2)
    assert SGEMM.units(plan, given) == 2 * 1 * 2
    assert SGEMM.copied(plan, given) == {"a": 4 * 256 * 32, "b": 4 * 128 * 32}
    assert SGEMM.copied(legal(specialise="none"), given) == {}
    assert SGEMM.units(plan, multiplication("p", 0, 1, 1)) == 0


def test_the_tiles_of_a_cta_are_every_so_many_th_of_the_walk() -> None:
    """Walked along M in bands of two tiles, the last one narrower."""
    plan = legal(group=2)
    given = multiplication("p", 2 * 256 + 7, 2 * 128, 1)

    def boxes(ctas: int, *only: int) -> list[tuple[int, int, int]]:
        shares = SGEMM.share(plan, given, ctas, only)
        return [(box["M"].start, box["M"].stop, box["N"].start) for box in shares]

    walk = [(0, 256, 0), (256, 512, 0), (0, 256, 128), (256, 512, 128), (512, 519, 0), (512, 519, 128)]
    assert boxes(1, 0) == walk
    assert boxes(4, 0) == [walk[0], walk[4]]
    assert boxes(4, 1, 3) == [walk[1], walk[5], walk[3]]
    across = legal(group=2, raster="n")
    wide = multiplication("p", 2 * 256, 2 * 128 + 7, 1)
    found = [(box["M"].start, box["N"].start) for box in SGEMM.share(across, wide, 1, (0,))]
    assert found == [(0, 0), (0, 128), (256, 0), (256, 128), (0, 256), (256, 256)]


def test_problems_are_named_once_and_are_what_their_names_say() -> None:
    for plan in (legal(), legal("k", "k"), legal(specialise="none", stages=2), legal(raster="n", group=1)):
        d = plan.design
        listed = SGEMM.problems(plan)
        found = {problem.name: problem.extents for problem in listed}
        assert len(found) == len(listed)
        assert found["k_below_ring"]["K"] <= (d.stages - 1) * d.tile_k
        assert found["k_beyond_ring"]["K"] > 3 * d.stages * d.tile_k
        assert found["beyond_2_31"]["M"] * found["beyond_2_31"]["N"] > 2**31
        assert found["waves"]["M"] // d.tile_m * (found["waves"]["N"] // d.tile_n) > 264
        assert all(found["ragged"][mode] % tile for mode, tile in (("M", d.tile_m), ("N", d.tile_n), ("K", d.tile_k)))
        assert found["ragged"]["N"] % 4
        cases = {case.problem.name: case for case in SGEMM.cases(plan)}
        assert cases["ring"].problem.extents["K"] == d.stages * d.tile_k
        assert cases["tiles"].problem.extents["K"] > d.stages * d.tile_k
        assert max(cases["walk"].problem.extents["M"] // d.tile_m, cases["walk"].problem.extents["N"] // d.tile_n) > 127
        assert SGEMM.units(plan, cases["walk"].problem) > 2**16


def test_d_ends_at_each_row_and_column_of_a_thread() -> None:
    """Of the second lane, whose rows begin at 4, or at 1 where A is K-major; the next four lie 16 rows further."""
    ends = {plan.label: [tuple(extent for _, extent in case.problem.sizes[:2]) for case in SGEMM.cases(plan)
                         if "edge_" in case.problem.name] for plan in (legal(), legal("k", "k"))}  # fmt: skip
    dense = [first + at for first in (4, 20, 36, 52) for at in range(4)]
    columns = [first + at for first in (4, 36) for at in range(4)]
    assert ends[legal().label] == [*((m, 128) for m in dense), *((256, n) for n in columns)]
    rows, columns = [1 + 4 * at for at in range(16)], [1 + 8 * at for at in range(8)]
    assert ends[legal("k", "k").label] == [*((m, 128) for m in rows), *((256, n) for n in columns)]


def test_k_ends_in_each_vector_that_a_thread_copies() -> None:
    """Of 256 x 16 of A, in 4 vectors for each of 256 threads: 4 steps of K each."""
    plan = legal(specialise="none", tile_k=16, stages=3)
    depths = [case.problem.extents["K"] for case in SGEMM.cases(plan) if case.problem.name.startswith("depth_")]
    assert depths == [16 * stage + end for stage in (0, 1, 3) for end in (1, 5, 9, 13)]
    assert not [case for case in SGEMM.cases(legal()) if case.problem.name.startswith("depth_")]


class Torch:
    """What the peer needs of torch, written down."""

    class backends:  # noqa: N801
        class cuda:  # noqa: N801
            class matmul:  # noqa: N801
                allow_tf32 = True

    class cuda:  # noqa: N801
        @staticmethod
        def synchronize() -> None:
            pass

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, out: Any) -> None:
            self.calls.append((name, self.backends.cuda.matmul.allow_tf32, len(arguments)))

        return call


class Matrix:
    shape = (1, 2, 2)
    relus = 0

    def __getitem__(self, index: int) -> Matrix:
        return self

    def relu_(self) -> None:
        Matrix.relus += 1


@pytest.mark.parametrize(
    ("bias", "relu", "batches", "name", "text"),
    [
        (True, True, 1, "addmm", "torch.addmm(out=) in fp32, relu_()"),
        (False, True, 1, "mm", "torch.mm(out=) in fp32, relu_()"),
        (True, False, 3, "baddbmm", "torch.baddbmm(out=) in fp32"),
        (False, False, 3, "bmm", "torch.bmm(out=) in fp32"),
    ],
)
def test_the_peer_is_true_fp32_and_does_the_same(bias: bool, relu: bool, batches: int, name: str, text: str) -> None:
    torch, matrix = Torch(), Matrix()
    matrix.shape = (batches, 2, 2)
    Matrix.relus = 0
    peer = vendor_product(torch, matrix, matrix, matrix, object() if bias else None, relu)
    assert peer
    peer.launch()
    assert peer.name == text
    assert torch.calls == [(name, False, 3 if bias else 2)] * 2
    assert Matrix.relus == 2 * relu
    assert torch.backends.cuda.matmul.allow_tf32


def test_plans_of_one_key_have_one_peer() -> None:
    keys = {SGEMM.peer_key(plan) for plan in (*PLANS, legal("k"), legal("m", "k"), legal("k", "k"))}
    assert len(keys) == 7
    assert SGEMM.peer_key(legal()) == SGEMM.peer_key(legal(specialise="none", stages=2))
