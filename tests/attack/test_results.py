"""Hostile results by the thousand: each is refused by file and line with nothing written, or means what it meant.

Genuine lines, made by the writers' own functions, are changed in one place: keys that go, come or are there twice,
types, values, numbers beyond numbers, problems exchanged, depth, truncation, flipped bytes. What is accepted all the
same may differ from the genuine line only in what nobody can refute (`FREE`).
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.lines import compared, counted_plan, header, timed, validated
from tests.cli.conftest import invoke
from tests.device.plans import make_folder
from warpwright.bundle import Imported, import_results
from warpwright.canonical import digest
from warpwright.errors import UserError
from warpwright.record import METHODS, Folder, read_json, write_json

NAME = "double-0123456789ab"
Line = dict[str, Any]
Path_ = tuple[str | int, ...]

#: Changes that contradict nothing: which machine it was and when, how long it took, what the faults were called, an
#: error below the largest one, a sample between others, which problem a kernel crashed on (of one that was timed,
#: the figures name it too), in which way one failed, and who judged, since only what judges here is believed.
FREE = (
    "gpu.", "time", "toolchain.", "judged_by", "emulator", "edited", "diagnosis", "figures.seed", "figures.seconds",
    "figures.repeats", "figures.clocks", "figures.shared", "figures.peer.name", "samples.", "problem.", "status",
)  # fmt: skip
FREE_OF_PROBLEMS = (
    ["seconds"], ["ratio"], ["relative"], ["ulps"], ["difference"], ["device"], ["emulator"], ["equal"], ["faults"],
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, 1.0000001, -0.0, 1e308, -1e-300, 10**9, 2**63, 2**64, 10**30, "", "x", "0",
    "inf", "nan", "-inf", "NaN", "correct", "hang", "standard", "\x00", "a\nb", "\ud7ff", "é" * 300, "../..", [], {},
    [[]], [None], {"a": 1}, [0] * 50, {"": {}}, "9.0", "0" * 16, "f" * 64,
)  # fmt: skip
#: Texts that no JSON writer of Python would give.
TOKENS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1e999",
    "9" * 5000,
    "01",
    "0x10",
    "1_000",
    "tru",
    "'x'",
    "[" * 3000,
)


def genuine(folder: Path) -> list[Line]:
    return [
        validated(folder),
        validated(folder, names=["tiny", "ragged"]),
        validated(folder, asked=[{"m": 16, "n": 8, "k": 8, "l": 1}]),
        validated(folder, "incorrect"),
        validated(folder, "hang"),
        validated(folder, statuses={"beyond_2_31": "skipped"}),
        compared(folder),
        compared(folder, "incorrect"),
        timed(folder),
        timed(folder, m=512, peer=""),
        timed(folder, shared="1 other compute process seen"),
        timed(folder, "crash"),
    ]


def paths(value: Any, way: Path_ = ()) -> Iterator[Path_]:
    if way:
        yield way
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        yield from paths(inner, (*way, key))


def at(value: Any, way: Path_) -> Any:
    for key in way:
        value = value[key]
    return value


def dropped(line: Line, dice: random.Random) -> str:
    *way, last = dice.choice(list(paths(line)))
    del at(line, tuple(way))[last]
    return json.dumps(line)


def added(line: Line, dice: random.Random) -> str:
    objects = [(), *(way for way in paths(line) if isinstance(at(line, way), dict))]
    at(line, dice.choice(objects))[dice.choice(("extra", "runs", "kind", "z", ""))] = dice.choice(VALUES)
    return json.dumps(line)


def replaced(line: Line, dice: random.Random) -> str:
    *way, last = dice.choice(list(paths(line)))
    at(line, tuple(way))[last] = dice.choice(VALUES)
    return json.dumps(line)


def scaled(line: Line, dice: random.Random) -> str:
    numbers = [way for way in paths(line) if type(at(line, way)) in (int, float)]
    *way, last = dice.choice(numbers)
    inner = at(line, tuple(way))
    inner[last] = dice.choice((-inner[last], inner[last] + 1, inner[last] * 1.5, inner[last] / 2, str(inner[last])))
    return json.dumps(line)


def exchanged(line: Line, dice: random.Random) -> str:
    """Two values of one kind change places: two problems' extents, say, or two samples' lists."""
    kinds: dict[type, list[Path_]] = {}
    for way in paths(line):
        kinds.setdefault(type(at(line, way)), []).append(way)
    one, other = dice.sample(dice.choice([ways for ways in kinds.values() if len(ways) > 1]), 2)
    if one[: len(other)] != other and other[: len(one)] != one:
        first, second = at(line, one), at(line, other)
        at(line, one[:-1])[one[-1]], at(line, other[:-1])[other[-1]] = second, first
    return json.dumps(line)


def doubled(line: Line, dice: random.Random) -> str:
    lists = [way for way in paths(line) if isinstance(at(line, way), list) and at(line, way)]
    if lists and dice.random() < 0.5:
        items = at(line, dice.choice(lists))
        items.insert(0, copy.deepcopy(dice.choice(items)))
        return json.dumps(line)
    key = dice.choice(sorted(line))
    return "{" + f"{json.dumps(key)}: {json.dumps(dice.choice(VALUES))}, " + json.dumps(line)[1:]


def unreadable(line: Line, dice: random.Random) -> str:
    *way, last = dice.choice(list(paths(line)))
    at(line, tuple(way))[last] = "@@@"
    return json.dumps(line).replace('"@@@"', dice.choice(TOKENS))


def nested(line: Line, dice: random.Random) -> str:
    *way, last = dice.choice(list(paths(line)))
    at(line, tuple(way))[last] = "@@@"
    depth = dice.choice((5, 45, 900, 5000))
    return json.dumps(line).replace('"@@@"', '{"a":' * depth + "1" + "}" * depth)


def cut(line: Line, dice: random.Random) -> bytes:
    text = json.dumps(line).encode()
    return text[: dice.randrange(1, len(text))]


def flipped(line: Line, dice: random.Random) -> bytes:
    text = bytearray(json.dumps(line).encode())
    for _ in range(dice.choice((1, 1, 1, 4))):
        text[dice.randrange(len(text))] ^= 1 << dice.randrange(8)
    return bytes(text)


def spliced(line: Line, dice: random.Random) -> bytes:
    text = json.dumps(line).encode()
    one, other = sorted(dice.randrange(len(text)) for _ in range(2))
    return dice.choice((text[:one] + text[other:], text[:other] + text[one:], text + text[one:other]))


CHANGES: tuple[tuple[Callable[[Line, random.Random], str | bytes], int], ...] = (
    (dropped, 250), (added, 150), (replaced, 500), (scaled, 300), (exchanged, 250), (doubled, 150), (unreadable, 120),
    (nested, 60), (cut, 100), (flipped, 300), (spliced, 100),
)  # fmt: skip
assert sum(number for _, number in CHANGES) >= 1945


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "out" / "demo", counted_plan(), NAME)


def attempt(results: Path, out: Path) -> Imported | str:
    """What became of an import, or why all of it was refused."""
    try:
        return import_results([results], out)
    except UserError as error:
        return str(error)


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def differences(one: Any, other: Any, way: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {*one, *other}:
            yield from differences(one.get(key), other.get(key), f"{way}.{key}" if way else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, second, f"{way}.{number}")
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield way


def in_order(line: Line) -> Line:
    """The same line with its problems by name: their order means nothing."""
    problems = line.get("problems", [])
    return {**line, "problems": sorted(problems, key=lambda problem: str(problem["name"]))}


def free(way: str) -> bool:
    return way.startswith(FREE) or (way.startswith("problems.") and way.split(".")[2:3] in FREE_OF_PROBLEMS)


@pytest.mark.parametrize(("change", "number"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_hostile_results(folder: Path, tmp_path: Path, seed: int, change: Any, number: int) -> None:
    lines, out, results = genuine(folder), folder.parents[1], tmp_path / "results.jsonl"
    before, seen = state(folder), Counter[str]()
    head = json.dumps(header()).encode() + b"\n"
    for case in range(number):
        again = f"ATTACK_SEED={seed}, {change.__name__}, case {case}"
        dice = random.Random(f"{seed} {change.__name__} {case}")
        line = copy.deepcopy(dice.choice(lines))
        hostile = change(copy.deepcopy(line), dice)
        hostile = hostile if isinstance(hostile, bytes) else hostile.encode("utf-8", "surrogatepass")
        results.write_bytes(head + hostile + dice.choice((b"\n", b"", b"\n" + json.dumps(lines[-1]).encode() + b"\n")))
        imported = attempt(results, out)
        if isinstance(imported, str):
            seen["refused whole"] += 1
            assert str(results) in imported, again
            assert len(imported) < 1000, again
            assert "\n" not in imported, again
            assert state(folder) == before, f"{again}: something was written, and {imported}"
            continue
        seen["taken" if imported.merged else "refused alone"] += 1
        for file in (folder / name for name in METHODS.values() if name not in before):
            for run in (read_json(file) or {}).get("runs", ()):
                if run not in lines:
                    changed = sorted(differences(in_order(line), in_order(run)))
                    assert all(map(free, changed)), f"{again}: believed, changed at {changed}"
                    assert run["status"] != "correct" or line["status"] == "correct", again
        assert Folder(folder).damaged() == [], f"{again}: {Folder(folder).damaged()}"
        for file in folder.iterdir():
            if file.name not in before:
                file.unlink()
    assert state(folder) == before
    assert seen["refused whole"] > number // 3, seen


def test_hostile_files_of_results_are_no_traceback(folder: Path, tmp_path: Path, seed: int) -> None:
    """list and show of a folder whose files of results hold what nobody wrote, sealed and not."""
    out, source = folder.parents[1], "x = 1\n"
    build = read_json(folder / "build.json") or {}
    write_json(folder / "build.json", {**build, "source_sha": digest(source)})
    Folder(folder).write_source(source)
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(line) + "\n" for line in genuine(folder)))
    import_results([results], out)
    whole = state(folder)
    files = [name for name in METHODS.values() if name in whole]
    changes = [change for change, _ in CHANGES]
    for case in range(60):
        dice = random.Random(f"{seed} stored {case}")
        name, change = dice.choice(files), dice.choice(changes)
        value = read_json(folder / name) or {}
        text = change(copy.deepcopy(value), dice)
        text = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        (folder / name).write_bytes(text)
        if dice.random() < 0.5:
            try:
                write_json(folder / name, json.loads(text))  # sealed again: as from a program that means it
            except (ValueError, RecursionError, AttributeError, TypeError):
                (folder / name).write_bytes(text)
        again = f"ATTACK_SEED={seed}, stored files, case {case}: {name}, {change.__name__}"
        for command in (("list", "-o", out), ("list", "-o", out, "--json"), ("show", NAME, "-o", out)):
            try:
                assert invoke(*command).exit_code == 0, again
            except Exception as error:
                raise AssertionError(again) from error
        (folder / name).write_bytes(whole[name])


def test_the_command_itself(folder: Path, tmp_path: Path, seed: int) -> None:
    lines, before = genuine(folder), state(folder)
    changes = [change for change, _ in CHANGES]
    for case in range(24):
        dice = random.Random(f"{seed} command {case}")
        change = changes[case % len(changes)]
        hostile = change(copy.deepcopy(dice.choice(lines)), dice)
        results = tmp_path / "results.jsonl"
        results.write_bytes(hostile if isinstance(hostile, bytes) else hostile.encode("utf-8", "surrogatepass"))
        command = [sys.executable, "-m", "warpwright", "import", str(results), "-o", str(folder.parents[1])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        again = f"ATTACK_SEED={seed}, command, case {case}: {change.__name__}"
        assert done.returncode in (0, 1, 2), f"{again}: {done.stderr}"
        assert "Traceback" not in done.stderr, f"{again}: {done.stderr}"
        if done.returncode == 2:
            assert state(folder) == before, again
        shutil.rmtree(folder)
        make_folder(folder.parent, counted_plan(), NAME)
