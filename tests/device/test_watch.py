"""A twin in a watched child, with a double in the place of the device: what it wrote down comes back, hang or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder
from tests.diagnosis.written import Written, one_never_releases
from tests.emulate.plans import gemm_plan
from warpwright.device.lock import LOCKS_VARIABLE, holding
from warpwright.device.mapped import capsule
from warpwright.device.marks import STAMPED, STEPS, Note, cta_number, instrumented, peers
from warpwright.device.supervise import Outcome, Supervisor
from warpwright.device.watch import packed
from warpwright.diagnosis.measured import diagnose_measured, report_of
from warpwright.diagnosis.report import Report
from warpwright.plan.types import Plan

BACKEND = "tests.device.doubles:MarkingBackend"
SIZES = (("M", 130), ("N", 70), ("K", 40), ("L", 1))


@pytest.fixture
def plan() -> Plan:
    return gemm_plan({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4})


@pytest.fixture
def measure(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    folder = make_folder(tmp_path, instrumented(plan), "twin-0123456789ab")
    quiet = make_folder(tmp_path, instrumented(plan, STAMPED), "quiet-0123456789ab")
    plain = make_folder(tmp_path, plan, "plain-0123456789ab")

    def run(written: Written, limit: float = 0.3, timed: bool = True, **how: bool) -> Report:
        monkeypatch.setenv("DOUBLE_MARKS", str(written.save(tmp_path / "marks.npz", **how)))
        beside = {"quiet": quiet, "plain": plain} if timed else {}
        with Supervisor(BACKEND, paths=[ROOT], wait=0) as supervisor:
            return diagnose_measured(plan, "twin", folder, SIZES, supervisor, limit, **beside)[0]

    return run


def one_round(plan: Plan) -> Written:
    written = Written(plan)
    written.stamp(8, 0, AB_WAIT=0, AB_GOT=0, AB_DONE=0)
    for warp in range(8):
        written.stamp(warp, 0, AB_WAIT=0, AB_GOT=600, AB_DONE=1000, AB_RELEASED=1000)
    return written


def test_a_hang_is_read_while_it_hangs(plan: Plan, measure: Callable[..., Report]) -> None:
    report = measure(one_never_releases(plan, 4), hangs=True)
    assert (report.status, report.source) == ("hang", "measured")
    assert report.found == ("hang: problem 130x70x40x1: the launch of the twin has not ended after 0.3 s",)
    assert report.hang is not None
    assert report.hang.head.startswith(
        "producer (warp 8) waits for ab_empty[0], phase 0 (round 4, parity 0): consumer 1 (warps 4..7) has taken"
        " round 0 and not released it; consumer 0 (warps 0..3) has; planned: 2 arrivals a phase"
    )
    assert "(measured on double, driver none)" in next(report.lines())


def test_what_ends_is_compared_and_stamped(plan: Plan, measure: Callable[..., Report]) -> None:
    written = Written(plan)
    for n in range(4):
        written.stamp(8, n, AB_WAIT=0, AB_GOT=10, AB_DONE=20 + 300 * n)
        for warp in range(8):
            written.stamp(warp, n, AB_WAIT=900 * n, AB_GOT=900 * n + 500, AB_DONE=900 * n + 800)
            written.stamp(warp, n, AB_RELEASED=900 * n + 800)
    report = measure(written)
    assert (report.status, report.found) == ("ended", ())
    assert report.figures is not None
    assert (report.figures.rounds, report.figures.clocks) == (4, 3000)
    assert report.remarks[0].startswith("the twin takes ")
    assert ", the kernel " in report.remarks[0]
    assert measure(written, wrong=True).status == "wrong"


@pytest.mark.parametrize(
    ("seen", "held", "shared"),
    [
        ("0", None, ""),
        ("2,0", None, "2 other compute processes seen"),
        ("0,1", None, "1 other compute process seen"),
        ("0", True, "another process held the GPU for more than 0 s"),
        ("0", False, "another process held the GPU for more than 0 s"),  # a validation is a disturbance too
    ],
)
def test_what_others_on_the_gpu_disturbed_is_marked(
    plan: Plan,
    measure: Callable[..., Report],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seen: str,
    held: bool | None,
    shared: str,
) -> None:
    """As in `bench`: in the report, ahead of all figures, and in its data."""
    monkeypatch.setenv(LOCKS_VARIABLE, str(tmp_path))
    monkeypatch.setenv("DOUBLE_KEY", "GPU-double")
    monkeypatch.setenv("DOUBLE_OTHERS", seen)
    written = one_round(plan)
    with holding("GPU-double" if held is not None else "", bool(held), 0, print):
        report = measure(written)
    assert (report.status, report.shared, report.data()["shared"]) == ("ended", shared, shared)
    lines = list(report.lines())
    assert (f"shared GPU ({shared})" in lines[1]) == bool(shared)
    assert any("what follows is of the twin" in line for line in lines) == (not shared and (report.slowdown or 0) > 1.1)


def test_who_only_asks_where_warps_stand_shares_a_gpu(
    plan: Plan, measure: Callable[..., Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOCKS_VARIABLE, str(tmp_path))
    monkeypatch.setenv("DOUBLE_KEY", "GPU-double")
    with holding("GPU-double", False, 0, print):
        assert measure(one_round(plan), timed=False).shared == ""


@pytest.mark.parametrize(
    ("twin", "kernel", "slowdown", "told"),
    [
        (30.0, 20.0, 1.5, "the twin takes 30 us, the kernel 20: 1.50 x as long"),
        (19.0, 20.0, 0.95, "the twin takes 19 us, the kernel 20: 0.95 x as long"),
        (30.0, None, None, "the twin takes 30 us; beside the kernel's own time, that is what its marks cost"),
        (None, None, None, None),
    ],
)
def test_what_the_marks_cost(
    plan: Plan, twin: float | None, kernel: float | None, slowdown: float | None, told: str | None
) -> None:
    """The twin's time over the kernel's; where it is much longer, ahead of the figures."""
    written = one_round(plan)
    times = {"microseconds": twin, "plain_microseconds": kernel}
    marks = {"event": "marks", "notes": packed(written.marks.notes), "stamps": packed(written.marks.stamps)}
    events = [{**marks, "right": True, **{name: us for name, us in times.items() if us is not None}}]
    report, _ = report_of(plan, "it", "64", Outcome(events=events), {"gpu": "GPU"})
    assert report.slowdown == (None if slowdown is None else pytest.approx(slowdown))
    assert report.remarks == ((told,) if told else ())
    assert any("what follows is of the twin" in line for line in report.lines()) == (slowdown == 1.5)


@pytest.mark.parametrize("cluster", [(1, 1, 1), (2, 1, 1), (1, 4, 1), (2, 2, 1), (4, 2, 1)])
def test_ctas_of_a_cluster_have_numbers_behind_one_another(cluster: tuple[int, int, int]) -> None:
    """Clusters along x first, and in each of them its CTAs along x first."""
    i, j, _ = cluster
    across, down = 3 * i, 2 * j
    clusters = [(x, y) for y in range(0, down, j) for x in range(0, across, i)]
    ctas = [[(x + dx, y + dy) for dy in range(j) for dx in range(i)] for x, y in clusters]
    numbers = [[cta_number(cluster, across, *cta) for cta in own] for own in ctas]
    assert [number for own in numbers for number in own] == list(range(across * down))
    for own in numbers:
        assert [[number, *peers(cluster, number)] for number in own] == [
            [number, *(other for other in own if other != number)] for number in own
        ]


@pytest.mark.parametrize("turns", [1, 2, 5, 16, 128])
@pytest.mark.parametrize(("count", "stage", "parity"), [(0, 0, 0), (5, 63, 1), (2**31, 255, 1)])
def test_a_note_is_read_as_templates_write_it(plan: Plan, count: int, stage: int, parity: int, turns: int) -> None:
    """mark_here(count, stage, phase), whose phase has the turns beside the parity (templates/lib/marks.py.j2)."""
    written = Written(plan)
    phase = parity + 2 * (turns - 1)
    place = 3 * STEPS + written.marks.layout.steps["AB_GOT"]
    written.marks.notes[place] = (count + 1 << 16) | (phase << 8 | stage)
    assert written.marks.note(0, 3, "AB_GOT") == Note(count, stage, parity, turns)
    assert written.marks.note(0, 3, "AB_WAIT") is None
    assert written.marks.note(0, 2, "AB_GOT") is None


def test_host_memory_as_a_tensor() -> None:
    """The same capsule that torch is given, of host memory here, as numpy reads it."""
    words = np.arange(5, dtype=np.int64)

    class Shown:
        def __dlpack__(self, **_: object) -> object:
            return capsule(int(words.ctypes.data), 5, device_type=1)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    seen = np.from_dlpack(Shown())  # type: ignore[arg-type]
    words[3] = 70
    assert (seen.dtype, seen.tolist()) == (np.dtype(np.int64), [0, 1, 2, 70, 4])
