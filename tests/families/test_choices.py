"""What `advise` would take of each committed sweep, by prediction alone, beside what was measured to be the fastest.

A choice is good where it took 3 % longer than the fastest of the same run at most. docs/advise.md has these numbers.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.families.copy.test_timings import from_label as copy_from_label
from tests.families.gemm.test_timings import from_label as gemm_from_label
from tests.families.timings import LEDGER
from warpwright import pipeline, resources
from warpwright.canonical import canonical_json, plain
from warpwright.families.copy.sm_90a import prediction as of_copy
from warpwright.families.gemm.sm_90a import prediction as of_gemm
from warpwright.plan.advice import Advice, advise
from warpwright.plan.choosing import choose
from warpwright.plan.phases import Phases
from warpwright.plan.prediction import extents_of
from warpwright.plan.types import Plan

#: As they stand; a run that is added moves none of them. Runs of a ledger of its own are measured anew now and then.
FILES = (
    *("quickstart-a20f9a94", "quickstart-a66dd888", "quickstart-a9c0fea9"),
    *("gemm_sm90-06f673b9", "gemm_sm90-0c5bd1b7", "gemm_sm90-db915290", "fused"),
    *("copy_sm90-029aef16", "copy_sm90-331a91ad", "copy_explored-1", "copy_explored-2"),
)
DEPTH = ("stages",)
WARPS = (
    *DEPTH,
    "consumer_warps",
    "producer_warps",
    "consumers",
    "schedule",
    "producer_registers",
    "consumer_registers",
)


@dataclass(frozen=True)
class Sweep:
    """Plans of one kernel that were timed in one run on one problem: microseconds by label."""

    file: str
    problem: str
    times: Mapping[str, float]

    def part(self, label: str) -> float:
        """A plan's time over the fastest one."""
        return self.times[label] / min(self.times.values())


@functools.cache
def shipped() -> dict[str, Plan]:
    configs = ("quickstart", "gemm_sm90", "copy_sm90")
    return {each.plan.label: each.plan for name in configs for each in pipeline.plan(name, Path("out")).variants}


@functools.cache
def plan_of(label: str) -> Plan:
    """The plan of a label; what of a chain the prediction does not see is left out."""
    if label in shipped():
        return shipped()[label]
    return (copy_from_label if re.search(r"-\d+k-", label) else gemm_from_label)(label)


