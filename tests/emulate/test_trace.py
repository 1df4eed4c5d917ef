"""The timeline: roles and stages as tracks, nothing overlapping on any, places named as in the plan."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.emulate.plans import cluster_plan
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.trace import chrome_trace, write_trace
from warpwright.plan.types import Plan


@pytest.fixture
def plan() -> Plan:
    return cluster_plan()


def event(kind: str, warp: int, start: int, end: int, **facts: Any) -> dict[str, Any]:
    return {"kind": kind, "warp": warp, "cta": (0, 0, 0), "start": start, "end": end, "line": 3, **facts}


def tracks(trace: dict[str, Any]) -> dict[str, list[tuple[str, int, int]]]:
    """(name, start, end) of the slices of each track, in order."""
    events = trace["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found: dict[str, list[tuple[str, int, int]]] = {name: [] for name in names.values()}
    for e in events:
        if e["ph"] == "X":
            found[names[e["pid"], e["tid"]]].append((e["name"], e["ts"], e["ts"] + e["dur"]))
    return found


def test_roles_and_stages_are_tracks(plan: Plan) -> None:
    timeline = [
        event("load", 8, 10, 900, offset=RESERVED + 16384, coordinates=(64, 0, 0), parameter=0),
        event("wait", 4, 5, 900, what="mbarrier", offset=RESERVED + 212992 + 8, phase=0),
        event("wait", 4, 950, 960, what="wgmma"),
        event("wait", 4, 970, 980, what="named", barrier=2),
        event("mma", 4, 900, 1400, wgmmas=4),
    ]
    trace = chrome_trace(plan, timeline, [0, 2, 4])
    assert tracks(trace) == {
        "warp 4: consumer 1": [("wait ab_full[1]", 5, 900), ("wait wgmma", 950, 960), ("wait epilogue 2", 970, 980)],
        "warp 8: producer": [("issue load a", 10, 11)],
        "consumer 1": [("mma", 900, 1400)],
        "a stage 1": [("load a", 10, 900)],
    }
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert {e["args"]["PTX line"] for e in slices} == {3}


def test_slices_of_a_track_do_not_overlap(plan: Plan) -> None:
    stores = [
        event("store", 0, start, start + 800, offset=RESERVED + 196608, coordinates=(0, 0, 0), parameter=4)
        for start in (100, 300, 1500)
    ]
    found = tracks(chrome_trace(plan, stores, [0, 2, 4]))
    assert found["d stage 0"] == [("store d", 100, 300), ("store d", 300, 1100), ("store d", 1500, 2300)]


def test_stages_are_in_the_order_of_their_numbers(plan: Plan) -> None:
    loads = [
        event("load", 8, stage, stage + 1, offset=RESERVED + 16384 * (stage % 6), coordinates=(0,), parameter=0)
        for stage in (5, 3, 10)
    ]
    events = chrome_trace(plan, loads, [0, 2, 4])["traceEvents"]
    stages = [e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 3]
    assert stages == ["a stage 3", "a stage 4", "a stage 5"]


def test_a_kernel_gives_every_kind_of_event(cooperative: Path, tmp_path: Path) -> None:
    traced = write_trace(harness.load(cooperative), tmp_path / "trace.json")
    assert (traced.case, traced.verdict.status) == ("tiles", "correct")
    assert all(traced.events[kind] for kind in ("wait", "load", "mma", "store"))
    found = tracks(json.loads((tmp_path / "trace.json").read_text()))
    assert {"warp 0: consumer 0", "warp 4: producer", "consumer 0", "a stage 0", "b stage 2", "d stage 0"} <= set(found)
    assert max(map(len, found.values())) > 3
    for slices in found.values():
        assert all(before[2] <= after[1] for before, after in pairwise(slices))
