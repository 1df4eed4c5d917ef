"""One bad folder is one bad line: whatever lies in it, every command goes on with the others and believes it not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.record.figures import stored
from warpwright.canonical import digest
from warpwright.record import folders_in, read_json, write_json
from warpwright.sealed import Stored, load_record

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def flip(path: Path) -> None:
    """Make the file one that is not text."""
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 0x80]) + data[41:])


@pytest.mark.parametrize("kind", ["flip", "empty", "directory", "pipe", "link"])
@pytest.mark.parametrize("name", ["kernel.py", "kernel.so", "build.json", "emulated.json", "plan.json"])
def test_readers_name_the_file_and_go_on(cli: Cli, out: Path, name: str, kind: str) -> None:
    bad, good = folders_in(out / "small")
    path = bad.path / name
    if kind == "flip":
        flip(path)
    else:
        path.unlink()
        if kind == "empty":
            path.touch()
        elif kind == "directory":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("gone")
    if (name, kind) != ("kernel.py", "empty"):  # which may be what a person left
        listed = cli("list", "small", "-o", out)
        assert listed.exit_code == 0
        assert good.path.name in listed.stdout
        assert f"{bad.path.name}: {name} counts for nothing: " in listed.stderr
        assert "`warpwright run small` sets that right" in listed.stderr
        rows = {row["variant"]: row for row in json.loads(cli("list", "small", "-o", out, "--json").stdout)}
        assert "damaged" in rows[bad.path.name]["note"]
        assert (rows[good.path.name]["status"], rows[good.path.name]["note"]) == ("correct", "")
        shown = cli("show", bad.path, "-o", out)
        assert shown.exit_code == 0
        assert name in shown.stderr


def test_what_is_alike_is_one_line_that_counts_the_others(cli: Cli, out: Path) -> None:
    first, second = folders_in(out / "small")
    for folder in (first, second):
        (folder.path / "plan.json").write_bytes(b"")
    told = " ".join(cli("list", "small", "-o", out).stderr.split())
    assert f"{first.path.name} (and 1 more): plan.json counts for nothing: damaged: it is empty; `warpwright" in told
    assert told.count("plan.json counts for nothing") == 1


def test_a_run_sets_everything_right(cli: Cli, config: Path, out: Path) -> None:
    bad, good = folders_in(out / "small")
    whole = {path.name: path.read_bytes() for path in bad.path.iterdir() if path.name != "emulated.json"}
    flip(bad.path / "build.json")
    flip(bad.path / "kernel.ptx")
    (bad.path / "kernel.so").write_bytes((good.path / "kernel.so").read_bytes()[:-1])
    (bad.path / "kernel.o").unlink()
    (bad.path / "kernel.o").mkdir()
    (bad.path / "plan.json").write_text('{"family": {}, "kernels": 5}')
    done = cli("run", config, "-o", out)
    assert done.exit_code == 0, done.stderr
    assert "kernel.o counts for nothing: a directory, where a file should be; kept as kernel.o.damaged" in done.stderr
    assert {name: (bad.path / name).read_bytes() for name in whole} == whole
    assert cli("list", "small", "-o", out).stderr.count("counts for nothing") == 0


def test_a_source_that_is_not_text_is_kept_and_rendered_anew(cli: Cli, config: Path, out: Path) -> None:
    bad, _ = folders_in(out / "small")
    whole = bad.source_path.read_bytes()
    flip(bad.source_path)
    built = cli("build", config, "-o", out)
    assert built.exit_code == 1
    assert "kernel.py counts for nothing: damaged: it is not text (UTF-8)" in built.stderr
    done = cli("run", config, "-o", out)
    assert done.exit_code == 0, done.stderr
    assert bad.source_path.read_bytes() == whole
    assert (bad.path / "kernel.edited.py").stat().st_size == len(whole)


def test_nothing_that_is_damaged_enters_the_ledger(cli: Cli, config: Path, out: Path) -> None:
    bad, good = folders_in(out / "small")
    (bad.path / "kernel.cubin").write_bytes(b"")
    flip(bad.path / "emulated.json")
    done = cli("ledger", config, "-o", out)
    assert done.exit_code == 1
    assert "kernel.cubin counts for nothing: changed" in done.stderr
    lines = (out / "ledger" / "small.jsonl").read_text()
    assert bad.label not in lines
    assert good.label in lines


def test_results_from_before_seals_are_obtained_again_and_those_of_a_gpu_are_kept(
    cli: Cli, config: Path, out: Path
) -> None:
    old, _ = folders_in(out / "small")
    for name in ("build.json", "emulated.json", "plan.json", "point.json", "rendered.json"):
        (old.path / name).write_text(json.dumps(read_json(old.path / name)))
    gpu = stored("gpu-validated", source_sha=digest(old.source() or ""))
    (old.path / "gpu.json").write_text(json.dumps(gpu))
    assert old.unsealed() == ["build.json", "emulated.json"]
    listed = cli("list", "small", "-o", out)
    assert f"{old.path.name}: build.json counts for nothing: from before records had a seal" in listed.stderr
    done = cli("run", config, "-o", out)
    assert done.exit_code == 0, done.stderr
    assert old.unsealed() == []
    assert load_record(old.path / "gpu.json") == Stored(gpu, sealed=True)


def test_clean_deletes_nothing_that_may_be_a_person_s_nor_on_a_damaged_list(cli: Cli, config: Path, out: Path) -> None:
    first, second = folders_in(out / "small")
    gone = [first.path.with_name("past-00000001"), first.path.with_name("past-00000002")]
    first.path.rename(gone[0])
    second.path.rename(gone[1])
    flip(gone[0] / "kernel.py")
    done = cli("clean", config, "-o", out, "--yes")
    assert done.exit_code == 0
    assert [path.exists() for path in gone] == [True, False]
    assert f"{gone[0]}: holds a kernel edited by hand, or damaged" in " ".join(done.stderr.split())

    flip(out / "small" / "current.json")
    done = cli("clean", config, "-o", out, "--yes")
    assert done.exit_code == 2
    assert "current.json: damaged" in done.stderr
    ran = cli("generate", config, "-o", out)
    assert "current.json: damaged" in ran.stderr
    assert read_json(out / "small" / "current.json") is None, "whose the other variants are must not be forgotten"


def test_a_link_to_a_folder_is_a_line_of_clean(cli: Cli, config: Path, out: Path, tmp_path: Path) -> None:
    first, second = folders_in(out / "small")
    first.path.rename(tmp_path / "elsewhere")
    link, past = first.path.with_name("past-00000001"), first.path.with_name("past-00000002")
    link.symlink_to(tmp_path / "elsewhere")
    second.path.rename(past)
    done = cli("clean", config, "-o", out, "--yes")
    assert done.exit_code == 1
    assert "past-00000001: cannot be deleted" in " ".join(done.stderr.split())
    assert (link.is_dir(), past.exists()) == (True, False)


def test_a_result_of_a_gpu_from_before_seals_still_counts(out: Path) -> None:
    folder, _ = folders_in(out / "small")
    gpu = stored("gpu-validated")
    (folder.path / "gpu.json").write_text(json.dumps(gpu))
    assert folder.unsealed() == []
    assert "gpu-validated" in [found.method for found in folder.evidence()]
    write_json(folder.path / "gpu.json", gpu)
    flip(folder.path / "gpu.json")
    assert folder.read("gpu.json") is None
