"""Timing against the CPU double: what a measurement holds, and that one bad contestant does not spoil the others."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.device.doubles import ROOT, HostBackend
from tests.device.plans import make_folder, make_plan
from warpwright.device import contest
from warpwright.device.bench import Timing, bench, summary
from warpwright.device.coverage import left_out
from warpwright.device.cuda_timer import CudaTimer
from warpwright.device.peers import samples_of
from warpwright.device.supervise import Supervisor
from warpwright.device.variant import load_variant
from warpwright.families import workload
from warpwright.plan.types import Limit

HOST = "tests.device.doubles:HostBackend"
SHORT = Timing(
    problems=[{"m": 32, "n": 24, "k": 16, "l": 1}], rounds=5, sustained_rounds=1, sustained_seconds=0.001, seed=3
)


def run(folders: list[Path], options: Timing = SHORT, silence: float = 20.0) -> list[dict]:
    with Supervisor(HOST, silence=silence, paths=[ROOT]) as supervisor:
        return list(bench([load_variant(f) for f in folders], supervisor, options))


def test_a_measurement_keeps_samples_and_compares_with_the_vendor_library(tmp_path: Path) -> None:
    plain = make_folder(tmp_path, name="plain-000000000000")
    fused = make_folder(tmp_path, make_plan(epilogue=("alpha", "relu")), name="fused-111111111111")
    other = make_folder(tmp_path, make_plan(d=("f32", "m")), name="other-222222222222")
    results = run([plain, fused, other])
    assert [r["variant"] for r in results] == [f.name for f in (plain, fused, other)]
    for result in results:
        assert result["status"] == "correct"
        assert len(result["samples"]["cold_us"]) == len(result["samples"]["peer_cold_us"]) == 5
        assert result["samples"]["sustained_us"]
        figures = result["figures"]
        assert figures["cold_us"]["p5"] <= figures["cold_us"]["median"] <= figures["cold_us"]["p95"]
        peer = figures["peer"]
        assert peer["name"] == "double"
        assert figures["clocks"] == [{"clocks_sm": 1980.0}], "read once a round, while a peer keeps the device busy"
        assert (figures["problem"]["m"], figures["problem"]["l"], figures["rate"]) == (32, 1, "TFLOP/s")
        seconds = figures["cold_us"]["median"] * 1e-6
        assert figures["speed"] == pytest.approx(2 * 32 * 24 * 16 / seconds / 1e12, rel=1e-3)
        assert peer["ratio"] == pytest.approx(peer["cold_us"]["median"] / figures["cold_us"]["median"], rel=1e-3)
        assert peer["tie"] == (abs(peer["ratio"] - 1) <= peer["noise"])
        # The copy does not do the same, and so is never the vendor's way, wherever it stands among the peers.
        (copy,) = figures["further_peers"]
        assert copy["name"] == "double copy"
        assert {name for name in result["samples"] if "peer2" in name} == set(samples_of(1))
        assert len(result["samples"]["peer2_cold_us"]) == len(result["samples"]["peer2_again_us"]) == 5
        assert copy["cold_us"] == summary(result["samples"]["peer2_cold_us"])
        assert copy["ratio"] == pytest.approx(copy["cold_us"]["median"] / figures["cold_us"]["median"], rel=1e-3)
    same_product = [result["samples"]["peer_cold_us"] for result in results]
    assert same_product[0] == same_product[1] != same_product[2]


def test_where_nobody_does_the_same_a_copy_is_no_vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOUBLE_VENDOR", "0")
    (result,) = run([make_folder(tmp_path)])
    assert "peer" not in result["figures"]
    assert [peer["name"] for peer in result["figures"]["further_peers"]] == ["double copy"]
    assert not {"peer_cold_us", "peer_again_us"} & set(result["samples"])


def test_only_the_same_product_is_timed_once_for_several() -> None:
    plans = [make_plan(), *(make_plan(**{name: ("f16", "m")}) for name in ("a", "d")), make_plan(b=("f16", "n"))]
    plans += [make_plan(**{name: ("bf16", major)}) for name, major in (("a", "k"), ("b", "k"), ("d", "n"))]
    gemm = workload("gemm")
    assert len({gemm.peer_key(plan) for plan in plans}) == len(plans)
    assert gemm.peer_key(make_plan(epilogue=("relu",), stages=4)) == gemm.peer_key(plans[0])


def test_operands_of_others_are_taken_only_where_they_are_alike(tmp_path: Path) -> None:
    """One contest of kernels that differ in one dtype or layout each: every one is called with what its plan says."""
    plans = [make_plan(), *(make_plan(**{name: ("f16", "m")}) for name in ("a", "d")), make_plan(b=("f16", "n"))]
    plans += [make_plan(**{name: ("bf16", major)}) for name, major in (("a", "k"), ("b", "k"), ("d", "n"))]
    folders = [make_folder(tmp_path, plan, name=f"one-{i:012d}") for i, plan in enumerate((*plans, plans[0]))]
    results = run(folders, replace(SHORT, rounds=1, sustained_rounds=0))
    assert [(result["status"], result["diagnosis"]) for result in results] == [("correct", "")] * len(folders)


def test_what_is_beyond_a_variant_s_limits_is_left_out(tmp_path: Path) -> None:
    long = make_folder(tmp_path, name="long-000000000000")
    short_plan = replace(make_plan(), limits=(Limit("columns", (("N", 1),), 24),))
    short = make_folder(tmp_path, short_plan, name="short-11111111111")
    wide = {"m": 32, "n": 25, "k": 16, "l": 1}
    results = run([long, short], replace(SHORT, problems=[*SHORT.problems, wide]))
    assert [(r["variant"], r["problem"]["n"], r["status"]) for r in results] == [
        (long.name, 24, "correct"),
        (short.name, 24, "correct"),
        (long.name, 25, "correct"),
    ]
    plans = [(folder.name, load_variant(folder).plan) for folder in (long, short)]
    assert left_out(plans, [*SHORT.problems, wide]) == [
        f"32x25x16x1 is beyond the limits of {short.name}, and left out (25 columns, at most 24)"
    ]
    assert run([short], replace(SHORT, problems=[wide])) == []


def test_every_round_has_an_order_of_its_own(tmp_path: Path) -> None:
    """Who comes behind whom must not always be the same; a seed gives the same orders again."""
    folders = [make_folder(tmp_path, name=f"one-{i:012d}") for i in range(3)]

    def orders(seed: int) -> list[list[str]]:
        request = {"folders": [str(f) for f in folders], "problem": SHORT.problems[0], "rounds": 6, "seed": seed}
        events: list[dict[str, Any]] = []
        assert contest.run_contest(HostBackend(), {**request, "sustained_rounds": 0}, events.append)
        beats = [[e["who"] for e in events if e.get("doing", "").startswith(f"round {n},")] for n in range(6)]
        return [round_[: len(round_) // 2] for round_ in beats]  # ahead of the launch, and of the wait for it

    found = orders(1)
    everyone = [folder.name for folder in folders]
    kind = workload("gemm").peer_key(make_plan())
    everyone += [contest.peer_contestant(kind, number, part) for number in range(2) for part in (1, 2)]
    assert all(sorted(order) == sorted(everyone) for order in found)
    assert len({tuple(order) for order in found}) > 3
    assert orders(1) == found != orders(2)


@pytest.mark.parametrize(("count", "who"), [(1, "no 0"), (2, "no 0 and 1 more"), (4, "no 0 and 3 more")])
def test_who_is_left_out_for_one_reason_is_counted(count: int, who: str) -> None:
    plans = {most: replace(make_plan(), limits=(Limit("columns", (("N", 1),), most),)) for most in (24, 16, 25)}
    named = [(f"no {number}", plans[24]) for number in range(count)]
    told = left_out([*named, ("fits", plans[25]), ("another", plans[16])], [{"m": 1, "n": 25, "k": 1, "l": 1}])
    assert told == [
        f"1x25x1x1 is beyond the limits of {who}, and left out (25 columns, at most 24)",
        "1x25x1x1 is beyond the limits of another, and left out (25 columns, at most 16)",
    ]


@pytest.mark.parametrize(
    ("fault", "status"), [("abort", "crash"), ("refuse", "launch_failed"), ("sticky", "crash"), ("hang", "hang")]
)
def test_a_contestant_that_fails_is_left_out(tmp_path: Path, fault: str, status: str) -> None:
    good = make_folder(tmp_path, name="good-000000000000")
    bad = make_folder(tmp_path, name="bad-111111111111", fault=fault)
    results = run([good, bad], silence=2.0 if fault == "hang" else 20.0)
    assert {r["variant"]: r["status"] for r in results} == {good.name: "correct", bad.name: status}


@pytest.mark.parametrize("sustained", [0, 1])
def test_the_silence_limit_is_about_one_launch(tmp_path: Path, sustained: int) -> None:
    # A round of eight takes 2.4 s and a stretch of three 0.9 s; one launch 0.3 s.
    folders = [make_folder(tmp_path, name=f"slow-{i:012d}", fault="slow") for i in range(8 - 7 * sustained)]
    results = run(folders, replace(SHORT, rounds=1, sustained_rounds=sustained), silence=0.75)
    assert [(r["status"], r["diagnosis"]) for r in results] == [("correct", "")] * len(folders)


def test_who_hangs_in_the_midst_of_a_round_is_named(tmp_path: Path) -> None:
    names = [f"good-{i:012d}" for i in range(3)]
    good = [make_folder(tmp_path, name=name) for name in names]
    bad = make_folder(tmp_path, name="bad-999999999999", fault="hang_late")
    results = run([bad, *good], silence=1.5)
    assert {r["variant"]: r["status"] for r in results} == {bad.name: "hang", **dict.fromkeys(names, "correct")}
    (diagnosis,) = [r["diagnosis"] for r in results if r["status"] == "hang"]
    assert diagnosis == f"no sign of life for 1.5 s: round 1, {bad.name}"


def test_a_peer_that_fails_is_nobody_s_hang(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    with Supervisor("tests.device.doubles:StuckPeerBackend", silence=1.5, paths=[ROOT]) as supervisor:
        (result,) = bench([load_variant(folder)], supervisor, SHORT)
    assert result["status"] == "not_run"
    assert "no sign of life for 1.5 s: warm-up 0, beside: " in result["diagnosis"]


@pytest.mark.parametrize(("seconds", "may"), [(2.5, 60), (600, 1.2)])
def test_a_peer_that_compiles_for_long_is_waited_for_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, may: float
) -> None:
    """Longer than the silence that is a hang; and one that never ends is nobody's hang."""
    monkeypatch.setenv("DOUBLE_COMPILES", str(seconds))
    monkeypatch.setenv("DOUBLE_MAY", str(may))
    told: list[str] = []
    backend = "tests.device.doubles:CompilingPeerBackend"
    with Supervisor(backend, silence=1.5, paths=[ROOT], notice=told.append) as supervisor:
        (result,) = bench([load_variant(make_folder(tmp_path))], supervisor, SHORT)
    assert told == ["what is timed beside is being compiled; that may take minutes"]
    if seconds < may:
        assert (result["status"], result["figures"]["peer"]["name"]) == ("correct", "double")
        return
    assert result["status"] == "not_run"
    assert "no sign of life for 1.5 s: preparing, beside: " in result["diagnosis"]
    assert "nothing of the variant runs then: allow for more" in result["diagnosis"]


