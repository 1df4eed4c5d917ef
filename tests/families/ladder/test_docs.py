"""docs/ladder.md has the times of ledger and model; to renew: WARPWRIGHT_GOLDEN=update pytest tests/families/ladder"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.families.ladder.points import RUNGS, legal, legal_blackwell
from warpwright.canonical import digest
from warpwright.cli.results import format_seconds
from warpwright.families import target
from warpwright.families.ladder.rungs import RUNGS as NAMED
from warpwright.families.ladder.sm_100a.rungs import RUNGS as BLACKWELL
from warpwright.render import render
from warpwright.steps import contrast

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "ladder.md"
SIZE = {"M": 4096, "N": 4096, "K": 4096, "L": 1}
UPDATE = os.environ.get("WARPWRIGHT_GOLDEN") == "update"  # read before any test changes the environment


def measured() -> dict[str, dict[str, Any]]:
    """What the ledger has of sources, by their digest."""
    ledger = ROOT / "out" / "ledger" / "ladder_sm90.jsonl"
    lines = [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []
    return {line["source_sha"]: line["figures"]["problems"][0] for line in lines if line.get("method") == "benchmarked"}


def rows() -> list[str]:
    found, times, first, before = [], measured(), 0.0, 0.0
    for rung in RUNGS:
        plan = legal(rung)
        predicted = target("ladder", "sm_90a").predict(plan, {"M": 4096, "N": 4096, "K": 4096, "L": 1})
        cells = [str(rung), NAMED[rung - 1].adds, format_seconds(predicted.seconds)]
        time = times.get(digest(render(plan)))
        speed = time["speed"] if time else predicted.speed
        first = first or speed
        cells += [
            format_seconds(time["cold_us"]["median"] * 1e-6) if time else "",
            f"{speed:.4g}",
            f"{speed / first:.0f}",
            f"{speed / before:.2f}" if before else "",
            f"{time['peer']['ratio']:.2f}" if time else "",
        ]
        before = speed
        found.append("| " + " | ".join(cells) + " |")
    return found


def beside() -> list[str]:
    """What the committed measurement of two kernels on two streams comes to, a row per number of chunks."""
    (line,) = (ROOT / "out" / "ledger" / "contrast" / "ladder_sm90.jsonl").read_text().splitlines()
    found = contrast(json.loads(line))
    return [
        f"| {cut.chunks} | "
        + " | ".join(format_seconds(each) for each in (cut.reader, cut.one_stream, cut.two_streams, cut.narrow))
        + f" | {cut.gain:.2f} | {cut.best / found.whole:.2f} |"
        for cut in found.cuts
    ]


def seconds_of(arch: str, rung: int) -> float:
    """Predicted, at 4096^3."""
    found = legal(rung) if arch == "sm_90a" else legal_blackwell(rung)
    return target("ladder", arch).predict(found, SIZE).seconds


def blackwell() -> list[str]:
    """Predicted and published times of the six rungs for sm_100a."""
    found = []
    for rung, named in enumerate(BLACKWELL, 1):
        predicted = target("ladder", "sm_100a").predict(legal_blackwell(rung), SIZE)
        busy = predicted.clocks["tensor cores"] / 64 / predicted.clocks["a step along K"]
        ratio = f"{predicted.seconds / named.seconds:.2f}" if rung >= 3 else ""
        times = f"{format_seconds(predicted.seconds)} | {format_seconds(named.seconds)}"
        found.append(f"| {rung} | {named.adds} | {times} | {ratio} | {busy:.0%} |")
    return found


#: Ideas, and their rungs on both archs.
IDEAS = (
    ("load, synchronise, compute, synchronise", 1, 1), ("a CTA per tile", 2, 2), ("TMA", 3, 3),
    ("a ring of stages", 4, None), ("roles", 5, None), ("persistent CTAs", 6, 4), ("two CTAs share B", 7, 5),
    ("two consumers that share B", 8, 6), ("a tile is stored while the next is computed", 9, None),
)  # fmt: skip


def both() -> list[str]:
    """What the same idea takes on both."""
    found, times = [], measured()
    for idea, hopper, other in IDEAS:
        time = times.get(digest(render(legal(hopper))))
        cells = [
            str(hopper),
            format_seconds(seconds_of("sm_90a", hopper)),
            format_seconds(time["cold_us"]["median"] * 1e-6) if time else "",
        ]
        if other:
            published = BLACKWELL[other - 1].seconds
            cells += [str(other), format_seconds(seconds_of("sm_100a", other)), format_seconds(published)]
        else:
            cells += ["in 4" if hopper < 9 else "", "", ""]
        found.append(f"| {idea} | " + " | ".join(cells) + " |")
    return found


@pytest.mark.parametrize(("first", "due"), [("rung", rows), ("chunks", beside), ("step", blackwell), ("idea", both)])
def test_the_tables_are_what_ledger_and_model_say(first: str, due: Callable[[], list[str]]) -> None:
    text = PAGE.read_text()
    table = re.search(rf"(\| {first} \| .*\n\|(?:---\|)+\n)((?:\| .*\n)*)", text)
    assert table
    if UPDATE:
        PAGE.write_text(text[: table.end(1)] + "\n".join(due()) + "\n" + text[table.end() :])
    else:
        assert table[2].splitlines() == due()


def test_what_roles_bring_is_a_fifth_and_nothing_on_their_own() -> None:
    speeds = [float(row.split(" | ")[4]) for row in rows()]
    assert 1.14 < speeds[8] / speeds[4] < 1.27
    assert 0.96 < speeds[4] / speeds[3] < 1.02
    assert speeds[:4] + speeds[5:] == sorted(speeds[:4] + speeds[5:])  # in the order of the rungs


def test_every_rung_is_explained() -> None:
    text = PAGE.read_text()
    hopper, _, other = text.partition("## The two ladders side by side")
    assert re.findall(r"^\*\*(\d)\. ", hopper, re.MULTILINE) == [str(rung) for rung in RUNGS]
    assert re.findall(r"(?:\*\*|and )(\d)\. [A-Za-z]", other) == [str(rung) for rung, _ in enumerate(BLACKWELL, 1)]
