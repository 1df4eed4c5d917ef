"""Built rungs of one role on the emulator: right ones pass every case, and what is taken out of them is missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.emulate.planting import Planter, cases
from tests.families.ladder.points import legal
from warpwright.device.problem import Case
from warpwright.emulate.variant import harness
from warpwright.families.products.problems import multiplication

pytestmark = pytest.mark.slow


def test_a_right_kernel_is_correct(built: Path) -> None:
    verdict = harness.emulate(harness.load(built))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    assert 0 < verdict.figures["ratio"] <= 1
    guards = {f"guards_{at}" for at in range(8)}
    assert guards <= set(verdict.figures["problems"]) or "tma" in built.name or "ring" in built.name


@pytest.mark.parametrize(
    ("right", "wrong", "case"),
    [
        ("columns >= tile.shape[1]:", "columns >= tile.shape[1] - 1:", "short"),
        ("rows >= tile.shape[0] and", "rows >= tile.shape[0] - 1 and", "batch"),
    ],
)
def test_a_tile_that_is_just_not_whole(plant: Planter, right: str, wrong: str, case: str) -> None:
    assert case in cases(plant, legal(2, 64, 32, 32), (right, wrong))


def test_no_warp_misses_a_phase_of_the_buffer(small_kernels: Callable[[str], Mapping[str, Path]]) -> None:
    """Were all warps of Blackwell's third rung to wait for each step, one would lag by two phases in this schedule."""
    subject = harness.load(small_kernels("ladder")["blackwell_tma"])
    problem = multiplication("random_220", 184, 31, 192, fill="normal", padding=5)
    prepared = subject.prepare(Case(problem, 4, 1, (933,)))
    (outcome,) = subject.outcomes(prepared, subject.module)
    assert outcome.complete
    assert [*outcome.findings, *prepared.differences] == []


#: Faults in the source of the ring: edits, and what the emulator says of them.
PLANTED = {
    "MMAs that still read": ((("warpgroup.wait_group(1)", "warpgroup.wait_group(2)"),), "race"),
    "one stage too early": (
        (
            ("cutlass.min(STAGES - 1, k_tiles)", "cutlass.min(STAGES, k_tiles)"),
            ("ahead = k_tile + STAGES - 1", "ahead = k_tile + STAGES"),
        ),
        "race",
    ),
    "MMAs in flight at the end": ((("\n    warpgroup.wait_group(0)\n", "\n"),), "wgmma-registers"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(plant: Planter, name: str) -> None:
    edits, said = PLANTED[name]
    assert said in plant.planted(legal(4, 64, 32, 32, stages=3), *edits).diagnosis
