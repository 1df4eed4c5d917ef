"""The command `ladder`: the table, the page, and what is no ladder."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder, make_plan
from tests.device.test_two_streams import ASKED
from tests.families.copy.points import legal
from warpwright import resources
from warpwright.canonical import digest
from warpwright.cli import contrast
from warpwright.cli.ladder import _timeline
from warpwright.device.contrast import Asked
from warpwright.device.supervise import Supervisor
from warpwright.diagnosis.spans import Span, Trace
from warpwright.diagnosis.timeline import write_perfetto
from warpwright.errors import UserError
from warpwright.pipeline import on_gpu as gpu
from warpwright.record import read_json, write_json

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def test_the_shipped_ladder_is_told_step_by_step(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = cli("ladder", "--page", page, "-o", tmp_path / "out")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    steps = lines[: lines.index("")] if "" in lines else lines  # the contrast is below
    assert [line.split()[0] for line in steps[1:]] == list("123456789")
    text = page.read_text()
    assert text.count("<h3>modelled</h3>") == 9
    assert text.count("<svg") == text.count("<h3>")
    assert text.count("<svg") >= 9
    assert text.count("lines differ from step") == 8
    assert cli("ladder", "--page", page, "-o", tmp_path / "out").exit_code == 0  # its own kind is replaced


def test_the_same_as_data(cli: Cli, tmp_path: Path) -> None:
    told = json.loads(cli("ladder", "ladder_sm90", "--json", "-o", tmp_path).stdout)
    rows = told["steps"]
    assert [row["number"] for row in rows] == list(range(1, 10))
    assert rows[0]["over_first"] == rows[0]["over_before"] == 1
    assert rows[8]["over_first"] > 100


def test_what_is_no_ladder_is_named(cli: Cli, config: Path, tmp_path: Path) -> None:
    done = cli("ladder", config, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "no steps of a sequence" in done.stderr


def test_no_other_file_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "notes.txt"
    mine.write_text("mine")
    done = cli("ladder", "--page", mine, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert mine.read_text() == "mine"


@pytest.fixture
def rendered(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ladder as it is rendered now, with no evidence anywhere; the path of its sixth variant."""
    monkeypatch.setattr(resources, "ledger", lambda: tmp_path / "none")
    assert cli("ladder", "-o", tmp_path / "out").exit_code == 0
    (found,) = (tmp_path / "out" / "ladder_sm90").glob("*-6-persistent-*")
    return found


def measurement(reader: Path) -> dict[str, Any]:
    """As `run.py` writes it, for a variant as it is rendered."""
    text = (reader / "kernel.py").read_text()
    origin = {"variant": reader.name, "config": "ladder_sm90", "source_sha": digest(text), "cubin_sha": "1" * 64,
              "library_sha": "2" * 64, "arch": "sm_90a", "toolchain": {"cutlass_dsl": "4"}}  # fmt: skip
    ways = [("maker", 1, 25.0)]
    for chunks in (1, 8):
        ways += [("reader", chunks, 200.0 + chunks), ("one stream", chunks, 226.0 + chunks),
                 ("two streams", chunks, 220.0 - chunks), ("two streams, narrow maker", chunks, 222.0)]  # fmt: skip
    gpu = {"gpu": "GPU", "compute_capability": "9.0", "sms": 132, "memory_bytes": 1, "driver": "1", "torch": "2",
           "cuda": "13", "tvm_ffi": "0", "python": "3.12"}  # fmt: skip
    return {
        "kind": "contrast", "protocol": 1, "maker": {**origin, "variant": "cast"}, "reader": origin, "seed": 1,
        "asked": {"argument": "a", "mode": "M", "unit": 128, "problem": {"m": 4096, "n": 4096, "k": 4096, "l": 1},
                  "scalars": {"alpha": 1.0}, "chunks": [1, 8]},
        "status": "correct", "diagnosis": "", "checked": {"elements": 1, "ratio": 0.5}, "shared": "", "gpu": gpu,
        "time": "2026-11-29T12:00:00Z",
        "ways": [{"way": w, "chunks": n, "us": [us, us + 1, us + 2], "host_us": [9.0]} for w, n, us in ways],
    }  # fmt: skip


