"""Machines that fail: kills at any moment, full disks, tools that fail. Never a wrong verdict, never a traceback, and
the next run of the same command ends as an undisturbed one does."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from warpwright import scratch

ROOT = Path(__file__).parents[2]
KILLS, MIB = 20, 1 << 20
#: What a run is begun with: nothing; a cached kernel; a built variant.
BEGINNINGS = ("nothing", "cached", "built")


@dataclass
class Place:
    """A tree to run in: its configuration, out/, TMPDIR and cache."""

    top: Path

    def __post_init__(self) -> None:
        for name in ("tmp", "out", "cache"):
            (self.top / name).mkdir(parents=True, exist_ok=True)
        (self.top / "tiny.yaml").write_text((self.top.parent / "tiny.yaml").read_text())

    def start(self, command: str = "run", **options: Any) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "generator"),
            "TMPDIR": str(self.top / "tmp"),
            "WARPWRIGHT_CACHE": str(self.top / "cache"),
            **options.pop("environment", {}),
        }
        arguments = [command, str(self.top / "tiny.yaml"), "-o", str(self.top / "out")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
        return subprocess.Popen([sys.executable, "-m", "warpwright", *arguments], **pipes, env=environment, **options)

    def run(self, command: str = "run", **options: Any) -> tuple[int, str]:
        process = self.start(command, **options)
        _, words = process.communicate(timeout=300)
        return process.returncode, words

    def folders(self) -> list[Path]:
        return sorted(path for path in (self.top / "out" / "tiny").glob("*") if path.is_dir())

    def recorded(self) -> dict[str, Any]:
        """Everything that is recorded of each variant, without what differs from run to run."""
        found: dict[str, Any] = {}
        for folder in self.folders():
            for name in ("build.json", "emulated.json"):
                with contextlib.suppress(FileNotFoundError):
                    value = json.loads((folder / name).read_text())
                    for volatile in ("seconds", "cpu_seconds", "rate", "sha256"):
                        value.pop(volatile, None)
                    value.get("files", {}).pop("compile.log", None)
                    found[f"{folder.name}/{name}"] = value
            for name in ("kernel.py", "kernel.ptx", "kernel.cubin", "kernel.o", "kernel.so"):
                with contextlib.suppress(FileNotFoundError):
                    found[f"{folder.name}/{name}"] = (folder / name).read_bytes()
        return found

    def begin(self, beginning: str) -> None:
        for folder in self.folders():
            if beginning != "built":
                shutil.rmtree(folder)
            else:
                (folder / "emulated.json").unlink(missing_ok=True)
        if beginning == "nothing":
            shutil.rmtree(self.top / "cache" / "kernels", ignore_errors=True)

    def left(self) -> list[str]:
        """What is left among temporary files, in out/ and in the cache of processes that are no more."""
        for place in (self.top / "tmp", *self.folders(), *(self.top / "cache" / "kernels").glob("*")):
            scratch.sweep(place)
        found = [path for path in self.top.rglob("*") if ".ww-" in path.name or path.parent.name == "tmp"]
        # This TMPDIR is too long for a socket in a folder of ours, so multiprocessing makes its own beside them; and
        # Python itself tries by a file of four bytes, which a kill may leave, whether a TMPDIR can be written.
        return [path.name for path in found if not path.name.startswith("pymp-") and not _probe(path)]


def _probe(path: Path) -> bool:
    return re.fullmatch("[a-z0-9_]{8}", path.name) is not None and path.read_bytes() in (b"", b"blat")


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, float]]:
    """A folder with the configuration, what an undisturbed run records, and the seconds that it takes from each
    beginning."""
    from warpwright.families import family

    top = tmp_path_factory.mktemp("hosts")
    (top / "tiny.yaml").write_text(_smallest(family("copy").starter))
    place, seconds = Place(top / "sound"), {}
    for beginning in BEGINNINGS:
        place.begin(beginning)
        started = time.monotonic()
        code, words = place.run()
        seconds[beginning] = time.monotonic() - started
        assert code == 0, words
    assert any(name.endswith("emulated.json") for name in place.recorded())
    return top, place.recorded(), seconds


def _smallest(starter: str) -> str:
    """A family's starter without its sweep: one variant."""
    kept, dropping = [], False
    for line in starter.splitlines():
        if line and not line.startswith((" ", "#")):
            dropping = line.startswith(("sweep", "where"))
        if not dropping:
            kept.append("name: tiny" if line.startswith("name:") else line)
    return "\n".join(kept) + "\n"


