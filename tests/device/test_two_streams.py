"""Two kernels for the work of one, on a double of the device whose streams run as late as they may."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.device.doubles import ROOT, HostStreams, HostTimer, PairBackend
from tests.device.plans import make_folder, make_plan
from tests.families.copy.points import legal
from warpwright.device import two_streams
from warpwright.device.contrast import Asked, contrast
from warpwright.device.supervise import Supervisor
from warpwright.device.two_streams import MAKER, NARROW, ONE, READER, TWO, run_two_streams
from warpwright.device.variant import Variant, load_variant

PROBLEM = {"m": 80, "n": 24, "k": 16, "l": 1}
ASKED = {"argument": "a", "mode": "M", "unit": 16, "problem": PROBLEM, "scalars": {"alpha": 1.0}, "chunks": [1, 2, 5]}


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    maker = make_folder(tmp_path, legal("f32", "f16", stage_bytes=2048), "maker-000000000000")
    reader = make_folder(tmp_path, make_plan(epilogue=("bias_n", "relu")), "reader-111111111111")
    return {"maker": str(maker), "reader": str(reader)}


def measure(folders: dict[str, str], **how: Any) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    request = {**ASKED, **folders, "rounds": 3, "seed": 5, **how}
    assert run_two_streams(PairBackend(), request, events.append)
    assert events[-1] == {"event": "done"}
    return events[-2]


@pytest.mark.parametrize("order", ["first", "last"])
def test_every_way_gives_what_the_reader_alone_gives(
    folders: dict[str, str], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_ORDER", order)
    found = measure(folders)
    assert found["checked"]["faults"] == []
    assert found["checked"]["elements"] == 80 * 24
    ways = [(way["way"], way["chunks"]) for way in found["ways"]]
    # 80 rows in pieces of 16: two are 48 and 32 long, five are as many as there can be.
    assert ways == [(MAKER, 1), *((name, chunks) for chunks in (1, 2, 5) for name in (READER, ONE, TWO, NARROW))]
    for way in found["ways"]:
        assert len(way["us"]) == len(way["host_us"]) == 3
        assert min(way["us"]) > 0


@pytest.mark.parametrize("length", [1, 15, 16, 17, 80, 81, 4096])
@pytest.mark.parametrize("chunks", [1, 2, 3, 5, 16, 100])
def test_pieces_are_whole_units_but_for_the_last(length: int, chunks: int) -> None:
    pair: Any = SimpleNamespace(length=length, unit=16)
    parts = two_streams._Pair._cut(pair, chunks)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert parts[-1].stop == length
    sizes = [part.stop - part.start for part in parts]
    assert all(size == sizes[0] and size % 16 == 0 for size in sizes[:-1])
    assert 0 < sizes[-1] <= max(sizes[0], 16)
    assert len(parts) <= chunks


class _Careless(HostStreams):
    """Streams of which one never waits."""

    forgets = 0

    def wait(self, index: int, launched: object) -> None:
        if index != self.forgets:
            super().wait(index, launched)


@pytest.mark.parametrize(("forgets", "order"), [(0, "first"), (1, "last")])
def test_who_does_not_wait_is_found(
    folders: dict[str, str], forgets: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The maker for an empty buffer, or the reader for a full one."""
    monkeypatch.setenv("STREAM_ORDER", order)
    careless = type("Careless", (_Careless,), {"forgets": forgets})
    monkeypatch.setattr(PairBackend, "streams", lambda self, count: careless(count))
    found = measure(folders)
    assert found["ways"] == []
    (fault,) = found["checked"]["faults"]
    assert fault.startswith("two streams of ")
    assert "is not what the reader alone gives" in fault


