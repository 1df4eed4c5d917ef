"""Timelines of a bundle's variants: taken with a double in the place of its GPU, brought home, and refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.kit import ROOT, bundle
from tests.device.plans import make_folder
from tests.device.test_watch import one_round
from tests.emulate.plans import gemm_plan
from warpwright.bundle import import_results
from warpwright.device.marks import STAMPED, instrumented
from warpwright.device.opening import VARIANTS
from warpwright.device.variant import load_variant
from warpwright.diagnosis.hung import TWIN
from warpwright.diagnosis.perfetto import shortened
from warpwright.diagnosis.taken import QUIET
from warpwright.errors import UserError
from warpwright.plan.types import Plan
from warpwright.record import read_json
from warpwright.steps.measured import measured

pytestmark = pytest.mark.usefixtures("light")
NAME = "step-000000000000"


@pytest.fixture
def plan() -> Plan:
    return gemm_plan({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4})


def packed(plan: Plan, tmp_path: Path, with_twins: bool = True) -> Path:
    config = tmp_path / "out" / "demo"
    make_folder(config, plan, NAME)

    def twins(folders: Any, directory: Path) -> dict[str, str]:
        for name, twin in ((TWIN, instrumented(plan)), (QUIET, instrumented(plan, STAMPED))):
            make_folder(directory / VARIANTS / NAME, twin, name)
        return {}

    return bundle(config, twins=twins if with_twins else None).directory


def run(packed: Path, plan: Plan, only: str = "timeline", **how: bool) -> subprocess.CompletedProcess[str]:
    marks = one_round(plan).save(packed.parent / "marks.npz", **how)
    command = [sys.executable, str(packed / "run.py"), "--backend", "tests.device.doubles:MarkingBackend"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DOUBLE_MARKS": str(marks)}
    command += ["--only", only]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False, cwd=packed)


@pytest.fixture
def results(plan: Plan, tmp_path: Path) -> Path:
    directory = packed(plan, tmp_path)
    done = run(directory, plan)
    assert done.returncode == 0, done.stderr
    assert f"[1/1] {NAME}: timeline correct, the twin takes " in done.stdout
    return directory / "results.jsonl"


def test_what_was_taken_comes_home_and_says_what_it_was_obtained_with(
    results: Path, plan: Plan, tmp_path: Path
) -> None:
    found = import_results([results], tmp_path / "out")
    assert (found.merged, found.refused) == ([("demo", NAME, "timeline", "correct")], [])
    folder = tmp_path / "out" / "demo" / NAME
    stored = read_json(folder / "timeline.json")
    told, origin = measured(stored, NAME), load_variant(folder).origin
    assert {span.kind for span in told.spans} == {"load", "compute"}
    assert told.source == "measured on double, driver none, 16x16x16x1"
    own = {key: getattr(origin, key) for key in ("source_sha", "cubin_sha", "arch", "toolchain")}
    assert {key: told.obtained[key] for key in own} == own
    assert told.obtained["twin_sha"] == load_variant(results.parent / VARIANTS / NAME / QUIET).origin.source_sha
    assert told.obtained["gpu"]["gpu"] == "double"


def test_a_twin_that_is_wrong_gives_no_timeline(plan: Plan, tmp_path: Path) -> None:
    directory = packed(plan, tmp_path)
    assert run(directory, plan, wrong=True).returncode == 1
    found = import_results([directory / "results.jsonl"], tmp_path / "out")
    assert found.merged == []
    assert "no timeline (incorrect): its numbers are not right" in found.refused[0]
    assert not (tmp_path / "out" / "demo" / NAME / "timeline.json").exists()


def test_a_bundle_without_twins_says_how_it_gets_them(plan: Plan, tmp_path: Path) -> None:
    done = run(packed(plan, tmp_path, with_twins=False), plan)
    assert done.returncode == 2
    assert "`warpwright bundle ... --twins` packs them" in done.stderr


def test_a_bundle_without_a_contrast_says_how_it_gets_one(plan: Plan, tmp_path: Path) -> None:
    done = run(packed(plan, tmp_path, with_twins=False), plan, only="contrast")
    assert done.returncode == 2
    assert "`warpwright ladder --contrast --to DIR` packs both" in done.stderr


def test_an_older_one_gives_way_to_what_is_there(results: Path, tmp_path: Path) -> None:
    out, path = tmp_path / "out", tmp_path / "out" / "demo" / NAME / "timeline.json"
    for _ in range(2):  # the same again is taken
        assert import_results([results], out).refused == []
    there, new = path.read_bytes(), results.read_text()
    results.write_text(new.replace(json.loads(new.splitlines()[-1])["time"], "2026-01-01T00:00:00Z"))
    found = import_results([results], out)
    assert found.merged == []
    assert f"it is of 2026-01-01T00:00:00Z, and {path} is newer, of " in found.refused[0]
    assert path.read_bytes() == there
    path.write_text("{}")  # what is none gives way
    assert import_results([results], out).refused == []


#: One change each of a result, and what is said of it.
CHANGED: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda v: v.update(protocol=7), "protocol"),
    (lambda v: v.update(gpu={}), "gpu"),
    (lambda v: v.update(more=1), "more"),
    (lambda v: v.update(status="hang"), "what is correct has a trace"),
    (lambda v: v.update(time="2999-01-01T00:00:00Z"), "it is yet to come"),
    (lambda v: v.update(variant="../elsewhere"), "plain name of a folder"),
    (lambda v: v["trace"].update(traceEvents=[]), "nothing was loaded"),
    (lambda v: v["trace"]["otherData"].update(kernel="another"), "it is of another"),
    (lambda v: v["trace"]["otherData"].update(unit="1 us is one clock (measured on a B200)"), "otherData.unit"),
    (lambda v: v["trace"]["otherData"].update(obtained={}), "trace.otherData.obtained.protocol"),
    (lambda v: v["trace"]["otherData"]["obtained"].update(cubin_sha="1" * 64), "obtained.cubin_sha"),
    (lambda v: v["trace"]["otherData"]["obtained"].update(toolchain={}), "obtained.toolchain"),
    (lambda v: v["trace"]["otherData"]["obtained"].pop("twin_sha"), "obtained.twin_sha"),
]


def test_what_no_run_wrote_is_refused_as_a_whole_and_what_is_for_another_build_alone(
    results: Path, tmp_path: Path
) -> None:
    """Of one run: it takes seconds."""
    *before, last = results.read_text().splitlines()
    for change, said in CHANGED:
        value = json.loads(last)
        change(value)
        results.write_text("\n".join([*before, json.dumps(value)]) + "\n")
        with pytest.raises(UserError, match=said):
            import_results([results], tmp_path / "out")
    sha = load_variant(tmp_path / "out" / "demo" / NAME).origin.cubin_sha
    results.write_text("\n".join([*before, last.replace(sha, "0" * 64)]) + "\n")
    found = import_results([results], tmp_path / "out")
    assert found.merged == []
    assert "it is for cubin 000000000000" in found.refused[0]


def test_what_is_committed_is_a_stretch_around_the_first_store() -> None:
    """Of each role its first warp, without waits."""

    def span(kind: str, pid: int, tid: int, at: int) -> dict[str, Any]:
        return {"name": kind, "cat": kind, "ph": "X", "pid": pid, "tid": tid, "ts": at, "dur": 10, "args": {}}

    def head(pid: int, tid: int, title: str) -> dict[str, Any]:
        return {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": title}}

    heads = [head(3, 0, "ab stage 0"), *(head(2, warp, f"warp {warp}: consumer 0") for warp in (1, 0))]
    far = [span("load", 3, 0, at) for at in range(0, 1000, 100)]
    near = [span("compute", 2, warp, 500) for warp in (1, 0)] + [span("wait", 2, 0, 480), span("store", 2, 0, 510)]
    value = {"traceEvents": [*heads, *far, *near], "otherData": {"kernel": "it"}}
    found = shortened(value, 300)
    kept = [(e["cat"], e["tid"], e["ts"]) for e in found["traceEvents"] if e["ph"] == "X"]
    assert kept == [("load", 0, 400), ("load", 0, 500), ("load", 0, 600), ("compute", 0, 500), ("store", 0, 510)]
    assert [e["args"]["name"] for e in found["traceEvents"] if e["ph"] == "M"] == ["ab stage 0", "warp 0: consumer 0"]
    assert found["otherData"] == value["otherData"]
    assert shortened(found, 300) == found
    assert shortened({"traceEvents": [], "otherData": {}}) == {"traceEvents": [], "otherData": {}}
