"""The ladder for sm_100a: rules, what each rung adds, and predicted times beside the published ones.

No Blackwell device has run these kernels.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.families.holding import check_buffers, check_constants, check_illegal, check_python, check_used
from tests.families.ladder.points import BLACKWELL, legal_blackwell, planned, point
from warpwright import pipeline, resources
from warpwright.archs import B200, SM100A
from warpwright.device.launch import resident_ctas
from warpwright.families import family, target
from warpwright.families.gemm.sm_100a import clocks
from warpwright.families.ladder.sm_100a.rungs import RUNGS
from warpwright.families.ladder.sm_100a.solution import as_gemm
from warpwright.families.ladder.sm_100a.timeline import timeline
from warpwright.plan import plan
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan
from warpwright.render import render
from warpwright.steps.difference import changed, difference

SIZE = {"M": 4096, "N": 4096, "K": 4096, "L": 1}
#: Below 4 there are no roles.
ONE_ROLE = (1, 2, 3)
OF_ROLES = (4, 5, 6)
HANDOVERS = {"loaded", "consumed", "accumulated", "drained"}


def predicted(rung: int, **extents: int) -> Prediction:
    return target("ladder", "sm_100a").predict(legal_blackwell(rung), {**SIZE, **extents})


# What a person writes ---------------------------------------------------------------------------------------


def test_the_shipped_file_has_every_rung_with_one_tile() -> None:
    exploration = pipeline.plan(str(resources.configs() / "ladder_sm100.yaml"), Path("out"))
    assert [variant.plan for variant in exploration.variants] == [legal_blackwell(rung) for rung in BLACKWELL]
    assert exploration.spec.bench["problems"] == [{"m": 4096, "n": 4096, "k": 4096, "l": 1}]


#: rule: (field, the rest of the point, legal value, illegal value, nearest as told)
CASES: list[tuple[str, str, dict[str, Any], int, int, str]] = [
    ("rung", "rung", {}, 6, 7, "6"),
    ("tile.m", "m", {"rung": 1}, 128, 64, "128"),
    ("tile.m", "m", {"rung": 6}, 128, 256, "128"),
    ("tile.n", "n", {"rung": 2}, 128, 160, "128"),
    ("tile.n", "n", {"rung": 5}, 32, 16, "32"),
    ("tile.k", "k", {"rung": 1}, 64, 128, "64"),
    ("tile.k", "k", {"rung": 6}, 32, 16, "32"),
    ("stages", "stages", {"rung": 3}, 1, 2, "auto"),
    ("stages", "stages", {"rung": 4}, 2, 1, "2"),
    ("shared_memory", "stages", {"rung": 4}, 6, 7, "6"),
    ("shared_memory", "stages", {"rung": 6}, 4, 5, "4"),
]


def broken(**given: Any) -> dict[str, str]:
    return {violation.rule: violation.nearest for violation in planned(**given, arch="sm_100a").violations}


@pytest.mark.parametrize(("rule", "field", "rest", "good", "bad", "nearest"), CASES)
def test_a_rule_at_its_boundary(rule: str, field: str, rest: dict[str, Any], good: int, bad: int, nearest: str) -> None:
    assert broken(**rest, **{field: good}) == {}
    assert broken(**rest, **{field: bad})[rule] == nearest
    assert rule not in broken(**rest, **{field: nearest if nearest == "auto" else int(nearest)})


def test_every_rule_has_a_case() -> None:
    assert [rule.id for rule in target("ladder", "sm_100a").rules] == list(dict.fromkeys(case[0] for case in CASES))


@pytest.mark.parametrize("rung", OF_ROLES)
def test_what_the_ladder_allows_is_a_legal_gemm(rung: int) -> None:
    for n in (32, 64, 96, 128):
        for k in (32, 64):
            for stages in ("auto", 2):
                assert legal_blackwell(rung, n=n, k=k, stages=stages).main.threads
                same = plan(as_gemm(point(rung, n=n, k=k, stages=stages, arch="sm_100a")))
                # Of CTAs that share an SM there is none here.
                assert {violation.rule for violation in same.violations} <= {"tensor_memory.residents"}


anything = st.fixed_dictionaries(
    {
        "rung": st.integers(1, 9),
        "m": st.sampled_from((32, 64, 128, 256)),
        "n": st.sampled_from((8, 32, 64, 96, 128, 256)),
        "k": st.sampled_from((16, 32, 64, 128)),
        "dtype": st.sampled_from(("f16", "bf16")),
        "stages": st.just("auto") | st.integers(1, 20),
    }
)


@settings(max_examples=100, deadline=None)
@given(anything)
def test_a_plan_is_legal_in_every_respect_or_says_why_not(choices: dict[str, Any]) -> None:
    found = planned(**choices, arch="sm_100a")
    assert found == planned(**choices, arch="sm_100a")
    if not found.legal:
        check_illegal(found, {"M": 1, "N": 1, "K": 1, "L": 1})
        return
    kernel = found.main
    end = check_buffers(replace(kernel, buffers=tuple(b for b in kernel.buffers if b.space == "shared")))
    assert end <= kernel.shared_bytes < end + 1024
    assert kernel.shared_bytes <= SM100A.shared_bytes
    assert check_constants(found)["THREADS"] == kernel.threads


# What each rung is ------------------------------------------------------------------------------------------


def test_each_rung_has_what_it_adds_and_what_came_before() -> None:
    plans = {rung: legal_blackwell(rung) for rung in BLACKWELL}

    def since(rung: int, has: Any) -> bool:
        return [has(found) for found in plans.values()] == [r >= rung for r in BLACKWELL]

    assert since(2, lambda found: not found.design.one_cta)
    assert since(3, lambda found: any(c.direction == "load" for c in found.main.copies))
    assert since(4, lambda found: any(role.name == "producer" for role in found.main.roles))
    assert since(4, lambda found: {b.name for b in found.main.barriers} >= HANDOVERS)
    assert since(5, lambda found: found.main.tensor_memory.ctas == found.main.cluster[0] == 2)
    assert since(6, lambda found: found.design.consumers == 2)
    # As published: stages, one accumulator for each consumer, tiles, tensor memory.
    assert [found.design.stages for found in plans.values()] == [1, 1, 1, 2, 4, 4]
    assert {found.design.accumulator_stages for found in plans.values()} == {1}
    tiles = [(d.tile_m, d.tile_n) for d in (found.design for found in plans.values())]
    assert tiles == [(128, 128)] * 4 + [(128, 256), (256, 256)]
    assert [found.main.tensor_memory.columns for found in plans.values()] == [128] * 4 + [256, 512]
    # What a CTA loads for one MMA is the same on all, and so is how they are called.
    loaded = {(c.tensor, c.box[1]) for found in plans.values() for c in found.main.copies if c.direction == "load"}
    assert loaded == {("a", 128), ("b", 128), ("a", 256)}
    assert len({found.arguments[:4] for found in plans.values()}) == 1
    steps = [family("ladder").step(found) for found in plans.values()]
    assert len({step.adds for step in steps if step}) == 6


@pytest.mark.parametrize("rung", BLACKWELL)
@pytest.mark.parametrize("tile", [(128, 64), (32, 32)])
def test_a_cta_has_its_sm_to_itself(rung: int, tile: tuple[int, int]) -> None:
    """Else its neighbours would hide what the next rung is to hide."""
    n, k = tile
    assert resident_ctas(legal_blackwell(rung, n=n, k=k).main, SM100A) == 1


def test_no_gpu_evidence_is_claimed() -> None:
    """Each step says that none has been run, and whose time stands beside its own."""
    for rung in BLACKWELL:
        step = family("ladder").step(legal_blackwell(rung))
        assert step is not None
        assert step.published is not None
        assert "No Blackwell device" in step.untried
        assert "no Blackwell device" in " ".join(predicted(rung).notes)


# Times ------------------------------------------------------------------------------------------------------


def test_published_times_are_met_in_order() -> None:
    """From the third rung on within 25 %; of the first two the published kernels do something else."""
    times = [predicted(rung).seconds for rung in BLACKWELL]
    assert times == sorted(times, reverse=True)
    published = [rung.seconds for rung in RUNGS]
    assert published == sorted(published, reverse=True)
    errors = [time / theirs - 1 for time, theirs in zip(times[2:], published[2:], strict=True)]
    assert max(map(abs, errors)) < 0.25, errors


@pytest.mark.parametrize("rung", BLACKWELL)
def test_the_timeline_takes_as_long_as_is_predicted(rung: int) -> None:
    """A further tile of 64 steps, within 5 %: a producer that runs ahead of an epilogue gains some of it."""
    found = legal_blackwell(rung)
    of_a_tile = predicted(rung).clocks
    ends = [max(s.end for s in timeline(found, tiles, 64) if s.kind == "compute") for tiles in (4, 6)]
    expected = 64 * of_a_tile["a step along K"] + of_a_tile["epilogue that nothing hides"]
    assert (ends[1] - ends[0]) / 2 == pytest.approx(expected, rel=0.05)


def test_a_rung_that_loads_while_it_computes_shows_it() -> None:
    """In turn nothing overlaps; from the fourth on, loads go on while tensor cores work."""
    for rung in BLACKWELL:
        spans = timeline(legal_blackwell(rung))
        computing = [s for s in spans if s.kind == "compute"]
        loading = [s for s in spans if s.kind == "load"]
        overlap = sum(max(0.0, min(a.end, b.end) - max(a.start, b.start)) for a in computing for b in loading)
        assert (overlap > 0) == (rung >= 4), rung


@pytest.mark.parametrize("rung", BLACKWELL)
def test_roles_have_phases_that_come_to_the_prediction(rung: int) -> None:
    phases = target("ladder", "sm_100a").phases
    assert phases is not None
    found = phases(legal_blackwell(rung), SIZE)
    assert (found is not None) == (rung in OF_ROLES)
    if found:
        assert found.overlapped(B200, found.stages, 1) == pytest.approx(predicted(rung).seconds)


def test_planted_rates_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model of the ladder rests on is the GEMM's."""
    before = predicted(3).seconds
    monkeypatch.setattr(clocks, "LOAD_LATENCY", 2 * clocks.LOAD_LATENCY)
    assert predicted(3).seconds > 1.2 * before


