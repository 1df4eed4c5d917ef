"""Committed runs of several configurations together: one GPU is one, and a run is measured once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.record.figures import GPU
from warpwright.pipeline.same_gpu import implausible, known_gpus

H200 = {**GPU, "uuid": "GPU-0000000a"}
B200 = {**GPU, "gpu": "NVIDIA B200", "compute_capability": "10.0", "sms": 148, "memory_bytes": 191514279936}


def timed(variant: str, first: float, gpu: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": "benchmarked",
        "variant": variant,
        "samples": {"cold_us": [first + i / 8 for i in range(9)]},
        "gpu": gpu,
    }


def validated(variant: str, first: float, gpu: dict[str, Any], problems: int = 9) -> dict[str, Any]:
    return {
        "method": "gpu-validated",
        "variant": variant,
        "problems": [{"seconds": first + i} for i in range(problems)],
        "gpu": gpu,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "raw").mkdir()
    return tmp_path


def commit(folder: Path, name: str, *runs: dict[str, Any]) -> Path:
    (folder / "raw" / f"{name}.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    return folder / f"{name}.jsonl"


def test_one_uuid_under_two_capabilities_is_told_with_both_places(folder: Path) -> None:
    ledgers = [commit(folder, "old", timed("a", 1.0, H200)), commit(folder, "new", timed("b", 2.0, B200))]
    assert implausible(ledgers) == []
    ledgers[1] = commit(folder, "new", timed("b", 2.0, B200), timed("c", 3.0, {**B200, "uuid": H200["uuid"]}))
    (said,) = implausible(ledgers)
    assert f"GPU-0000000a is NVIDIA H200, of compute capability 9.0 in {folder}/raw/old.jsonl:1" in said
    assert f"NVIDIA B200, of compute capability 10.0 in {folder}/raw/new.jsonl:2" in said


@pytest.mark.parametrize("kind", [timed, validated])
def test_a_run_that_was_copied_is_told_with_its_origin(folder: Path, kind: Any) -> None:
    ledgers = [commit(folder, "old", kind("a", 1.0, H200)), commit(folder, "new", kind("b", 2.0, B200))]
    assert implausible(ledgers) == []
    commit(folder, "new", kind("b", 1.0, B200))
    (said,) = implausible(ledgers)
    assert said.startswith(f"{folder}/raw/new.jsonl:1: ")
    assert f"{folder}/raw/old.jsonl:1" in said


def test_the_same_run_beside_two_ledgers_and_few_equal_durations_are_no_copies(folder: Path) -> None:
    both = [timed("a", 1.0, H200), validated("a", 1.0, H200)]
    assert implausible([commit(folder, "one", *both), commit(folder, "two", *both)]) == []
    few = [validated(name, 1.0, H200, problems=7) for name in "ab"]
    assert implausible([commit(folder, "one", *few)]) == []


def test_a_file_that_cannot_be_read_names_no_gpu(folder: Path) -> None:
    ledgers = [commit(folder, "old", timed("a", 1.0, H200)), folder / "broken.jsonl"]
    (folder / "raw" / "broken.jsonl").write_text("<<<<<<< HEAD\n")
    assert list(known_gpus(ledgers, folder)) == [(f"{folder}/raw/old.jsonl:1", H200)]