def nothing_wrong(place: Place, right: dict[str, Any], message: str) -> None:
    """Whatever is recorded is what an undisturbed run records."""
    for name, value in place.recorded().items():
        if name.endswith(".json"):
            assert value == right[name], f"{message}: {name}"


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_kills(beginning: str, sound: tuple[Path, Any, dict[str, float]], tmp_path: Path, rng: random.Random) -> None:
    """SIGKILL of the command, or of all of its session that goes by itself, at a random time."""
    top, right, seconds = sound
    place = Place(top / f"kills-{beginning}")
    shutil.copytree(top / "sound" / "out", place.top / "out", dirs_exist_ok=True)
    shutil.copytree(top / "sound" / "cache", place.top / "cache", dirs_exist_ok=True)
    for number in range(KILLS):
        if beginning == "nothing" or number % 4 == 0:
            place.begin(beginning)
        after, group = rng.uniform(0.0, seconds[beginning]), rng.random() < 0.3
        process = place.start()
        time.sleep(after)
        if group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        _, words = process.communicate()
        message = f"{beginning}, kill {number} after {after:.3f} s{', of the group' if group else ''}"
        assert "Traceback" not in words, f"{message}: {words}"
        nothing_wrong(place, right, message)
    code, words = place.run()
    assert code == 0, words
    assert place.recorded() == right
    deadline = time.monotonic() + 20
    while place.left() and time.monotonic() < deadline:  # services notice a moment later
        time.sleep(0.2)
    assert place.left() == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[Path, int], None]]:
    """Puts a file system of a size over a folder, or changes its size."""
    mounted: list[Path] = []

    def of_size(folder: Path, size: int) -> None:
        options = f"remount,size={size}" if folder in mounted else f"size={size}"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        mounted.append(folder)

    yield of_size
    for folder in dict.fromkeys(mounted):
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def judged(place: Place, right: dict[str, Any], code: int, words: str, message: str, harmless: bool = False) -> None:
    """A disturbed run has said what is wrong, in words, and has recorded nothing that is."""
    assert "Traceback" not in words, f"{message}: {words}"
    assert code in ((0,) if harmless else (0, 1, 2)), f"{message}: exit code {code}: {words}"
    if code == 0:
        assert place.recorded() == right, message
    nothing_wrong(place, right, message)


def heals(place: Place, right: dict[str, Any], message: str) -> None:
    code, words = place.run()
    assert code == 0, f"{message}, then undisturbed: {words}"
    assert place.recorded() == right, message


@pytest.mark.parametrize("full", ["out", "tmp", "cache"])
def test_full_disks(
    full: str, sound: tuple[Path, Any, Any], rng: random.Random, disk: Callable[[Path, int], None]
) -> None:
    top, right, _ = sound
    for number in range(3):
        place, size = Place(top / f"full-{full}-{number}"), rng.choice([4096, 16384, rng.randrange(4096, MIB)])
        disk(place.top / full, size)
        message = f"{full} of {size} bytes"
        judged(place, right, *place.run(), message, harmless=full == "cache")
        disk(place.top / full, 256 * MIB)
        heals(place, right, message)


def test_files_of_limited_size(sound: tuple[Path, Any, Any], rng: random.Random) -> None:
    """What a quota does: every file beyond a size is refused, in the command and in all that it starts."""
    top, right, _ = sound
    for number in range(3):
        place, size = Place(top / f"limit-{number}"), rng.choice([100, 2000, rng.randrange(1000, 300_000)])
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: B023, E731
        message = f"files of at most {size} bytes"
        judged(place, right, *place.run(preexec_fn=limit), message)
        heals(place, right, message)


TOOL = """#!/bin/sh
n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}
case " {fails} " in *" $n "*) {does};; esac
exec {real} "$@"
"""


@pytest.mark.parametrize("name", ["gcc", "ld", "objdump"])
def test_tools_that_fail(name: str, sound: tuple[Path, Any, Any], rng: random.Random) -> None:
    """At random calls a tool is killed, says that the disk is full, or just fails."""
    top, right, _ = sound
    for number in range(2):
        place = Place(top / f"tool-{name}-{number}")
        fails = sorted(rng.sample(range(6), rng.randrange(1, 4)))
        does = rng.choice(["kill -9 $$", "kill -15 $$", "echo No space left on device >&2; exit 1", "exit 127"])
        script = place.top / "bin" / name
        script.parent.mkdir()
        count = place.top / "count"
        words = " ".join(map(str, fails))
        script.write_text(TOOL.format(count=count, fails=words, does=does, real=shutil.which(name)))
        script.chmod(0o755)
        message = f"{name} at its calls {fails}: {does}"
        path = {"PATH": f"{script.parent}:{os.environ['PATH']}"}
        judged(place, right, *place.run(environment=path), message)
        heals(place, right, message)