def test_a_narrow_maker_has_as_many_ctas_as_the_reader(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def load(self: PairBackend, variant: Variant) -> Callable[..., None]:
        cast = original(self, variant)
        if variant.plan.family == "gemm":
            return cast
        return lambda x, y, alpha, ctas: (asked.append(ctas), cast(x, y, alpha, ctas))[1]  # type: ignore[func-returns-value]

    original = PairBackend.load
    monkeypatch.setattr(PairBackend, "load", load)
    monkeypatch.setattr(PairBackend, "max_clusters", lambda _, plan: 5 if plan.family == "gemm" else 24)
    measure(folders, chunks=[1], rounds=1)
    assert set(asked) == {5, 24}
    # Each run of a way: once to check it, twice to warm up, once timed; full ones also once ahead of all.
    assert (asked.count(5), asked.count(24)) == (4, 3 * 4 + 1)


def test_what_warms_up_does_not_count(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of which every reading is later by more than the one before: times tell when they were taken."""
    launched = iter(range(10**6))

    class Numbered(HostTimer):
        def collect(self, waiting: Callable[[int], None]) -> list[float]:
            return [float(next(launched)) for _ in super().collect(waiting)]

    read = iter(range(10**6))
    monkeypatch.setattr(two_streams, "time", SimpleNamespace(perf_counter=lambda: next(read) ** 2))
    monkeypatch.setattr(PairBackend, "timer", lambda self: Numbered())
    ways = measure(folders, rounds=4)["ways"]
    for way in ways:
        assert [us // len(ways) for us in way["us"]] == [2, 3, 4, 5]  # two rounds of all ways come before
        assert [(us / 1e6 - 1) / 4 // len(ways) for us in way["host_us"]] == [2, 3, 4, 5]


@pytest.mark.parametrize(("idle", "way"), [("_side_by_side", "two streams of 1"), ("make", "narrow maker of 1")])
def test_what_a_way_before_has_left_is_not_taken_for_its_own(
    folders: dict[str, str], idle: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A way that computes nothing, or a maker that makes nothing, where the results of others lie."""
    original = getattr(two_streams._Pair, idle)

    def nothing(self: Any, *given: Any, **how: Any) -> Callable[[], object]:
        return (lambda: None) if idle != "make" or how.get("narrow") else original(self, *given, **how)

    monkeypatch.setattr(two_streams._Pair, idle, nothing)
    (fault,) = measure(folders, chunks=[1])["checked"]["faults"]
    assert f"{way}: d" in fault
    assert "is not what the reader alone gives" in fault


@pytest.mark.parametrize(
    ("maker", "reader", "fault"),
    [("last", "", "what was made is not its input, rounded"), ("", "drop", "elements are outside their bound")],
)
def test_a_wrong_kernel_is_not_timed(tmp_path: Path, maker: str, reader: str, fault: str) -> None:
    one = make_folder(tmp_path, legal("f32", "f16", stage_bytes=2048), "maker-000000000000", fault=maker)
    other = make_folder(tmp_path, make_plan(), "reader-111111111111", fault=reader)
    found = measure({"maker": str(one), "reader": str(other)})
    assert found["ways"] == []
    assert fault in found["checked"]["faults"][0]


def test_what_cannot_be_made_in_pieces_is_refused(folders: dict[str, str]) -> None:
    with Supervisor("tests.device.doubles:PairBackend", paths=[ROOT]) as supervisor:
        for extents in ({"l": 2}, {"k": 12}):  # rows of 24 bytes are padded to 32
            maker, reader = (load_variant(Path(folders[who])) for who in ("maker", "reader"))
            asked = Asked(**{**ASKED, "problem": {**PROBLEM, **extents}})
            found = contrast(maker, reader, supervisor, asked, rounds=1)
            assert found["status"] == "launch_failed"
            assert "a is not one dense piece per M" in found["diagnosis"]


def test_a_result_says_for_whom_it_is(folders: dict[str, str]) -> None:
    with Supervisor("tests.device.doubles:PairBackend", paths=[ROOT]) as supervisor:
        maker, reader = (load_variant(Path(folders[who])) for who in ("maker", "reader"))
        found = contrast(maker, reader, supervisor, Asked(**ASKED), rounds=2, seed=7)
        assert (found["kind"], found["status"], found["diagnosis"], found["seed"]) == ("contrast", "correct", "", 7)
        assert found["reader"] == reader.origin.told()
        assert found["maker"] == maker.origin.told()
        assert found["asked"] == {**ASKED, "problem": PROBLEM}
        assert found["gpu"]["gpu"] == "double"
        assert len(found["ways"]) == 13
        assert SimpleNamespace(**found["checked"]).ratio <= 1
