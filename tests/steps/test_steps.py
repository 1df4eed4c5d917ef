"""A sequence of steps: the gains of its table, the differences of sources, and the page with all of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from warpwright.plan.step import Span
from warpwright.steps import page, table
from warpwright.steps.difference import changed, difference
from warpwright.steps.picture import LEFT, WIDTH, pictures


def time(seconds: float, speed: float, size: int = 64, vendor: float | None = None) -> dict[str, Any]:
    return {"problem": {"m": size}, "seconds": seconds, "speed": speed, "rate": "TFLOP/s", "vendor_ratio": vendor}


def test_gains_are_of_measured_speeds_where_both_are_and_of_predicted_ones_else() -> None:
    rows = table(
        [
            ("one", "a", time(8.0, 1.0), time(10.0, 0.5, size=8, vendor=0.1)),  # on a problem of its own
            ("two", "b", time(4.0, 2.0), None),
            ("three", "c", time(2.0, 4.0), time(2.5, 3.0, vendor=0.6)),
        ]
    )
    assert [(row.number, row.name, row.adds, row.vendor) for row in rows] == [
        (1, "one", "a", 0.1),
        (2, "two", "b", None),
        (3, "three", "c", 0.6),
    ]
    assert [row.over_first for row in rows] == [1.0, 2.0, 6.0]
    assert [row.over_before for row in rows] == [1.0, 2.0, 2.0]


OLD = '"""head"""\nimport a\nx = 1\nfor i in y:\n    use(i)\n' + "same\n" * 9 + "end()\n"
NEW = '"""another"""\nimport a\nx = 2\nif x:\n    for i in y:\n        use(i)\n' + "same\n" * 9 + "end(1)\n"


def test_a_difference_has_what_changed_and_not_what_moved() -> None:
    lines = [(line.kind, line.text) for line in difference(OLD, NEW)]
    assert [line for line in lines if line[0] in ("added", "removed")] == [
        ("removed", "x = 1"),
        ("added", "x = 2"),
        ("added", "if x:"),
        ("removed", "end()"),
        ("added", "end(1)"),
    ]
    assert ("skipped", "7 lines") in lines
    assert ("same", "    for i in y:") in lines
    assert changed(difference(OLD, NEW)) == 5
    assert changed(difference(OLD, OLD)) == 0


def test_pictures_are_on_one_scale() -> None:
    short = (Span("stage 0", "load", 0, 10), Span("tensor cores", "compute", 10, 20))
    long = (Span("CTA", "begin", 0, 50), Span("stage 10", "load", 50, 100), Span("stage 2", "load", 50, 60))
    one, other = pictures([short, long])
    assert (one.clocks, other.clocks) == (20, 100)
    assert max(box.x + box.width for box in other.boxes) == LEFT + WIDTH
    assert max(box.x + box.width for box in one.boxes) == pytest.approx(LEFT + WIDTH / 5)
    assert [name for name, _ in one.tracks] == ["stage 0", "tensor cores"]


class _Balanced(HTMLParser):
    """Counts tags that are opened and not closed, and collects text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_escapes_what_it_is_given() -> None:
    rows = table([("one", "<b>a</b>", time(8e-6, 1.0), None), ("two", "b & c", time(4e-6, 2.0), time(5e-6, 1.5))])
    spans = [(Span("stage 0", "load", 0, 10),), (Span("stage 0", "load", 0, 5),)]
    text = page("A <title>", rows, spans, [OLD, NEW + "'</pre><script>'"])
    parser = _Balanced()
    parser.feed(text)
    assert parser.open == []
    assert "<script" not in text
    assert "<b>" not in text
    assert not re.search(r"(src|href)=\"(?!#)", text)  # complete in itself
    for said in ("+ x = 2", "- x = 1", "8.0 us", "5.0 us", "2.00"):
        assert said in parser.text
    assert text.count("<rect") == 2
    assert "6 lines differ from step 1" in parser.text