class FakeTorch:
    """Of torch what the timer uses, with a clock that a launch moves by 1 ms. An event takes the time of its record."""

    int32 = "int32"

    def __init__(self) -> None:
        self.cuda, self.now, self.waits = self, 0.0, 0

    def empty(self, *_: object, **__: object) -> FakeTorch:
        return self

    def fill_(self, _: int) -> None:
        self.now += 50.0

    def _sleep(self, cycles: int) -> None:
        self.now += 70.0

    def launch(self) -> None:
        self.now += 1.0

    def Event(self, enable_timing: bool) -> SimpleNamespace:  # noqa: N802
        event = SimpleNamespace(at=None)
        event.record = lambda: setattr(event, "at", self.now)
        event.synchronize = lambda: setattr(self, "waits", self.waits + 1)
        event.elapsed_time = lambda other: other.at - event.at
        return event


def test_the_timer_waits_for_parts_and_gives_the_mean_of_the_whole() -> None:
    torch = FakeTorch()
    timer, waited = CudaTimer(torch), []
    timer.cold(torch.launch)
    for count in (3, 9, 1000):
        timer.sustained(torch.launch, count)
    assert timer.collect(waited.append) == [1000.0] * 4
    # Long launches, of which there are few, are each waited for; of many short ones sixteen parts.
    assert [waited.count(index) for index in range(4)] == [1, 3, 9, 16]
    assert torch.waits == len(waited)
    assert timer.collect(waited.append) == []


