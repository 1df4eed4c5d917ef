"""Files that are no configuration: each is refused at once, whatever it is, and with few words."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from tests.spec.conftest import GOOD
from warpwright.spec import SpecErrors, load
from warpwright.spec.reading import LARGEST

SECONDS = 5  # of one process: each takes about one; without the limits minutes, or for ever


def refused(path: Path | str, rule: str, line: int = 0) -> None:
    started = time.monotonic()
    with pytest.raises(SpecErrors) as caught:
        load(path)
    assert time.monotonic() - started < SECONDS * 3
    (error,) = caught.value.errors
    assert rule in error.rule
    assert error.line == line
    assert str(error).isprintable()


def test_what_is_no_regular_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(tmp_path / "socket.yaml"))
        (tmp_path / "loop.yaml").symlink_to("loop.yaml")
        for path, rule in [
            ("/dev/zero", "it is a device, and a configuration is a regular file"),
            ("/dev/null", "it is a device"),
            (tmp_path / "pipe.yaml", "it is a pipe"),
            (tmp_path / "socket.yaml", "No such device or address"),
            (tmp_path, "Is a directory"),
            (tmp_path / "loop.yaml", "Too many levels of symbolic links"),
            (tmp_path / "absent.yaml", "No such file"),
            (tmp_path / ("x" * 300), "File name too long"),
            ("\0", "cannot be read"),
        ]:
            refused(path, rule)


def test_a_pipe_that_somebody_writes_to_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    writer = os.open(tmp_path / "pipe.yaml", os.O_RDWR)
    try:
        refused(tmp_path / "pipe.yaml", "it is a pipe")
    finally:
        os.close(writer)


def test_a_file_is_one_mebibyte_at_most(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD + "#" * (LARGEST - len(GOOD)))
    assert load(path).points()
    path.write_text(GOOD + "#" * (LARGEST - len(GOOD) + 1))
    refused(path, "it has 1,048,577 bytes, and a configuration 1,048,576 at most")
    with path.open("r+b") as stream:
        stream.truncate(2**33)  # of which the disk holds nothing
    refused(path, "it has 8,589,934,592 bytes")


def test_text_that_is_no_utf8_is_told_with_its_place(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"version: 1\npurpose: caf\xe9\n")
    refused(path, "not UTF-8: byte 0xe9 (number 23 of the file)", line=2)
    path.write_text(GOOD, encoding="utf-16")
    refused(path, "not UTF-8: byte 0xff (number 0 of the file)", line=1)
    path.write_text(GOOD, encoding="utf-8-sig")
    assert load(path).points()
    path.write_bytes(b"purpose: \x00\n")
    refused(path, "not YAML")


def test_without_permission(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD)
    path.chmod(0)
    if os.geteuid():
        refused(path, "Permission denied")


@pytest.mark.parametrize(
    "text",
    [
        "stages: " + "9" * 100_000,
        "stages: -" + "1" * 100_000 + ".5",
        "stages: " + "1" * 100_000 + "e5",
        "stages: " + "1." * 50_000,
        "stages: 1" + "_0" * 50_000,
        "stages: " + "1:" * 50_000 + "0",
        "stages: 0x" + "f" * 100_000,
        "stages: " + "x" * 100_000,
        "x" * 1000 + ": 4",
        "? " + "x" * 100_000 + "\n  : 4",
        "schedule: " + "pingpon" * 15_000,
        "tile: [" + "[" * 50_000,
        "stages: " + "[" * 15 + "1" + "]" * 15,
        "stages: [" + "no, " * 100_000 + "]",
        "stages: [" + "1, " * 140_000 + "]",
        "stages: {" + "".join(f"a{n}: 1, " for n in range(30_000)) + "}",
        "tile: {m: 1, n: 2, k: " + "[1]" * 1000,
        "stages: " + "&a " * 1000 + "1",
        "stages: !<" + "x" * 100_000 + "> 3",
        "stages: '" + "\\" * 100_000 + "'",
        'stages: "' + "\\u202e" * 50_000 + '"',
    ],
    ids=lambda text: text[:14],
)
def test_long_things_take_no_time_and_few_words(mistakes, text):
    started = time.process_time()
    errors = mistakes({14: f"  {text}"})
    assert time.process_time() - started < SECONDS
    assert len(str(errors)) < 10_000
    assert all(line.isprintable() for line in str(errors).splitlines())


@pytest.mark.parametrize(
    "sweep",
    [
        "sweep: [" + "{}, " * 100_000 + "]",
        "sweep: [" + "{design.stages: [x]}, " * 20_000 + "]",
        "sweep:\n" + "".join(f"  k{n}: [1]\n" for n in range(20_000)),
        "sweep: {design.stages: [" + "x, " * 100_000 + "]}",
        "sweep: {design.stages: [" + ", ".join(f"x{n}" for n in range(20_000)) + "]}",
        "where: [" + "a, " * 100_000 + "]",
        "where: [" + "tile.m == 3, " * 99 + "]",
        "bench: {problems: [" + "{m: 1}, " * 20_000 + "]}",
        "sweep: {design.stages: {from: 1, to: 9223372036854775807}}",
    ],
    ids=lambda text: text[:30],
)
def test_many_things_take_no_time_and_few_words(mistakes, sweep):
    key = sweep.partition(":")[0]
    changes = {"sweep": {15: sweep, 16: "", 17: ""}, "where": {18: sweep, 19: ""}, "bench": {21: sweep}}[key]
    started = time.process_time()
    errors = mistakes(changes)
    assert time.process_time() - started < SECONDS
    assert len(str(errors)) < 10_000


def test_twenty_mistakes_are_printed_and_the_others_counted(mistakes):
    errors = mistakes({12: "  tile: {" + "".join(f"m{n}: 1, " for n in range(50)) + "}"})
    assert len(errors.errors) == 51
    lines = str(errors).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 31 more"


@pytest.mark.parametrize("levels", [7, 30])
def test_an_alias_bomb_is_stopped(mistakes, levels):
    """Each level has nine times the values of the one before: 9**30 would fill no memory that there is."""
    lines = ["  l0: &l0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, levels)]
    started = time.process_time()
    errors = mistakes({14: "\n".join(lines)})
    assert time.process_time() - started < SECONDS
    assert errors.errors[-1].rule == "more than 150,000 values, those of aliases included"
    assert errors.errors[-1].line < 14 + levels


def test_a_hostile_name_of_a_file_moves_no_cursor(tmp_path):
    path = tmp_path / "a\x1b[2J\n\u202e\udcff.yaml"
    path.write_text("3")
    with pytest.raises(SpecErrors) as caught:
        load(path)
    text = str(caught.value)
    assert text.isprintable()
    assert text.endswith("a\\x1b[2J\\n\\u202e\\udcff.yaml:1: the file = 3: " + caught.value.errors[0].rule)
