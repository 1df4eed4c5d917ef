"""Hostile bundle folders: whatever is changed, run.py ends with 0, 1 or 2 and a sentence, runs nothing
that was planted, and calls nothing correct that is not what was packed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.bundle.kit import GOOD, HERE, bundle, run
from tests.bundle.lines import counted_plan
from tests.device.plans import make_folder
from warpwright.bundle import pack

CASES = 65
OTHER = "other-333333333333"
SPRING = "\nopen({!r}, 'w').close()\n"
#: What a value of bundle.json becomes.
NONSENSE = (
    None,
    True,
    -1,
    10**30,
    1e308,
    "",
    "..",
    "a\0b",
    "\ud800",
    [],
    [[]],
    [None],
    {},
    {"": {}},
    {"m": -1},
    [{"z": 1}],
)

Case = tuple[str, set[str]]  # what was done, and the variants that can no longer be correct


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import lzma

    monkeypatch.setattr(pack, "compressed_runtime", lambda: lzma.compress(b"runtime"))
    folder = tmp_path / "out" / "demo"
    for name in (GOOD, OTHER):
        make_folder(folder, counted_plan(), name)
    return bundle(folder).directory


def files_of(root: Path, *parts: str) -> list[Path]:
    return sorted(p for part in parts for p in (root / part).rglob("*") if p.is_file())


def everyone() -> set[str]:
    return {GOOD, OTHER}


def harm(path: Path, rng: random.Random) -> str:
    """Damage a file, or put something else in its place; never what it was."""
    data, how = path.read_bytes(), rng.choice(["flip", "cut", "empty", "gone", "folder", "fifo", "dangling", "device"])
    if how == "flip":
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    elif how in ("cut", "empty"):
        path.write_bytes(data[: rng.randrange(len(data)) if how == "cut" else 0])
    else:
        path.unlink()
        if how == "folder":
            path.mkdir()
        elif how == "fifo":
            os.mkfifo(path)
        elif how in ("dangling", "device"):
            path.symlink_to("/dev/zero" if how == "device" else "nowhere")
    return f"{how} {path.name}"


def harm_variant(root: Path, rng: random.Random, trap: Path) -> Case:
    name = rng.choice([GOOD, OTHER])
    path = rng.choice([p for p in files_of(root, f"variants/{name}") if p.name != "cases.json"])
    return f"{name}: {harm(path, rng)}", {name}


def harm_library(root: Path, rng: random.Random, trap: Path) -> Case:
    return harm(rng.choice(files_of(root, "lib")), rng), everyone()


def harm_description(root: Path, rng: random.Random, trap: Path) -> Case:
    return harm(root / "bundle.json", rng), set()  # a flip in its `bench` changes nothing of a verdict


def say_nonsense(root: Path, rng: random.Random, trap: Path) -> Case:
    path = root / "bundle.json"
    told = json.loads(path.read_text())
    key, value = rng.choice(sorted(told)), rng.choice(NONSENSE)
    if key in ("validate", "bench") and rng.random() < 0.5:
        value = {"problems": value}  # any number of repeats can be asked for, and takes as long as that
    path.write_text(json.dumps({**told, key: value}))
    return f"bundle.json: {key} = {value!r}", set()


def swap_libraries(root: Path, rng: random.Random, trap: Path) -> Case:
    name = rng.choice([GOOD, OTHER])
    path = root / "variants" / name / "kernel.so"
    path.write_text(json.dumps({"fault": rng.choice(["drop", "hang", "load"])}))
    return f"{name}: another kernel.so", {name}


def swap_folders(root: Path, rng: random.Random, trap: Path) -> Case:
    for name, target in ((GOOD, "x"), (OTHER, GOOD), ("x", OTHER)):
        (root / "variants" / name).rename(root / "variants" / target)
    return "folders swapped", everyone()


def lose_folder(root: Path, rng: random.Random, trap: Path) -> Case:
    part = rng.choice(["lib", "variants", f"variants/{GOOD}"])
    shutil.rmtree(root / part)
    if rng.random() < 0.5:
        (root / part).write_text("a file")
    return f"{part}: gone", {GOOD} if part.endswith(GOOD) else everyone()


def swap_runtime(root: Path, rng: random.Random, trap: Path) -> Case:
    """The DSL's runtime, which the first run unpacks: what lies there is loaded as native code."""
    (root / "libcute_dsl_runtime.so").write_text("planted")
    return "libcute_dsl_runtime.so planted", set()


