"""The workload: what a right kernel gives is within the bound, what is a little wrong is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.families.norm_act.points import DTYPES, SMALL, legal
from warpwright.device.memo import fresh
from warpwright.device.problem import Problem
from warpwright.device.tolerance import Agreement, compare
from warpwright.device.xp import NumpyXp
from warpwright.families import workload
from warpwright.families.norm_act.workload.problems import LARGE_MEAN, MAGNITUDES
from warpwright.plan.types import Plan

XP = NumpyXp()
NORM = workload("norm_act")
f32 = np.float32


def problem(m: int, n: int, fill: str = "normal", name: str = "p") -> Problem:
    return Problem(name, (("M", m), ("N", n)), fill)  # type: ignore[arg-type]


def operands(plan: Plan, given: Problem, seed: int = 3) -> dict[str, Any]:
    inputs = [a for a in plan.arguments if a.kind != "scalar" and not a.output]
    return {a.name: XP.decode(NORM.inputs(XP, plan, a, given, seed), a.dtype) for a in inputs}


def kernel_s(plan: Plan, x: dict[str, Any], mean_of: Any = None) -> Any:
    """What a kernel computes, in f32: its sums in another order than numpy's float64."""
    kernel = plan.kernel
    v = x["x"].astype(f32)
    if kernel["residual"]:
        v = v + x["residual"].astype(f32)
    n = v.shape[1]
    inverse = f32(1) / f32(max(n, 1))
    if kernel["norm"] == "layer":
        v = v - (mean_of or chained)(v)[:, None] * inverse
    v = v * (f32(1) / np.sqrt(chained(v * v)[:, None] * inverse + f32(kernel["eps"])))
    if kernel["weight"]:
        v = v * x["weight"].astype(f32)
    if kernel["bias"]:
        v = v + x["bias"].astype(f32)
    if kernel["activation"] == "relu":
        v = np.where(v < 0, f32(0), v)
    if kernel["activation"] == "silu":
        v = v * (f32(1) / (f32(1) + np.exp2(v * f32(-1.4426950408889634))))
    return v


