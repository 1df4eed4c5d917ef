"""A stored file that was changed is never believed: whatever bit it is, and whatever lies in its place."""

from __future__ import annotations

import json
import os
import pickle
import random
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.record.figures import stored
from warpwright.canonical import canonical_json, digest
from warpwright.record import Folder, damage, read_json, write_json
from warpwright.sealed import (
    Built,
    DamagedError,
    check_digest,
    load_built,
    load_record,
    read_regular,
    seal,
    sha256,
    unseal,
)

VALUE = {"status": "correct", "ratio": 1e-05, "text": "é \\ \n", "nested": {"a": [1, None, True]}}


@pytest.mark.parametrize("value", [VALUE, {}, {"a": {}}], ids=["some", "empty", "nested"])
def test_a_record_comes_back_as_it_was_written(tmp_path: Path, value: dict[str, Any]) -> None:
    path = tmp_path / "emulated.json"
    for text in (json.dumps(value, indent=1), canonical_json(value), json.dumps(value, ensure_ascii=False) + "\n"):
        path.write_text(seal(text), encoding="utf-8")
        stored = load_record(path)
        assert (stored.value, stored.sealed) == (value, True)
        assert json.loads(path.read_text(encoding="utf-8"))["sha256"] == sha256(
            path.read_bytes().rpartition(b'\n "sha256"')[0].removesuffix(b",")
        )


def believed(path: Path, data: bytes) -> bool:
    try:
        unseal(path, data)
    except DamagedError as error:
        return not str(error).startswith(f"{path}: damaged: ")
    return True


def test_every_flip_of_a_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "build.json"
    write_json(path, VALUE)
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        assert not believed(path, bytes(flipped)), f"bit {bit}"


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    write_json(path, VALUE)
    whole = path.read_bytes()
    for length in range(len(whole)):
        assert not believed(path, whole[:length]), length


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": -Infinity}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "[1]",
        "null",
        "\ufeff{}",
        '{"a": ' + "9" * 5000 + "}",
        '{"sha256": "' + "0" * 64 + '"}',
    ],
)
def test_what_is_no_record_is_damaged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DamagedError, match=r"plan\.json: damaged: .*; `warpwright run "):
        load_record(path)


def test_a_record_that_a_tool_wrote_anew_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    write_json(path, VALUE)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    with pytest.raises(DamagedError, match=r"by another tool.*import the variant's results again"):
        load_record(path)


def test_a_record_from_before_seals_says_so(tmp_path: Path) -> None:
    for text in (json.dumps(VALUE, indent=1), canonical_json({"source_sha": "a" * 64}), "{}"):
        (tmp_path / "gpu.json").write_text(text)
        stored = load_record(tmp_path / "gpu.json")
        assert (stored.value, stored.sealed) == (json.loads(text), False)


def _put(path: Path, kind: str) -> None:
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to nothing":
        path.symlink_to("gone")
    elif kind == "link to itself":
        path.symlink_to(path.name)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))


KINDS = ("directory", "pipe", "link to nothing", "link to itself", "device", "socket")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_waits_for_what_is_no_file(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    path = Path("kernel.so")
    _put(path, kind)
    with pytest.raises(DamagedError, match=r"^kernel\.so: "):
        read_regular(path)
    with pytest.raises(FileNotFoundError):
        read_regular(Path("absent"))
    with pytest.raises(FileNotFoundError):
        read_regular(Path(__file__) / "below a file")


def test_a_file_that_may_not_be_read_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "kernel.so").touch()
    monkeypatch.setattr(os, "open", refuse)  # root may read everything
    with pytest.raises(DamagedError, match="cannot be read: Permission denied"):
        read_regular(tmp_path / "kernel.so")


def test_the_error_survives_the_way_between_processes(tmp_path: Path) -> None:
    for way in ("", "copy it again"):
        error = DamagedError(tmp_path / "kernel.so", "changed", way)
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.path, again.what, again.way) == (str(error), error.path, "changed", way)
    assert str(again) == f"{error.path}: changed; copy it again"


def make_built(path: Path) -> Built:
    """A variant's folder as a build leaves it."""
    path.mkdir(parents=True)
    plan = {"arch": "sm_90a", "kernels": []}
    files = {"kernel.py": b"x = 1\n", "kernel.so": b"\x7fELF" * 9, "kernel.ptx": b"// PTX\n", "compile.log": b""}
    for name, content in files.items():
        (path / name).write_bytes(content)
    write_json(path / "plan.json", plan)
    digests = {name: sha256(content) for name, content in files.items()}
    write_json(
        path / "build.json", stored("built", files=digests, plan_sha=digest(plan), source_sha=digests["kernel.py"])
    )
    return load_built(path)


def test_files_of_a_build_are_held_against_its_record(tmp_path: Path) -> None:
    folder = tmp_path / "quickstart" / "a-01234567"
    built = make_built(folder)
    assert built.read("kernel.ptx") == b"// PTX\n"
    assert built.plan() == {"arch": "sm_90a", "kernels": []}
    assert damage(Folder(folder)) == []

    (folder / "kernel.so").write_bytes(b"")
    with pytest.raises(DamagedError, match=r"kernel\.so: changed: .*\(empty\).*`warpwright run quickstart` makes it"):
        built.read("kernel.so")
    (folder / "kernel.ptx").unlink()
    with pytest.raises(DamagedError, match=r"kernel\.ptx: missing"):
        built.read("kernel.ptx")
    with pytest.raises(DamagedError, match="does not say what it should be"):
        built.read("kernel.cubin")
    write_json(folder / "plan.json", {"arch": "sm_100a", "kernels": []})
    with pytest.raises(DamagedError, match="not the plan that was built"):
        built.plan()
    (folder / "kernel.py").write_bytes(b"x = \xff\n")
    assert [error.path.name for error in damage(Folder(folder))] == ["kernel.py", "kernel.ptx", "kernel.so"]
    with pytest.raises(DamagedError, match=r"SHA-256 is [0-9a-f]{12} \(6 bytes\)"):
        check_digest(folder / "kernel.py", built.files["kernel.py"])


@pytest.mark.parametrize("name", ["kernel.py", "kernel.so", "plan.json", "build.json", "gpu.json"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_damaged_file_is_one_line(tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Folder(Path("q/a-01234567"))
    make_built(folder.path)
    (folder.path / name).unlink(missing_ok=True)
    _put(folder.path / name, kind)
    (error,) = damage(folder)
    assert error.path.name == name
    assert "\n" not in str(error)
    assert [found.method for found in folder.evidence()] == ([] if name == "build.json" else ["built"])
    folder.source(), folder.edited(), folder.unsealed()


def test_a_hundred_flips_of_a_record_of_ordinary_size(tmp_path: Path) -> None:
    path, draw = tmp_path / "gpu.json", random.Random(0)
    write_json(path, {"runs": [{"problem": f"p{i}", "ratio": i / 7, "ok": True} for i in range(300)]})
    whole = path.read_bytes()
    for _ in range(100):
        flipped = bytearray(whole)
        flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        assert read_json(path) is None
