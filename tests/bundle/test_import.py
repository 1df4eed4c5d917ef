"""What an import accepts, what it refuses and why, and that nothing recorded is ever lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.device.plans import make_folder
from warpwright.bundle import import_results
from warpwright.errors import UserError
from warpwright.record import Folder, judge, read_json, write_json

NAME = "double-0123456789ab"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "out" / "demo", name=NAME)


def result(folder: Path, status: str = "correct", **changes: Any) -> dict[str, Any]:
    build = json.loads((folder / "build.json").read_text())
    return {
        **{key: build[key] for key in ("source_sha", "cubin_sha", "arch", "toolchain")},
        "config": "demo",
        "variant": NAME,
        "library_sha": "0" * 64,
        "method": "gpu-validated",
        "protocol": 1,
        "status": status,
        "diagnosis": "" if status == "correct" else "it was seen to fail",
        "figures": {"ratio": 0.5},
        "gpu": {"gpu": "NVIDIA H200"},
        "time": "2026-11-29T12:00:00Z",
        **changes,
    }


def bring(folder: Path, *results: Any):
    path = folder.parents[2] / "results.jsonl"
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in results))
    return import_results(path, folder.parents[1])


def recorded(folder: Path, name: str = "gpu.json") -> dict[str, Any]:
    return json.loads((folder / name).read_text())


def test_a_result_becomes_evidence_that_the_record_reads(folder: Path) -> None:
    assert bring(folder, {"kind": "header"}, result(folder)).merged == [("demo", NAME, "gpu-validated", "correct")]
    (evidence,) = [e for e in Folder(folder).evidence() if e.method == "gpu-validated"]
    assert evidence.status == "correct"
    assert evidence.figures["ratio"] == 0.5
    assert evidence.gpu == {"gpu": "NVIDIA H200"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"source_sha": "ffffffffffffff"}, "it is for source ffffffffffff, the local build has"),
        ({"cubin_sha": "ffffffffffffff"}, "it is for cubin ffffffffffff, the local build has"),
        ({"variant": "gone-0123456789ab"}, "there is no build of it"),
        ({"variant": "../escape"}, "must be plain folder names"),
        ({"method": "guessed"}, "method 'guessed' is not known"),
        ({"status": "not_run", "diagnosis": "no torch"}, r"no verdict (not_run): no torch"),
    ],
)
def test_refusals_say_why_and_change_nothing(folder: Path, changes: dict[str, Any], why: str) -> None:
    imported = bring(folder, result(folder, **changes))
    assert imported.merged == []
    assert len(imported.refused) == 1
    assert why in imported.refused[0]
    assert not (folder / "gpu.json").exists()


def test_a_line_cut_off_by_a_kill_costs_only_itself(folder: Path) -> None:
    imported = bring(folder, json.dumps(result(folder))[:100], result(folder))
    assert len(imported.merged) == 1
    assert "results.jsonl:1: not a result (cut off?)" in imported.refused[0]


def test_importing_twice_changes_nothing(folder: Path) -> None:
    bring(folder, result(folder))
    before = (folder / "gpu.json").read_bytes()
    bring(folder, result(folder), result(folder))
    assert (folder / "gpu.json").read_bytes() == before


def test_the_worst_verdict_for_the_present_source_counts_and_every_run_is_kept(folder: Path) -> None:
    bring(folder, result(folder, "incorrect", time="2026-11-29T10:00:00Z"))
    bring(folder, result(folder, "correct", time="2026-11-29T11:00:00Z"))
    assert recorded(folder)["status"] == "incorrect"
    assert [run["status"] for run in recorded(folder)["runs"]] == ["incorrect", "correct"]
    bring(folder, result(folder, "hang", time="2026-11-29T09:00:00Z"))
    assert recorded(folder)["status"] == "hang"
    assert len(recorded(folder)["runs"]) == 3


def test_a_new_source_or_a_new_protocol_overcomes_old_verdicts(folder: Path) -> None:
    bring(folder, result(folder, "incorrect"))
    bring(folder, result(folder, "correct", protocol=2))
    assert recorded(folder)["status"] == "correct"
    build = read_json(folder / "build.json") or {}
    write_json(folder / "build.json", {**build, "source_sha": "a" * 64})
    bring(folder, result(folder, "correct", time="2026-11-30T00:00:00Z"))
    assert recorded(folder)["source_sha"] == "a" * 64
    assert recorded(folder)["status"] == "correct"
    assert len(recorded(folder)["runs"]) == 3


@pytest.mark.parametrize("key", ["source_sha", "cubin_sha", "arch"])
def test_a_verdict_on_another_kernel_does_not_count_for_this_one(folder: Path, key: str) -> None:
    bring(folder, result(folder, "hang"))
    build = read_json(folder / "build.json") or {}
    write_json(folder / "build.json", {**build, key: "b" * 64})
    bring(folder, result(folder))
    assert (recorded(folder)["status"], recorded(folder)[key]) == ("correct", "b" * 64)
    assert recorded(folder)["figures"]["runs"] == 1


def test_timings_keep_the_latest_of_each_problem(folder: Path) -> None:
    def timing(m: int, speed: float, time: str) -> dict[str, Any]:
        problem = {"m": m, "n": 8, "k": 8, "l": 1}
        figures = {**problem, "speed": speed, "rate": "TFLOP/s"}
        return result(folder, method="benchmarked", problem=problem, figures=figures, time=time)

    bring(folder, timing(1, 10.0, "2026-11-29T10:00:00Z"), timing(2, 20.0, "2026-11-29T10:00:01Z"))
    bring(folder, timing(1, 11.0, "2026-11-29T11:00:00Z"))
    figures = recorded(folder, "bench.json")["figures"]["problems"]
    assert sorted((f["m"], f["speed"]) for f in figures) == [(1, 11.0), (2, 20.0)]
    assert len(recorded(folder, "bench.json")["runs"]) == 3


def test_a_file_that_cannot_be_read_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        import_results(tmp_path / "absent.jsonl", tmp_path)


def test_a_comparison_counts_with_the_latest_emulator_and_is_no_level_of_its_own(folder: Path) -> None:
    def compared(status: str, emulator: str, time: str) -> dict[str, Any]:
        return result(folder, status, method="compared", emulator=emulator, time=time)

    bring(folder, compared("incorrect", "old", "2026-11-29T10:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "incorrect"
    bring(folder, compared("correct", "new", "2026-11-29T11:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "correct"
    assert recorded(folder, "compared.json")["emulator"] == "new"
    bring(folder, compared("incorrect", "new", "2026-11-29T09:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "incorrect"
    assert len(recorded(folder, "compared.json")["runs"]) == 3
    evidence = Folder(folder).evidence()
    assert [e.method for e in evidence] == ["built", "compared"]
    judged = judge(evidence[1].subject, evidence)
    assert (judged.evidence, judged.status) == ("built", "incorrect")


def test_a_timing_that_was_alone_on_the_gpu_counts_before_a_later_one_that_was_not(folder: Path) -> None:
    def timed(time: str, speed: float, **marked: str) -> dict[str, Any]:
        figures = {"problem": {"m": 64}, "speed": speed, **marked}
        return result(folder, method="benchmarked", problem={"m": 64}, figures=figures, time=time)

    shared = {"shared": "1 other compute process seen"}
    bring(folder, timed("2026-11-29T12:00:00Z", 1.0, **shared))
    assert recorded(folder, "bench.json")["figures"]["problems"][0]["speed"] == 1.0  # better than nothing, and marked
    bring(folder, timed("2026-11-29T13:00:00Z", 2.0), timed("2026-11-29T14:00:00Z", 3.0, **shared))
    assert recorded(folder, "bench.json")["figures"]["problems"] == [{"problem": {"m": 64}, "speed": 2.0}]
    bring(folder, timed("2026-11-29T15:00:00Z", 4.0))
    assert recorded(folder, "bench.json")["figures"]["problems"][0]["speed"] == 4.0
    assert len(recorded(folder, "bench.json")["runs"]) == 4
