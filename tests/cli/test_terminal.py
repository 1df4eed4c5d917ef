"""Tables on wide and narrow terminals and in pipes: no name is ever cut off."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest

from warpwright.cli.terminal import _clock, print_json, print_table, printable, progress, say

NAME = "bf16.f32-mnn-256x128x64-c2x1-s4-coop2-alpha+beta_c+bias_n.bf16+gelu_tanh"
COLUMNS = ("variant", "legal", "shared memory", "status")
ROWS = [(NAME, "yes", "232,448 B", "correct"), ("short", "no: shared_memory.total", "", "illegal")]


def plain(text: str) -> str:
    """What a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes stdout a terminal of some width, from the call on (a test's own stdout is there only by then)."""

    def become(width: int) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))

    return become


def test_a_pipe_gets_one_line_a_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table(COLUMNS, ROWS, right=["shared memory"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith(NAME)
    assert lines[1].endswith("correct")
    assert lines[2].split("  ")[-1] == "illegal"
    assert len({line.index("legal") if i == 0 else line.index(ROWS[i - 1][1]) for i, line in enumerate(lines)}) == 1


@pytest.mark.parametrize("width", [20, 80, 100, 200])
def test_a_terminal_of_any_width_shows_names_whole(
    capsys: pytest.CaptureFixture[str], terminal: Callable[[int], None], width: int
) -> None:
    terminal(width)
    print_table(COLUMNS, ROWS, right=["shared memory"], styles="status")
    text = plain(capsys.readouterr().out)
    for cell in (NAME, "232,448 B", "no: shared_memory.total", "correct", "illegal"):
        assert cell in text
    assert "…" not in text
    assert (NAME + "  yes" in text) == (width >= 200)  # else the name has a line of its own


def test_long_text_goes_on_in_its_own_column(
    capsys: pytest.CaptureFixture[str], terminal: Callable[[int], None]
) -> None:
    terminal(40)
    statement = "the sum over warpgroups of registers times 128 fits into the SM"
    print_table(("rule", "statement"), [("registers.split", statement)], fold="statement")
    lines = plain(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(line.replace("registers.split", "") for line in lines[2:]).split()) == statement


def test_json_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"time": float("inf")})


def test_progress_without_a_terminal_is_silent_when_quick(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("building", 100) as step:
        for _ in range(100):
            step()
    assert capsys.readouterr() == ("", "")


def test_the_time_left_counts_from_the_first_that_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0, 33, 33.5, 53, 60, 61])  # the start, then the end of each: the first ones bear the imports
    monkeypatch.setattr("warpwright.cli.terminal.time.monotonic", lambda: next(now))
    with progress("building", 5) as step:
        for _ in range(5):
            step()
    assert capsys.readouterr().err.splitlines() == [
        "building: 1 of 5, 0:33 so far",  # nothing to go by yet
        "building: 3 of 5, 0:53 so far, about 0:20 left",
        "building: 4 of 5, 1:00 so far, about 0:09 left",
    ]


def test_what_a_compiler_or_a_file_from_elsewhere_says_cannot_steer_the_terminal() -> None:
    coloured = "\x1b[31merror:\x1b[0m\x1b[K x\x1b]0;title\x07 \x1b[2Jy\r\x08\tz\nw"
    assert printable(coloured) == "error: x y\tz\nw"


def test_no_color_means_no_codes_at_all(
    capsys: pytest.CaptureFixture[str], terminal: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(200)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(COLUMNS, ROWS, styles="status")
    say("wrong", style="bold red")
    assert "\x1b" not in "".join(capsys.readouterr())


def test_a_clock_is_short() -> None:
    assert [_clock(seconds) for seconds in (7.4, 150, 3723)] == ["0:07", "2:30", "1:02:03"]
