"""A variant's folder is the record: what is missing or damaged is merely unknown, and the manifest follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.record.figures import stored
from warpwright.canonical import digest
from warpwright.record import METHODS, Folder, adopt, by_identity, folders_in, read_json, rebuild, write_json
from warpwright.sealed import seal

BUILD = stored("built")


def test_name_gives_label_and_identity() -> None:
    folder = Folder(Path("out/quickstart/t128x256x64-c2x1-0123456789ab"))
    assert (folder.label, folder.identity) == ("t128x256x64-c2x1", "0123456789ab")


def test_only_variant_folders_are_listed(tmp_path: Path) -> None:
    for name in ("b-0123456789ab", "a-0123456789ab", "ledger", "notes-2024"):
        (tmp_path / name).mkdir()
    (tmp_path / "c-0123456789ab").touch()
    assert [folder.path.name for folder in folders_in(tmp_path)] == ["a-0123456789ab", "b-0123456789ab"]
    assert folders_in(tmp_path / "absent") == []


def test_unchanged_source_keeps_its_time_stamp(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a-0123456789ab")
    folder.write_source("x = 1\n")
    before = folder.source_path.stat().st_mtime_ns, folder.source_path.stat().st_ino
    folder.write_source("x = 1\n")
    assert (folder.source_path.stat().st_mtime_ns, folder.source_path.stat().st_ino) == before
    folder.write_source("x = 2\n")
    assert folder.source() == "x = 2\n"


def test_what_a_person_wrote_is_kept(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a-0123456789ab")
    assert folder.write_source("x = 1\n") is None
    assert folder.write_source("x = 2\n") is None  # rendered before: nothing to keep
    for number, name in enumerate(("kernel.edited.py", "kernel.edited.2.py", "kernel.edited.3.py")):
        mine = f"x = {number}  # mine\n"
        folder.source_path.write_text(mine)
        assert folder.edited()
        kept = folder.write_source("x = 2\n")
        assert kept == folder.path / name
        assert kept.read_text() == mine
        assert folder.source() == "x = 2\n"
        assert not folder.edited()


def test_a_folder_that_says_nothing_of_its_rendering_keeps_its_source(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a-0123456789ab")
    folder.path.mkdir()
    folder.source_path.write_text("x = 1\n")
    write_json(folder.path / "build.json", stored("built", source_sha=digest("x = 1\n")))
    assert folder.write_source("x = 2\n") is None  # built as it is: an earlier rendering
    (folder.path / "rendered.json").unlink()
    folder.source_path.write_text("x = 3\n")
    assert folder.write_source("x = 4\n") == folder.path / "kernel.edited.py"


def test_numbers_in_names_sort_as_numbers(tmp_path: Path) -> None:
    names = ["a-64x256-0123456789ab", "a-128x64-ffffffffffff", "a-128x128-00000000", "a-128x128-1e000000"]
    for name in reversed(names):
        (tmp_path / name).mkdir()
    assert [folder.path.name for folder in folders_in(tmp_path)] == names


def without(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {name: content for name, content in value.items() if name != key}


@pytest.mark.parametrize(
    ("file", "value", "told"),
    [
        ("build.json", stored("built", status=""), "status is '': of built results it is one of correct"),
        ("build.json", stored("built", status=False), "status is False: of built results it is one of correct"),
        ("build.json", stored("built", registers="168"), "figures.registers is '168': it must be a valid integer"),
        ("build.json", stored("built", toolchain=None), "toolchain is None: it must be a valid dictionary"),
        ("gpu.json", stored("gpu-validated", status="fine"), "status is 'fine': of gpu-validated results it is one of"),
        ("gpu.json", stored("gpu-validated", figures={"problems": 5}), "figures.correct is missing"),
        ("gpu.json", stored("gpu-validated", gpu={}), "gpu.gpu is missing: every result of its kind has it"),
        ("gpu.json", stored("gpu-validated", protocol=10**9), "protocol is 1000000000: of gpu-validated results,"),
        ("bench.json", without("source_sha", stored("benchmarked")), "source_sha is missing"),
        ("bench.json", stored("benchmarked", figures={"problems": 5}), "figures.problems is 5: it must be"),
        ("compared.json", stored("compared", figures=None), "figures is None: it must be"),
        ("compared.json", stored("compared", source_sha=7), "source_sha is 7: it must be a valid string"),
        ("emulated.json", '{"status": "corr', "damaged: it is not JSON"),
        ("emulated.json", "[" * 100_000, "damaged: it is not JSON"),
        ("emulated.json", "[]", "damaged: it is not a JSON object"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_say_what_a_result_must_counts_for_nothing_and_is_kept(
    tmp_path: Path, file: str, value: Any, told: str
) -> None:
    folder = Folder(tmp_path / "a-0123456789ab")
    for method, name in METHODS.items():
        folder.write(name, stored(method))
    assert [found.method for found in folder.evidence()] == list(METHODS)
    text = value if isinstance(value, str) else seal(json.dumps(value))
    (folder.path / file).write_text(text)
    assert [found.method for found in folder.evidence()] == [m for m, name in METHODS.items() if name != file]
    (damage,) = folder.damaged()
    assert told in damage.why
    assert damage.set_aside() == folder.path / f"{file}.damaged"
    assert (folder.path / f"{file}.damaged").read_text() == text
    assert folder.damaged() == []
    (folder.path / file).write_text("again")
    assert folder.damaged()[0].set_aside() == folder.path / f"{file}.damaged.2"


def test_manifest_is_rebuilt_from_the_folders(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a-0123456789ab")
    write_json(folder.path / "build.json", BUILD)
    write_json(folder.path / "plan.json", {"symbol": "gemm_a"})
    first = rebuild(tmp_path)
    assert first["variants"][0]["symbol"] == "gemm_a"
    assert first["variants"][0]["evidence"]["built"]["status"] == "correct"
    (tmp_path / "manifest.json").write_text('{"variants": [')  # a kill in the middle, by a tool that does not rename
    assert rebuild(tmp_path) == first
    assert read_json(tmp_path / "manifest.json") == first
    write_json(Folder(tmp_path / "b-0123456789ab").path / "build.json", BUILD)
    assert [each["folder"] for each in rebuild(tmp_path)["variants"]] == ["a-0123456789ab", "b-0123456789ab"]


def test_results_are_adopted_for_the_same_source_and_never_from_the_ledger_s_folder(tmp_path: Path) -> None:
    own = Folder(tmp_path / "own" / "a-01234567")
    own.write_source("x = 1\n")
    for name, text in (("ledger", "x = 1\n"), ("older", "x = 0\n"), ("same", "x = 1\n")):
        write_json(
            tmp_path / name / "b-01234567" / "gpu.json",
            stored("gpu-validated", source_sha=digest(text), **{"from": name}),
        )
    others = by_identity(tmp_path)["01234567"]
    assert [path.parent.name for path in others] == ["older", "own", "same"]
    adopt(own, others)
    assert (own.read("gpu.json") or {})["from"] == "same"
    write_json(
        tmp_path / "same" / "b-01234567" / "gpu.json",
        stored("gpu-validated", source_sha=digest("x = 1\n"), **{"from": "late"}),
    )
    adopt(own, others)
    assert (own.read("gpu.json") or {})["from"] == "same", "what a folder has itself is kept"


def test_the_worst_of_several_results_is_adopted(tmp_path: Path) -> None:
    own = Folder(tmp_path / "own" / "a-01234567")
    own.write_source("x = 1\n")
    for name, status in (("first", "correct"), ("later", "hang"), ("odd", "luck"), ("then", "incorrect")):
        result = stored("gpu-validated", status, source_sha=digest("x = 1\n"))
        write_json(tmp_path / name / "a-01234567" / "gpu.json", result)
    adopt(own, by_identity(tmp_path)["01234567"])
    assert (own.read("gpu.json") or {})["status"] == "hang"
