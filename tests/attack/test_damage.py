"""A thousand damaged files: none is believed, each is named, nobody waits, and no command ends in a traceback."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.record.figures import stored
from tests.records import rewrite
from warpwright import pipeline
from warpwright.bundle import pack
from warpwright.cli import app
from warpwright.device.variant import VariantError, load_variant
from warpwright.emulate import EmulatorError
from warpwright.emulate.variant import harness
from warpwright.pipeline import emulating
from warpwright.record import Folder, damage, folders_in, write_json

ROUNDS = 1150
CONFIG = """
version: 1
name: small
purpose: Two small tiles.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 64, k: 64}
  stages: 2
sweep:
  - design.tile.n: [64, 128]
"""
RECORDS = ("build.json", "emulated.json", "plan.json", "point.json", "rendered.json", "gpu.json")
BINARIES = ("kernel.so", "kernel.o", "kernel.ptx", "kernel.cubin", "kernel.py")
#: Which of the readers must refuse when a file is damaged; every one has to survive.
USED_BY_EMULATOR = {"build.json", "plan.json", "kernel.ptx", "kernel.o", "kernel.py"}
USED_BY_DEVICE = {"build.json", "plan.json", "kernel.so"}


def flip(path: Path, rng: random.Random, other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, rng: random.Random, other: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def empty(path: Path, rng: random.Random, other: Path) -> None:
    path.write_bytes(b"")


def swap(path: Path, rng: random.Random, other: Path) -> None:
    shutil.copyfile(other / path.name, path)


def garbage(path: Path, rng: random.Random, other: Path) -> None:
    path.write_bytes(rng.choice([rng.randbytes(99), b"{}", b"[]", b"null", b'{"a": NaN}', b"[" * 9999, b"\xff" * 9]))


def grow(path: Path, rng: random.Random, other: Path) -> None:
    with path.open("ab") as file:
        file.write(rng.choice([b"\n", b" ", b"{}", b"\0"]))


def directory(path: Path, rng: random.Random, other: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path, rng: random.Random, other: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path, rng: random.Random, other: Path) -> None:
    path.unlink()
    path.symlink_to(rng.choice(["gone", path.name, "/dev/zero", "."]))


WAYS: tuple[Callable[[Path, random.Random, Path], None], ...] = (
    *(flip, flip, flip, flip, truncate, truncate, empty, swap, garbage, grow, directory, pipe, link),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("damage")
    (top / "small.yaml").write_text(CONFIG)
    exploration = pipeline.plan(str(top / "small.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build", "emulate"))
    assert [variant.status for variant in exploration.variants] == ["correct", "correct"]
    for number, folder in enumerate(folders_in(top / "out" / "small")):
        write_json(folder.path / "gpu.json", stored("gpu-validated", diagnosis=f"of {number}"))
    return top / "out"


def test_a_thousand_damaged_files(built: Path, tmp_path: Path, rng: random.Random, seed: int) -> None:
    bad, good = folders_in(built / "small")
    saved = tmp_path / "saved"
    shutil.copytree(bad.path, saved)
    run, done = CliRunner(), Counter[str]()
    for number in range(ROUNDS):
        name, way = rng.choice(RECORDS + BINARIES), rng.choice(WAYS)
        told = f"ATTACK_SEED={seed}, round {number}: {way.__name__} of {name}"
        way(bad.path / name, rng, good.path)
        same = (bad.path / name).is_file() and (bad.path / name).read_bytes() == (saved / name).read_bytes()
        if not same:
            _check(bad, name, way.__name__, told)
            done[way.__name__] += 1
        if number % 25 == 0:
            for command in (["list", "small"], ["show", str(bad.path)], ["explain", str(bad.path)]):
                result = run.invoke(app, [*command, "-o", str(built)])
                assert result.exception is None or isinstance(result.exception, SystemExit), (told, result.exception)
        _restore(bad.path, saved, name)
    assert damage(bad) == []
    assert sum(done.values()) > 1030, done


def _check(bad: Folder, name: str, way: str, told: str) -> None:
    named = {each.path.name for each in damage(bad)}
    # A record, or a source, of another variant is as it was written: who uses it compares it with the build's.
    other = way == "swap" or name == "kernel.py" or (way == "garbage" and name in RECORDS)
    assert other or name in named, told
    bad.evidence(), bad.edited(), bad.source(), bad.unsealed()
    pipeline.judge_folder(bad, {})
    if name in USED_BY_EMULATOR and not (name == "build.json" and other):
        assert emulating.recorded(bad.path) is None, told
        with pytest.raises(EmulatorError) as refused:
            harness.load(bad.path)
        assert name in str(refused.value) or name == "build.json", (told, str(refused.value))
    if name in USED_BY_DEVICE:
        with pytest.raises(VariantError) as unusable:
            load_variant(bad.path)
        assert name in str(unusable.value) or name == "build.json", (told, str(unusable.value))
        chosen, left_out = pack._choose(bad.path.parent, None)
        assert bad.path.name in left_out, told
        assert len(chosen) == 1, told


def _restore(folder: Path, saved: Path, name: str) -> None:
    path = folder / name
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
    shutil.copyfile(saved / name, path)


def test_rewriting_is_what_the_seal_does_not_stop(built: Path, tmp_path: Path) -> None:
    """Who can write the files can seal them again: docs/trust.md says so, and this test that it is so."""
    folder = tmp_path / folders_in(built / "small")[0].path.name
    shutil.copytree(folders_in(built / "small")[0].path, folder)
    rewrite(folder, "kernel.so", b"anything")
    assert load_variant(folder).origin.library_sha