def plant(root: Path, rng: random.Random, trap: Path) -> Case:
    name = rng.choice(["numpy", "json", "torch", "lzma", "argparse", "sitecustomize", "pathlib"])
    where = root / rng.choice(["", "lib", "variants"]) / f"{name}.py"
    where.write_text(SPRING.format(str(trap)))
    return f"{where.relative_to(root)} planted", set()


def plant_compiled(root: Path, rng: random.Random, trap: Path) -> Case:
    """A compiled module that Python takes for that of the source beside it, which is as it was packed."""
    import importlib.util
    import marshal

    source = root / "lib" / "warpwright" / rng.choice(["canonical.py", "dtypes.py", "errors.py"])
    code = compile(source.read_text() + SPRING.format(str(trap)), str(source), "exec")
    told = source.stat()
    head = importlib.util.MAGIC_NUMBER + bytes(4) + b"".join(
        (number & 0xFFFFFFFF).to_bytes(4, "little") for number in (int(told.st_mtime), told.st_size)
    )  # fmt: skip
    target = Path(importlib.util.cache_from_source(str(source)))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(head + marshal.dumps(code))
    return f"{target.relative_to(root)} planted", set()


def stray(root: Path, rng: random.Random, trap: Path) -> Case:
    name = rng.choice([b"\xff\xfe", b"a\nb", b" ", b"-x", b"..."])
    path = os.path.join(os.fsencode(root / "variants"), name)
    if rng.random() < 0.5:
        os.mkdir(path)
    else:
        Path(os.fsdecode(path)).write_text("stray")
    return f"variants/{name!r}: stray", set()


def results_before(root: Path, rng: random.Random, trap: Path) -> Case:
    what = rng.choice(
        [b"\xff\x00", b"[" * 9000, b"1e999\n", b'{"method": 1}', b'{"method": "gpu-validated", "protocol": []}']
    )
    (root / "results.jsonl").write_bytes(what)
    return f"results.jsonl begins with {what[:20]!r}", set()


WAYS: tuple[Callable[[Path, random.Random, Path], Case], ...] = (
    harm_variant, harm_library, harm_description, say_nonsense, say_nonsense, swap_libraries, swap_folders, lose_folder,
    swap_runtime, plant, plant_compiled, stray, results_before,
)  # fmt: skip


def test_hostile_folders(packed: Path, tmp_path: Path, seed: int) -> None:
    def case(number: int) -> list[str]:
        rng = random.Random(f"{seed}/{number}")
        root, trap = tmp_path / f"case{number}", tmp_path / f"sprung{number}"
        shutil.copytree(packed, root, symlinks=True)
        did, spoilt = WAYS[number % len(WAYS)](root, rng, trap)
        faults = judged(root, trap, spoilt)
        shutil.rmtree(root)
        return [f"ATTACK_SEED={seed} case {number}: {did}: {fault}" for fault in faults]

    with ThreadPoolExecutor(2) as pool:
        found = [fault for faults in pool.map(case, range(CASES)) for fault in faults]
    assert not found, "\n".join(found)


def judged(root: Path, trap: Path, spoilt: set[str]) -> list[str]:
    try:
        done = run(root, "--only", "validate", "--problems", "tiny", "--silence", "5")
    except subprocess.TimeoutExpired:
        return ["no end"]
    faults = []
    if done.returncode not in (0, 1, 2) or (done.returncode == 0 and spoilt):
        faults.append(f"exit code {done.returncode}: {done.stderr[-300:]}")
    if "Traceback" in done.stderr + done.stdout:
        faults.append(f"a traceback: {done.stderr[-600:]}")
    if done.returncode and not (done.stderr or done.stdout).strip():
        faults.append("not a word")
    if trap.exists():
        faults.append("what was planted was run")
    right = {name for name in everyone() if f"{name}: correct" in done.stdout}
    if right & spoilt:
        faults.append(f"{right & spoilt} is called correct")
    if (runtime := root / "libcute_dsl_runtime.so").is_file() and runtime.read_bytes() != b"runtime" and right:
        faults.append("a planted runtime is used")
    if any(root.rglob("*.pyc")) and "remove it" not in done.stderr:
        faults.append("run.py compiles modules into the bundle, and would refuse them next time")
    return faults


def test_the_untouched_bundle_is_correct(packed: Path) -> None:
    """Were it not, nothing above would say anything."""
    assert json.loads((packed / "bundle.json").read_text())["python"] == HERE
    done = run(packed, "--only", "validate", "--problems", "tiny")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"{name}: correct" in done.stdout for name in everyone())