def test_two_kernels_on_two_streams_stand_beside_the_steps(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    out, committed = tmp_path / "out", tmp_path / "out" / "ledger" / "contrast" / "ladder_sm90.jsonl"
    write_json(rendered / "contrast.json", measurement(rendered))
    done = cli("ladder", "-o", out, "--page", tmp_path / "page.html")
    assert done.stdout.splitlines()[-1].split() == [
        "8",
        "209.0",
        "us",
        "235.0",
        "us",
        "213.0",
        "us",
        "223.0",
        "us",
        "1.103",
        "1.054",
    ]
    assert "they take, in 8 chunks, 213.0 us: 6.6% less than both whole" in done.stderr
    assert 'id="contrast"' in (tmp_path / "page.html").read_text()
    cli("ledger", "ladder_sm90", "-o", out)
    assert json.loads(committed.read_text()) == measurement(rendered)
    (rendered / "contrast.json").unlink()
    told = json.loads(cli("ladder", "-o", out, "--json").stdout)["contrast"]
    assert [cut["chunks"] for cut in told["cuts"]] == [1, 8]
    assert told["maker_seconds"] == pytest.approx(26e-6)
    # Of another source it says nothing, and what is no measurement is named.
    other = measurement(rendered)
    other["reader"] = {**other["reader"], "source_sha": "0" * 64}
    committed.write_text(json.dumps(other) + "\n")
    assert json.loads(cli("ladder", "-o", out, "--json").stdout)["contrast"] is None
    committed.write_text(json.dumps({**other, "ways": []}) + "\n")
    done = cli("ladder", "-o", out)
    assert done.exit_code == 2
    assert "ladder_sm90.jsonl:1" in done.stderr


def test_a_measured_timeline_of_its_own_is_shown(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    spans = (Span("load", "producer", 4, 0, 500, "ab stage 0", 0), Span("compute", "consumer 0", 0, 500, 900, "ab", 0))
    for source, count in (("measured", 10), ("modelled", 9)):
        write_perfetto(rendered / "timeline.json", Trace(0, spans, ()), rendered.name, source)
        done = cli("ladder", "-o", tmp_path / "out", "--page", tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text().count("<svg") == count
        assert ("not shown: it is modelled" in done.stderr) == (source == "modelled")


def test_the_nearest_measured_timeline_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One's own, else what one has committed, else what ships; one that is none gives way to the next, with a word."""
    monkeypatch.setattr(resources, "ledger", lambda: tmp_path / "shipped")
    places = {
        "own": tmp_path / "out" / "config" / "it-0123" / "timeline.json",
        "committed": tmp_path / "out" / "ledger" / "timelines" / "it-0123.json",
        "shipped": tmp_path / "shipped" / "timelines" / "it-0123.json",
    }
    trace = Trace(0, (Span("load", "producer", 4, 0, 500, "ab stage 0", 0),), ())
    for place, path in places.items():
        path.parent.mkdir(parents=True)
        write_perfetto(path, trace, "it-0123", "measured", place)
    variant: Any = SimpleNamespace(name="it-0123", folder=SimpleNamespace(path=places["own"].parent))
    for number, (place, path) in enumerate(places.items()):
        found = _timeline(variant, tmp_path / "out")
        assert found is not None
        assert found.source == f"measured, {place}"
        path.write_text("none") if number % 2 else path.unlink()
    assert _timeline(variant, tmp_path / "out") is None


def test_where_nothing_can_be_measured(
    cli: Cli, rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(gpu, "at_hand", lambda: False)
    done = cli("ladder", "-o", out, "--contrast")
    assert (done.exit_code, "warpwright ladder ladder_sm90 --contrast --to DIR" in done.stderr) == (2, True)
    done = cli("ladder", "-o", out, "--contrast", "--to", tmp_path / "bundle")
    assert (done.exit_code, "is not built; `warpwright run ladder_sm90 --only" in done.stderr) == (2, True)
    done = cli("ladder", "-o", out, "--to", tmp_path / "bundle")
    assert (done.exit_code, "--to packs what --contrast measures" in done.stderr) == (2, True)
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("fault", ["", "last"])
def test_it_is_measured_and_recorded_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    out = tmp_path / "out"
    maker = make_folder(out / "casts", legal("f32", "f16", stage_bytes=2048), "maker-000000000000", fault=fault)
    reader = make_folder(out / "demo", make_plan(epilogue=("bias_n", "relu")), "reader-111111111111")
    folders = {"maker": maker, "reader": reader}
    pair = {who: SimpleNamespace(folder=SimpleNamespace(path=path)) for who, path in folders.items()}
    monkeypatch.setattr(contrast, "_pair", lambda _: SimpleNamespace(**pair, asked=Asked(**ASKED)))
    monkeypatch.setattr(gpu, "at_hand", lambda: True)
    monkeypatch.setattr(gpu, "supervisor", lambda: Supervisor("tests.device.doubles:PairBackend", paths=[ROOT]))
    exploration: Any = SimpleNamespace(out=out, typed="demo")
    if fault:
        with pytest.raises(UserError, match="incorrect: what was made is not its input"):
            contrast.measure(exploration)
    else:
        contrast.measure(exploration)
    stored = read_json(reader / "contrast.json")
    assert stored is not None
    assert (stored["status"], len(stored["ways"])) == (("incorrect", 0) if fault else ("correct", 13))
