"""A sequence of steps: the gains of its table, the differences of sources, and the page with all of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from warpwright.cli.results import format_seconds
from warpwright.device.two_streams import MAKER, NARROW, ONE, READER, TWO
from warpwright.plan.step import Published, Span, Step
from warpwright.steps import Shown, page, table
from warpwright.steps.contrast import Contrast, Cut, contrast
from warpwright.steps.difference import changed, difference
from warpwright.steps.measured import Measured
from warpwright.steps.picture import LEFT, WIDTH, longest, picture

THEIRS = Published(9e-6, {"m": 64}, "a page <1>")


def time(seconds: float, speed: float, size: int = 64, vendor: float | None = None) -> dict[str, Any]:
    told = {"problem": {"m": size}, "seconds": seconds, "speed": speed, "rate": "TFLOP/s", "vendor_ratio": vendor}
    return {**told, "mark": "ledger: GPU"} if vendor else told


def test_gains_are_of_measured_speeds_where_both_are_and_of_predicted_ones_else() -> None:
    rows = table(
        [
            ("one", Step("a", ()), time(8.0, 1.0), time(10.0, 0.5, size=8, vendor=0.1)),  # on a problem of its own
            ("two", Step("b", (), THEIRS), time(4.0, 2.0), None),
            ("three", Step("c", ()), time(2.0, 4.0), time(2.5, 3.0, vendor=0.6)),
        ]
    )
    assert [(row.number, row.name, row.adds, row.vendor) for row in rows] == [
        (1, "one", "a", 0.1),
        (2, "two", "b", None),
        (3, "three", "c", 0.6),
    ]
    assert [row.published for row in rows] == [None, THEIRS, None]
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
    short = (Span("stage 0", "load", 0, 1000), Span("tensor cores", "compute", 1000, 2000))
    long = (Span("CTA", "begin", 70, 5070), Span("stage 10", "load", 5070, 10070), Span("stage 2", "load", 5070, 6070))
    assert longest([short, long, ()]) == 10_000
    one, other = (picture(spans, 10_000) for spans in (short, long))
    assert max(box.x + box.width for box in other.boxes) == LEFT + WIDTH
    assert max(box.x + box.width for box in one.boxes) == pytest.approx(LEFT + WIDTH / 5)
    assert [name for name, _ in one.tracks] == ["stage 0", "tensor cores"]
    assert other.boxes[0].title == "begin: 0 to 5000, 5000 clocks"
    assert one.ticks == other.ticks
    assert one.ticks[1] == ("1,000", LEFT + WIDTH / 10)


class _Balanced(HTMLParser):
    """Counts tags that are opened and not closed, and collects text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "line":
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def written(
    measured: Measured | None = None, beside: Any = None, theirs: Published | None = None, untried: str = ""
) -> str:
    rows = table(
        [
            ("one", Step("<b>a</b>", (), theirs), time(8e-6, 1.0), None),
            ("two", Step("b & c", ()), time(4e-6, 2.0), time(5e-6, 1.5, vendor=0.0021)),
        ]
    )
    shown = [
        Shown(rows[0], (Span("stage 0", "load", 0, 10),), None, OLD, untried=untried),
        Shown(rows[1], (Span("stage 0", "load", 0, 5),), measured, NEW + "'</pre><script>'"),
    ]
    return page("A <title>", shown, lambda told: f"{told.problem['m']} rows", format_seconds, beside)


def test_the_page_is_whole_and_escapes_what_it_is_given() -> None:
    text = written()
    parser = _Balanced()
    parser.feed(text)
    assert parser.open == []
    assert "<script" not in text
    assert "<b>" not in text
    assert not re.search(r"(src|href)=\"(?!#)", text)  # complete in itself
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(re.findall(r'id="([^"]*)"', text))
    for said in (
        "+ x = 2",
        "- x = 1",
        "8.0 us",
        "5.0 us",
        "2.00",
        "0.002",
        "Times are for 64 rows, measured ones (ledger: GPU).",
    ):
        assert said in parser.text
    assert text.count("<rect") == 2
    assert "6 lines differ from step 1" in parser.text
    assert "two streams" not in parser.text


def test_published_times_are_marked_as_others() -> None:
    text = written(theirs=THEIRS, untried="no <device>")
    parser = _Balanced()
    parser.feed(text)
    assert parser.open == []
    for said in ("published by others", "9.0 us", "kernels of their own: a page <1>.", "no <device>"):
        assert said in parser.text
    assert text.count('class="stale"') == 1
    assert "published" not in written()


def test_a_measured_timeline_stands_below_the_modelled_one() -> None:
    text = written(
        Measured((Span("stage 0", "load", 1e9, 1e9 + 4), Span("consumer 0", "compute", 1e9 + 4, 1e9 + 90)), "a <GPU>")
    )
    assert re.findall(r"<h3>(.*?)</h3>", text) == ["modelled", "modelled", "a &lt;GPU&gt;"]
    assert "load: 0 to 4, 4 clocks" in text
    assert "compute: 4 to 10, 6 clocks" in text  # as long as the modelled ones are


@pytest.mark.parametrize("slower", [TWO, NARROW])
def test_every_median_has_its_place(slower: str) -> None:
    """Of samples that all differ; the host's is that of the way which takes it longest to enqueue."""
    keys = [(MAKER, 1), *((way, chunks) for chunks in (8, 1) for way in (READER, ONE, TWO, NARROW))]
    us = {key: 10.0 * number for number, key in enumerate(keys, 1)}
    ways = [{"way": way, "chunks": chunks, "us": [us[way, chunks], 1.0, 999.0],
             "host_us": [us[way, chunks] + 1000 * (way == slower), 1.0, 9999.0]} for way, chunks in keys]  # fmt: skip
    told = {"asked": {"problem": {"m": 64}}, "gpu": {"gpu": "GPU"}, "reader": {"variant": "reads"},
            "maker": {"variant": "makes"}, "shared": "somebody"}  # fmt: skip
    found = contrast({**told, "ways": ways})
    assert (found.problem, found.gpu, found.reader, found.maker, found.shared) == (
        {"m": 64}, "GPU", "reads", "makes", "somebody"
    )  # fmt: skip
    assert (found.maker_seconds, found.whole) == pytest.approx((us[MAKER, 1] * 1e-6, us[READER, 1] * 1e-6))
    assert [cut.chunks for cut in found.cuts] == [1, 8]
    for cut in found.cuts:
        n = cut.chunks
        seconds = (cut.reader, cut.one_stream, cut.two_streams, cut.narrow)
        assert seconds == pytest.approx([us[way, n] * 1e-6 for way in (READER, ONE, TWO, NARROW)])
        assert cut.host == pytest.approx((us[slower, n] + 1000) * 1e-6)


def test_two_kernels_stand_beside_the_steps() -> None:
    cuts = (Cut(1, 10e-6, 14e-6, 15e-6, 14e-6, 1e-6), Cut(2, 11e-6, 16e-6, 13e-6, 12e-6, 2e-6))
    beside = Contrast({"m": 64}, "GPU", "reads", "makes", 4e-6, 10e-6, cuts)
    assert (beside.best.chunks, beside.best.gain) == (2, pytest.approx(4 / 3))
    assert beside.words == "14.3% less than both whole, one after the other"
    text = written(beside=beside)
    assert "makes makes what reads reads, chunk by chunk" in text
    assert "2 chunks, 12.0 us: 14.3% less than both whole" in text
    assert (
        "<td>2</td><td>11.0 us</td><td>16.0 us</td><td>13.0 us</td><td>12.0 us</td><td>1.333</td><td>1.200</td>" in text
    )