# Sources ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    tiles = [(n, k) for n in (32, 96, 128) for k in (32, 64)]
    both = ("f16", "bf16")
    return [legal_blackwell(rung, n=n, k=k, dtype=dtype) for rung in BLACKWELL for n, k in tiles for dtype in both]


def test_they_are_clean_python_as_the_formatter_leaves_it(plans: list[Plan], tmp_path: Path) -> None:
    check_python(plans, tmp_path)


def test_only_what_is_used_is_rendered(plans: list[Plan]) -> None:
    """And no more lines than a person reads, the header among them."""
    most = {1: 310, 2: 310, 3: 370, 4: 430, 5: 460, 6: 470}
    for found in plans:
        check_used(found, most[found.design.rung])


def test_neighbours_differ_by_what_the_next_one_adds() -> None:
    """Lines that differ; the step to TMA replaces loads, stores and the host's part, that to roles the body."""
    sources = {rung: render(legal_blackwell(rung)) for rung in BLACKWELL}
    lines = {rung: changed(difference(sources[rung - 1], sources[rung])) for rung in BLACKWELL if rung > 1}
    most = {2: 20, 3: 210, 4: 160, 5: 150, 6: 120}
    assert all(0 < lines[rung] <= most[rung] for rung in most), lines
    for rung, source in sources.items():
        assert f"Rung {rung} of 6: {RUNGS[rung - 1].adds}." in source


@pytest.mark.parametrize("rung", OF_ROLES)
def test_rungs_with_roles_are_the_gemm_s_own_kernels(rung: int) -> None:
    """But for what keeps a second CTA off the SM."""
    own = render(legal_blackwell(rung)).split('"""', 2)[2]
    same = render(plan(as_gemm(point(rung, arch="sm_100a")))).split('"""', 2)[2]
    kept = [line for line in own.splitlines() if "PADDING_BYTES" not in line]
    assert [line.replace(", Uint8", "") for line in kept] == same.splitlines()