class CountingTimer:
    """Each launch takes so many microseconds, whatever it is; keeps how many were back to back."""

    def __init__(self, microseconds: float) -> None:
        self.microseconds, self.counts = microseconds, list[int]()
        self.pending = 0

    def sustained(self, launch: object, count: int) -> None:
        self.counts.append(count)
        self.pending += 1

    def collect(self, waiting: object) -> list[float]:
        pending, self.pending = self.pending, 0
        return [self.microseconds] * pending


@pytest.mark.parametrize(
    ("microseconds", "counts"),
    [
        (49.0, []),  # the host would not keep up
        (50.0, [4000, 4000]),
        (250.0, [800, 800]),
        (150_000.0, [3, 3]),  # three at least
    ],
)
def test_back_to_back_launches_take_the_time_that_is_asked_for(microseconds: float, counts: list[int]) -> None:
    """0.2 s a round, counted by the median of the cold launches; two rounds."""
    cold = [microseconds / 2, microseconds, 9 * microseconds]
    contestant = contest._Contestant("mine", lambda: None, cold, [])
    timer: Any = CountingTimer(microseconds)
    request = {"sustained_rounds": 2, "sustained_seconds": 0.2}
    nobody: Any = None
    clocks = contest._sustain(nobody, request, [contestant], random.Random(1), timer, lambda name, doing: None)
    assert (timer.counts, contestant.sustained_us, clocks) == (counts, [microseconds] * len(counts), [])


def test_summary_gives_median_and_percentiles() -> None:
    assert summary([*range(1, 102)]) == {"median": 51.0, "p5": 6.0, "p95": 96.0, "p99": 100.0}