def chained(values: Any) -> Any:
    """Sums of rows one after the other, by 32 lanes that are added last."""
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % 32)))
    padded = padded.reshape(len(values), padded.shape[1] // 32, 32)
    lanes = np.zeros(padded.shape[::2], f32)
    for step in range(padded.shape[1]):
        lanes = lanes + padded[:, step]
    return np.add.reduce(lanes, axis=1, dtype=f32)


def judged(plan: Plan, given: Problem, got: Any = None, ulps: int = 0) -> Agreement:
    x, y = operands(plan, given), plan.kernel["y"]["dtype"]
    with np.errstate(all="ignore"):
        single = kernel_s(plan, x) if got is None else got(plan, x)
    rounded = XP.decode(XP.encode(single, y) + ulps, y)
    expected = NORM.expected(XP, plan, given, x.__getitem__, fresh)["y"]
    return compare(XP, rounded, expected.values, expected.error, y)


@pytest.mark.parametrize("y", DTYPES)
@pytest.mark.parametrize("x", DTYPES)
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("activation", ["identity", "relu", "silu"])
@pytest.mark.parametrize(
    "given",
    [problem(5, 1000), problem(4, 1), problem(20, 999, "nonfinite"), problem(4, 1024, "integer"),
     problem(3, 1024, name=LARGE_MEAN), problem(13, 333, name=MAGNITUDES), problem(3, 4093, "extreme")],
    ids=lambda p: f"{p.fill}-{p.name}",
)  # fmt: skip
def test_the_kernel_s_arithmetic_is_within_the_bound(
    x: str, y: str, norm: str, activation: str, given: Problem
) -> None:
    plan = legal(x=x, y=y, norm=norm, activation=activation, columns=1024, warps_per_row=1, residual=y == "f32")
    agreement = judged(plan, given)
    assert (agreement.wrong, agreement.worst) == (0, {})
    assert agreement.elements == given.extents["M"] * given.extents["N"]


def from_parts(plan: Plan, x: dict[str, Any], counted: bool = True) -> Any:
    """What CTAs that share rows compute, in f32: warps' means and squares, which are merged."""
    v = x["x"].astype(f32)
    inverse = f32(1) / f32(v.shape[1])
    parts = np.array_split(v, np.arange(256, v.shape[1], 256), axis=1)
    counts = [f32(part.shape[1]) for part in parts]
    means = [chained(part) * (f32(1) / count) for part, count in zip(parts, counts, strict=True)]
    apart = [part - mean[:, None] for part, mean in zip(parts, means, strict=True)]
    mean = np.sum([m * count for m, count in zip(means, counts, strict=True)], axis=0, dtype=f32) * inverse
    between = [(m - mean) ** 2 * (count if counted else f32(256)) for m, count in zip(means, counts, strict=True)]
    squares = np.sum([chained(d * d) for d in apart] + between, axis=0, dtype=f32)
    scale = f32(1) / np.sqrt(squares * inverse + f32(plan.kernel["eps"]))
    return np.concatenate(
        [d * scale[:, None] + ((m - mean) * scale)[:, None] for d, m in zip(apart, means, strict=True)], axis=1
    )


MERGED = {"specialise": "none", "persistent": False, "groups": 1, "ctas_per_row": 4, "rows_per_group": 2,
          "warps_per_row": 1, "columns": 1024, "x": "f32", "y": "f32", "weight": None, "bias": None,
          "activation": "identity"}  # fmt: skip


@pytest.mark.parametrize("given", [problem(5, 1000), problem(4, 1), problem(4, 257), problem(3, 1024, name=LARGE_MEAN)])
def test_statistics_of_parts_are_within_the_bound(given: Problem) -> None:
    assert judged(legal(**MERGED), given, from_parts).wrong == 0


@pytest.mark.parametrize("given", [problem(5, 1000), problem(4, 257)])
def test_a_part_that_counts_for_more_than_it_has_is_wrong(given: Problem) -> None:
    assert judged(legal(**MERGED), given, lambda plan, x: from_parts(plan, x, counted=False)).wrong > 0


@pytest.mark.parametrize("y", ["f16", "bf16"])
def test_two_units_in_the_last_place_are_wrong(y: str) -> None:
    plan = legal(x=y, y=y, columns=1024, warps_per_row=1, activation="identity", bias=None)
    assert judged(plan, problem(5, 1000), ulps=2).wrong > 4990  # but for a few beside a power of two


def one_pass(plan: Plan, x: dict[str, Any]) -> Any:
    """A variance as the mean square minus the squared mean, which cancels where the mean is large."""
    v = x["x"].astype(f32)
    inverse = f32(1) / f32(v.shape[1])
    mean = chained(v)[:, None] * inverse
    variance = chained(v * v)[:, None] * inverse - mean * mean
    return (v - mean) / np.sqrt(variance + f32(plan.kernel["eps"]))


def unbiased(plan: Plan, x: dict[str, Any]) -> Any:
    v = x["x"].astype(f32)
    n = f32(v.shape[1])
    v = v - chained(v)[:, None] / n
    return v / np.sqrt(chained(v * v)[:, None] / (n - 1) + f32(plan.kernel["eps"]))


def no_eps(plan: Plan, x: dict[str, Any]) -> Any:
    v = x["x"].astype(f32)
    v = v - chained(v)[:, None] / f32(v.shape[1])
    return v / np.sqrt(chained(v * v)[:, None] / f32(v.shape[1]))


def one_is_lost(plan: Plan, x: dict[str, Any]) -> Any:
    return kernel_s(plan, x, lambda v: chained(v[:, :-1]))


@pytest.mark.parametrize(
    ("wrong", "given", "least"),
    [
        (one_pass, problem(3, 1024, name=LARGE_MEAN), 300),
        (unbiased, problem(3, 1024), 3000),
        (no_eps, problem(3, 1024), 800),
        (one_is_lost, problem(3, 1024), 2000),
    ],
)
def test_what_is_a_little_wrong_shows_in_f32(wrong: Any, given: Problem, least: int) -> None:
    plan = legal(x="f32", y="f32", columns=1024, warps_per_row=1, weight=None, bias=None, activation="identity")
    assert judged(plan, given).wrong == 0
    assert judged(plan, given, wrong).wrong >= least


def test_what_is_not_finite_spoils_its_row_and_no_other() -> None:
    for norm in ("layer", "rms"):
        plan = legal(norm=norm, columns=1024, warps_per_row=1, bias=None, weight=None, activation="identity")
        given = problem(20, 300, "nonfinite")
        x = operands(plan, given)
        y = NORM.expected(XP, plan, given, x.__getitem__, fresh)["y"].values
        spoilt = [row for row in range(20) if not np.isfinite(x["x"][row]).all()]
        assert spoilt == [0, 1, 2, 17, 18, 19]
        assert np.isfinite(np.delete(y, spoilt, axis=0)).all()
        assert np.isnan(y[0]).all()
        for row in (1, 2):
            nans = np.isnan(y[row])
            assert nans.all() if norm == "layer" else (nans.sum() == 1 and (y[row][~nans] == 0).all())


def test_a_row_of_one_is_nothing_but_bias() -> None:
    plan = legal(columns=1024, warps_per_row=1, activation="identity")
    x = operands(plan, problem(3, 1))
    y = NORM.expected(XP, plan, problem(3, 1), x.__getitem__, fresh)["y"].values
    assert (y == x["bias"]).all()


def test_work_units_and_what_is_copied() -> None:
    plan = legal(y="f32", residual=True)
    work = NORM.work(plan, {"M": 10, "N": 100})
    assert (work.bytes, work.rate) == (10 * 100 * (2 + 2 + 4) + 100 * (2 + 2), "TB/s")
    assert [NORM.units(plan, problem(m, n)) for m, n in ((0, 5), (5, 0), (5, 1))] == [0, 0, 5]
    assert NORM.units(legal(specialise="none", persistent=False, groups=2), problem(5, 1)) == 3
    assert NORM.copied(plan, problem(3, 20)) == {"x": 3 * 16, "residual": 3 * 16}
    assert NORM.copied(legal(specialise="none"), problem(3, 20)) == {}


def test_large_problems_are_sampled_from_the_first_row_to_the_last() -> None:
    plan = legal()
    assert NORM.sample(plan, problem(1000, 4096)) is None
    sample = NORM.sample(plan, problem(2**19 + 3, 4096))
    assert sample
    assert (sample.mode, sample.indices[0], sample.indices[-1]) == ("M", 0, 2**19 + 2)
    assert list(sample.indices) == sorted(set(sample.indices))
    assert 1000 < len(sample.indices) < 3000


def test_problems_and_cases_are_named_once_and_are_what_their_names_say() -> None:
    for plan in (legal(), legal(specialise="none", access_bytes=2, columns=1024), legal(specialise="preprocess")):
        problems = NORM.problems(plan)
        assert len({p.name for p in problems}) == len(problems)
        n = {p.name: (p.extents["M"], p.extents["N"]) for p in problems}
        columns = plan.design.columns
        assert n["no_rows"][0] == n["no_columns"][1] == 0
        assert n["tail"][1] == columns - 1
        assert n["beyond_2_31"][0] * columns > 2**31
        assert all(plan.exceeded(p.extents) is None for p in problems)
        cases = NORM.cases(plan)
        assert len({case.problem.name for case in cases}) == len(cases)
        assert all(plan.exceeded(case.problem.extents) is None for case in cases)
        (far,) = (case for case in cases if case.problem.name == "distant")
        assert far.problem.extents["M"] * far.problem.extents["N"] > 2**31
        huge = [plan.exceeded(case.problem.extents) for case in NORM.huge(plan)]
        assert None in huge
        assert any(huge)


def test_the_share_of_a_cta_is_every_so_many_th_row() -> None:
    def rows(plan: Plan, m: int, limit: int, *only: int) -> list[int]:
        return [part["M"].start for part in NORM.share(plan, problem(m, 5), limit, only)]

    assert rows(legal(), 7, 3, 1) == [1, 4]
    assert rows(legal(), 2, 3, 0, 1) == [0, 1]
    once = legal(specialise="none", persistent=False, groups=2)
    assert rows(once, 7, 1, 0, 3) == [0, 4, 3]  # four CTAs, whatever the limit


@pytest.mark.parametrize("design", SMALL)
@pytest.mark.parametrize("m", [1, 5, 6, 7, 13, 40])
def test_the_ctas_of_a_launch_share_all_rows_once(design: str, m: int) -> None:
    plan, rows = legal(**SMALL[design]), problem(m, 5)
    for limit in (1, 3, 132):
        (launched,) = NORM.launched(plan, rows, limit)
        count = launched.grid[0] // plan.design.ctas_per_row
        shares = [range(m)[part["M"]] for part in NORM.share(plan, rows, limit, range(count))]
        assert sorted(row for share in shares for row in share) == list(range(m))
        assert count == (min(m, limit) if plan.design.persistent else NORM.units(plan, rows))
        assert all(shares)
        step = plan.design.groups * plan.design.rows_per_group
        assert plan.design.persistent or count == -(-m // step)


def test_plans_of_one_function_have_one_peer() -> None:
    keys = {NORM.peer_key(legal(**c)) for c in ({}, {"specialise": "none"}, {"groups": 1, "stages": 4})}
    assert len(keys) == 1
    others = ({"norm": "rms"}, {"bias": None}, {"residual": True}, {"y": "f32"}, {"activation": "silu"}, {"eps": 1e-6})
    assert len(keys | {NORM.peer_key(legal(**c)) for c in others}) == 7


class Torch:
    """What the peers need of torch, written down: memory that copies, and a compiler, or none."""

    uint8 = "uint8"
    cuda = SimpleNamespace(synchronize=lambda: None)

    def __init__(self, compiles: bool) -> None:
        self.compiles, self.copied = compiles, list[int]()
        self.nn = SimpleNamespace(functional=SimpleNamespace(relu=None, silu=None, gelu=None))

    def zeros(self, size: int, dtype: str, device: str) -> Any:
        assert (dtype, device) == ("uint8", "cuda")
        return SimpleNamespace(size=size, copy_=lambda source: self.copied.append(source.size))

    def compile(self, function: Any, mode: str, dynamic: bool) -> Any:
        if not self.compiles:
            raise RuntimeError("no Triton")
        return lambda given: None


@pytest.mark.parametrize(
    ("compiles", "names"), [(True, ["torch.compile max-autotune", "plain copy"]), (False, ["plain copy"])]
)
@pytest.mark.parametrize(("changes", "each"), [({}, 2 + 2), ({"residual": True, "y": "f32"}, 2 + 2 + 4)])
def test_the_peers_are_torch_s_kernel_and_a_copy_of_as_many_bytes(
    compiles: bool, names: list[str], changes: dict[str, Any], each: int
) -> None:
    torch, plan = Torch(compiles), legal(weight=None, bias=None, **changes)
    found = NORM.peers(torch, plan, {"x": np.zeros((6, 40)), "y": np.zeros((6, 40))})
    assert [peer.name for peer in found] == names
    assert [peer.same for peer in found] == [name != "plain copy" for name in names]
    found[-1].launch()
    assert torch.copied == [6 * 40 * each // 2], "half of the bytes are read, half written"