@functools.cache
def measured() -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """Microseconds by run, problem and kernel, and by label."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for file in FILES:
        for text in (LEDGER / "raw" / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
            result = json.loads(text)
            if result.get("method") != "benchmarked":
                continue
            label = result["variant"].rsplit("-", 1)[0]
            chain = "-".join(label.split("-")[6:]) if file == "fused" else ""
            kernel = canonical_json(plan_of(label).kernel) + chain
            problem = json.dumps(result["problem"], sort_keys=True)
            times = found.setdefault((file, problem, kernel), {}).setdefault(label, [])
            times.append(result["figures"]["cold_us"]["median"])
    return found


def sweeps(free: tuple[str, ...] | None) -> Iterator[Sweep]:
    """Sets of two plans or more that differ in the fields `free` of their design alone (None: in any)."""
    for (file, problem, _), times in measured().items():
        sets: dict[str, dict[str, float]] = {}
        for label, each in times.items():
            design = plain(plan_of(label).design)
            rest = "" if free is None else canonical_json({k: v for k, v in design.items() if k not in free})
            sets.setdefault(rest, {})[label] = statistics.median(each)
        yield from (Sweep(file, problem, found) for found in sets.values() if len(found) > 1)


@functools.cache
def advice(label: str, problem: str) -> Advice:
    return replace(advise(plan_of(label), extents_of(json.loads(problem))), label=label)


def chosen(sweep: Sweep) -> str:
    return choose([advice(label, sweep.problem) for label in sweep.times]).label


def score(free: tuple[str, ...] | None) -> tuple[int, int, int]:
    """How many sweeps there are, of how many the fastest is chosen, and of how many one within 3 % of it."""
    parts = [sweep.part(chosen(sweep)) for sweep in sweeps(free)]
    return len(parts), sum(part == 1 for part in parts), sum(part <= 1.03 for part in parts)


def by_chance(free: tuple[str, ...] | None) -> int:
    """Of how many sweeps a point within 3 % is chosen, on average, by who chooses at random."""
    return round(sum(statistics.mean(s.part(label) <= 1.03 for label in s.times) for s in sweeps(free)))


def depths() -> tuple[int, int, int, int]:
    """Rings: in how many the depth that is asked for is among those timed, or a larger one is; in how many of them the
    least of these is within 3 % of the fastest. And how many shallower ones were timed beside them, and were slower."""
    rings = enough = shallower = slower = 0
    for sweep in sweeps(DEPTH):
        times = {plan_of(label).design.stages: time for label, time in sweep.times.items()}
        needed = max(advice(label, sweep.problem).needed_stages or 99 for label in sweep.times)
        if max(times) < needed:
            continue
        rings += 1
        enough += times[min(depth for depth in times if depth >= needed)] <= 1.03 * min(times.values())
        few = [time for depth, time in times.items() if depth < needed]
        shallower += len(few)
        slower += sum(time > 1.03 * min(times.values()) for time in few)
    return rings, enough, shallower, slower


@pytest.fixture
def anew() -> Iterator[None]:
    """Advice of a planted fault is for one test."""
    advice.cache_clear()
    yield
    advice.cache_clear()


def test_how_often_the_best_point_is_chosen() -> None:
    assert {name: score(free) for name, free in SWEPT.items()} == CHOSEN


def test_the_page_has_these_numbers() -> None:
    page = (resources.checkout() or Path()) / "docs" / "advise.md"
    rows = re.findall(
        r"^\| .+? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    due = [(*CHOSEN[name], by_chance(free)) for name, free in SWEPT.items()]
    assert [tuple(map(int, row)) for row in rows] == due
    rings, enough, shallower, slower = DEPTHS
    told = " ".join(page.read_text(encoding="utf-8").split())
    assert f"was enough in {enough} of {rings} sweeps" in told
    assert f"of {shallower} shallower rings beside these {slower} were slower" in told


def test_how_often_the_depth_that_is_asked_for_is_enough_and_less_is_not() -> None:
    assert depths() == DEPTHS


def test_where_no_choice_is_good_it_is_known_why() -> None:
    bad = {(sweep.file, chosen(sweep)) for sweep in sweeps(None) if sweep.part(chosen(sweep)) > 1.03}
    assert {label.split("-c")[1][:3] for file, label in bad if file.startswith("gemm")} == {"1x4"}
    assert all(file.startswith("gemm") or "gelu" in label for file, label in bad), bad


def test_a_copy_is_as_fast_without_specialised_warps_as_is_advised() -> None:
    """The device's own copy has none. Casts are left out: what the vendor does for them is no copy of the like."""
    ratios = []
    for text in (LEDGER / "raw" / "copy_sm90-331a91ad.jsonl").read_text(encoding="utf-8").splitlines():
        result = json.loads(text)
        label = str(result.get("variant", "")).rsplit("-", 1)[0]
        if result.get("method") != "benchmarked" or "." in label.split("-")[0]:
            continue
        assert advice(label, json.dumps(result["problem"], sort_keys=True)).worth is False
        ratios.append(result["figures"]["peer"]["ratio"])
    assert len(ratios) == 26
    assert max(ratios) < 1  # of our copies over the device's


@pytest.mark.usefixtures("anew")
def test_a_latency_that_is_a_tenth_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (of_copy, of_gemm):
        monkeypatch.setattr(module, "LOAD_LATENCY", module.LOAD_LATENCY / 10)
    rings, enough, shallower, _ = depths()
    assert enough < 0.8 * rings  # of 0.89 else
    assert shallower < DEPTHS[2] / 2
    assert score(CTAS)[2] < CHOSEN["CTAs per SM"][2]


@pytest.mark.usefixtures("anew")
def test_residency_that_is_ignored_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Phases.waiting
    monkeypatch.setattr(Phases, "waiting", lambda self, stages, resident: right(self, stages, 1))
    assert score(None)[2] < CHOSEN["whole sweep"][2]
    assert score(CTAS)[2] < CHOSEN["CTAs per SM"][2] - 5
    needed = Phases.needed
    monkeypatch.setattr(Phases, "needed", lambda self, device, resident: needed(self, device, 1))
    advice.cache_clear()
    assert depths()[0] < DEPTHS[0] / 2  # such depths were not even timed


CTAS = ("ctas_per_sm",)
SWEPT = {"whole sweep": None, "depth": DEPTH, "CTAs per SM": CTAS, "warps": WARPS}
#: Sweeps, of which the fastest was chosen, and one within 3 % of it.
CHOSEN = {"whole sweep": (40, 23, 36), "depth": (66, 41, 63), "CTAs per SM": (64, 41, 61), "warps": (71, 43, 69)}
DEPTHS = (64, 57, 22, 16)
