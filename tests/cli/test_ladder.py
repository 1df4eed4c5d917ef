"""The command `ladder`: the table, the page, and what is no ladder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder, make_plan
from tests.device.test_two_streams import ASKED
from tests.families.copy.points import legal
from tests.families.ladder.points import legal as legal_rung
from warpwright import resources
from warpwright.canonical import digest
from warpwright.cli import contrast
from warpwright.device.contrast import Asked
from warpwright.device.judged_by import checking_digest
from warpwright.device.marks import STAMPED, instrumented
from warpwright.device.supervise import Supervisor
from warpwright.diagnosis.perfetto import shortened
from warpwright.diagnosis.spans import Span, Trace
from warpwright.diagnosis.timeline import write_perfetto
from warpwright.errors import UserError
from warpwright.families.ladder.family import _converts
from warpwright.pipeline import Exploration, advance, plan, timelines
from warpwright.pipeline import contrast as pairs
from warpwright.pipeline import on_gpu as gpu
from warpwright.pipeline.beside_check import check_beside
from warpwright.pipeline.evidence_check import renewal
from warpwright.pipeline.judging import toolchain_here
from warpwright.record import Folder, read_json, write_json
from warpwright.render import render
from warpwright.steps.measured import measured

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


@pytest.mark.usefixtures("shipped_ledger")
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


def test_the_ladder_for_blackwell_is_told_beside_published_times(cli: Cli, tmp_path: Path) -> None:
    """Which are marked as others', and nobody is led to think that a device had run these kernels."""
    page = tmp_path / "page.html"
    done = cli("ladder", "ladder_sm100", "--page", page, "-o", tmp_path / "out")
    assert done.exit_code == 0
    head, *steps = done.stdout.splitlines()
    columns = ["step", "adds", "predicted", "published by others", "speed", "over first", "over before"]
    assert re.split(r"  +", head) == columns
    published = ["70.000 ms", "53.600 ms", "490.0 us", "230.0 us", "104.0 us", "94.0 us"]
    assert all(time in step for time, step in zip(published, steps, strict=False))
    told = done.stdout + done.stderr
    assert "published by others: of kernels of their own" in told
    assert "No Blackwell device has run these kernels" in told
    text = page.read_text()
    assert text.count("<h3>modelled</h3>") == text.count("<svg") == 6
    assert "published by others" in text
    assert "No Blackwell device has run these kernels" in text
    assert "Blackwell" not in cli("ladder", "-o", tmp_path / "out").stdout


def test_a_contrast_that_there_is_none_of_is_not_sent_to_another_machine(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpwright.pipeline.on_gpu.at_hand", lambda: False)
    for more in ([], ["--to", tmp_path / "bundle"]):
        done = cli("ladder", "ladder_sm100", "--contrast", *more, "-o", tmp_path / "out")
        assert done.exit_code == 2
        assert "ladder_sm100: no contrast is offered for sm_100a" in done.stderr
    assert "--contrast --to DIR" in cli("ladder", "ladder_sm90", "--contrast", "-o", tmp_path / "out").stderr


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
    monkeypatch.setattr(resources, "ledger", lambda: tmp_path / "none" / "ledger")
    assert cli("ladder", "-o", tmp_path / "out").exit_code == 0
    (found,) = (tmp_path / "out" / "ladder_sm90").glob("*-6-persistent-*")
    return found


def measurement(reader: Path) -> dict[str, Any]:
    """As `run.py` writes it, for both kernels as they are rendered."""
    text = (reader / "kernel.py").read_text()
    origin = {"variant": reader.name, "config": "ladder_sm90", "source_sha": digest(text), "cubin_sha": "1" * 64,
              "library_sha": "2" * 64, "arch": "sm_90a", "toolchain": toolchain_here()}  # fmt: skip
    made = next(v for v in plan("copy_sm90", reader.parent).legal if _converts(v.plan, legal_rung(6)))
    maker = {**origin, "variant": made.name, "config": "copy_sm90", "source_sha": digest(render(made.plan)),
             "toolchain": toolchain_here()}  # fmt: skip
    ways = [("maker", 1, 25.0)]
    for chunks in (1, 8):
        ways += [("reader", chunks, 200.0 + chunks), ("one stream", chunks, 226.0 + chunks),
                 ("two streams", chunks, 220.0 - chunks), ("two streams, narrow maker", chunks, 222.0)]  # fmt: skip
    gpu = {"gpu": "GPU", "compute_capability": "9.0", "sms": 132, "memory_bytes": 1, "driver": "1", "torch": "2",
           "cuda": "13", "tvm_ffi": "0", "python": "3.12"}  # fmt: skip
    return {
        "kind": "contrast", "protocol": 2, "maker": maker, "reader": origin, "seed": 1,
        "judged_by": checking_digest("ladder", ("bias_n", "relu")),
        "asked": {"argument": "a", "mode": "M", "unit": 128, "problem": {"m": 4096, "n": 4096, "k": 4096, "l": 1},
                  "scalars": {"alpha": 1.0}, "chunks": [1, 8]},
        "status": "correct", "diagnosis": "", "checked": {"elements": 1, "ratio": 0.5}, "shared": "", "gpu": gpu,
        "time": "2026-11-29T12:00:00Z",
        "ways": [{"way": w, "chunks": n, "us": [us, us + 1, us + 2], "host_us": [9.0] * 3} for w, n, us in ways],
    }  # fmt: skip


def test_two_kernels_on_two_streams_stand_beside_the_steps(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    out, committed = tmp_path / "out", tmp_path / "out" / "ledger" / "contrast" / "ladder_sm90.jsonl"
    found = {**measurement(rendered), "shared": "2 other compute processes seen"}
    write_json(rendered / "contrast.json", found)
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
    page = (tmp_path / "page.html").read_text()
    assert 'id="contrast"' in page
    assert "(GPU; shared GPU: 2 other compute processes seen)" in page
    assert "(shared GPU: 2 other compute processes seen)" in done.stderr
    cli("ledger", "ladder_sm90", "-o", out)
    assert json.loads(committed.read_text()) == found
    (rendered / "contrast.json").unlink()
    told = json.loads(cli("ladder", "-o", out, "--json").stdout)["contrast"]
    assert [cut["chunks"] for cut in told["cuts"]] == [1, 8]
    assert told["maker_seconds"] == pytest.approx(26e-6)
    # What is no measurement is named.
    committed.write_text(json.dumps({**measurement(rendered), "ways": []}) + "\n")
    done = cli("ladder", "-o", out)
    assert done.exit_code == 2
    assert "ladder_sm90.jsonl:1" in done.stderr


#: What was obtained with something else than is at hand: one change each of a measurement, and what is said of it.
CHANGED: list[tuple[Any, str]] = [
    (lambda m: m["reader"].update(source_sha="0" * 64), "of its reader, f16-6-persistent.*: it is for source 00000"),
    (
        lambda m: m["maker"].update(source_sha="0" * 64),
        "of its maker, f32.f16-.*: it is for source 000000000000",
    ),
    (
        lambda m: m["maker"].update(cubin_sha="0" * 64),
        "of its maker, .*: it is for cubin 000000000000",
    ),
    (
        lambda m: m["reader"]["toolchain"].update(cutlass_dsl="1"),
        "of its reader, .*: it was obtained with cutlass_dsl 1,",
    ),
    (lambda m: m["maker"]["toolchain"].update(dsl_libs="1"), "of its maker, .*: it was obtained with dsl_libs 1, now"),
    (lambda m: m.update(judged_by="0" * 16), "it was judged by code 0000000000000000, which is now"),
    (lambda m: (m.update(protocol=1), m.pop("judged_by")), "it was obtained with version 1 of the method"),
    (
        lambda m: m["asked"]["problem"].update(k=128),
        "its problem is {.*'k': 128, .*}, which is now",
    ),
    (lambda m: m["maker"].update(variant="another"), "of its maker, another: it is f32.f16-.* here"),
    (lambda m: m["asked"].update(scalars={"alpha": 2.0}), "its scalars is {'alpha': 2.0}, which is now"),
]


def test_a_contrast_counts_for_what_it_was_obtained_with(
    rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anything else is stale, for table and page, for the ledger, and for `ci`."""
    out, right = tmp_path / "out", measurement(rendered)
    exploration, maker = exploration_of(out), out / "copy_sm90" / right["maker"]["variant"]
    built, result = {key: right["maker"][key] for key in ("source_sha", "cubin_sha")}, Folder.result
    monkeypatch.setattr(Folder, "result", lambda self, method: built if self.path == maker else result(self, method))
    committed = out / "ledger" / "contrast" / "ladder_sm90.jsonl"
    committed.parent.mkdir(parents=True)
    for change, said in CHANGED:
        found = measurement(rendered)
        change(found)
        write_json(rendered / "contrast.json", found)
        committed.unlink(missing_ok=True)
        known = pairs.known(exploration)
        assert known is not None
        assert re.search(said, known.stale), known.stale
        assert contrast.known_contrast(exploration) == (None, known.stale)
        assert pairs.commit(exploration) is None
        committed.write_text(json.dumps(found) + "\n")
        (complaint,) = check_beside(exploration)
        assert (complaint.method, complaint.problem, complaint.fatal) == ("contrast", "stale", False)
        assert re.search(said, complaint.example)
        committed.write_text(json.dumps(right) + "\n")
        again = pairs.known(exploration)
        assert again is not None
        assert (again.stale, again.place) == ("", f"{committed}:1")  # what counts goes before what is stale
        assert list(check_beside(exploration)) == []
    assert "warpwright ladder ladder_sm90 --contrast" in renewal("ladder_sm90", complaint)


def test_table_and_page_say_of_a_contrast_that_it_is_stale(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    found, page = measurement(rendered), tmp_path / "page.html"
    found["maker"]["source_sha"] = "0" * 64
    write_json(rendered / "contrast.json", found)
    done = cli("ladder", "-o", tmp_path / "out", "--page", page)
    said = "of its maker, f32.f16-.*: it is for source 000000000000, the source is now"
    assert re.search(f"is stale: {said}", done.stderr.replace("\n", " ")), done.stderr
    assert re.search(f'<p class="stale">stale: .*{said}', page.read_text())
    told = json.loads(cli("ladder", "-o", tmp_path / "out", "--json").stdout)
    assert told["contrast"] is None
    assert re.match(said, told["stale_contrast"])


def exploration_of(out: Path) -> Exploration:
    exploration = plan("ladder_sm90", out)
    advance(exploration, ("render",))
    return exploration


SPANS = (Span("load", "producer", 4, 0, 500, "ab stage 0", 0), Span("compute", "consumer 0", 0, 500, 900, "ab", 0))


def obtained(variant: Path) -> dict[str, Any]:
    """As a diagnosis tells it, for a variant as it is rendered."""
    text, twin = (variant / "kernel.py").read_text(), render(instrumented(legal_rung(6), STAMPED))
    return {"protocol": 1, "source_sha": digest(text), "cubin_sha": "1" * 64, "twin_sha": digest(twin),
            "arch": "sm_90a", "toolchain": toolchain_here(), "gpu": {"gpu": "GPU"}}  # fmt: skip


def test_a_measured_timeline_of_its_own_is_shown_and_committed(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    more = {"obtained": obtained(rendered), "shared": ""}
    for source, count in (("modelled", 9), ("measured", 10)):
        write_perfetto(rendered / "timeline.json", Trace(0, SPANS, ()), rendered.name, source, "", more)
        done = cli("ladder", "-o", out, "--page", page)
        assert page.read_text().count("<svg") == count
        assert ("not shown: " in done.stderr) == (source == "modelled")
    cli("ledger", "ladder_sm90", "-o", out)
    committed = out / "ledger" / "timelines" / f"{rendered.name}.json"
    own = json.loads((rendered / "timeline.json").read_text())  # it is short
    assert json.loads(committed.read_text()) == shortened(own)
    assert measured(shortened(own), rendered.name) == measured(own, rendered.name)
    (rendered / "timeline.json").unlink()
    cli("ladder", "-o", out, "--page", page)
    assert page.read_text().count("<svg") == 10
    assert list(check_beside(exploration_of(out))) == []
    committed.write_text("{}")
    (complaint,) = check_beside(exploration_of(out))
    assert (complaint.method, complaint.problem, complaint.fatal) == ("timeline", "not to be read", True)


def test_a_timeline_of_a_shared_gpu_says_so(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    more = {"obtained": obtained(rendered), "shared": "2 other compute processes seen"}
    write_perfetto(rendered / "timeline.json", Trace(0, SPANS, ()), rendered.name, "measured", "64x64", more)
    cli("ladder", "-o", tmp_path / "out", "--page", tmp_path / "page.html")
    told = "<h3>measured, 64x64 (shared GPU: 2 other compute processes seen)</h3>"
    assert told in (tmp_path / "page.html").read_text()


#: The same of a timeline.
OBTAINED: list[tuple[dict[str, Any] | None, str]] = [
    ({"source_sha": "0" * 64}, "it is for source 000000000000"),
    ({"twin_sha": "0" * 64}, "its twin had source 000000000000, which is now"),
    ({"cubin_sha": "0" * 64}, "it is for cubin 000000000000, the same source now gives 111111111111"),
    ({"toolchain": {"cutlass_dsl": "1"}}, "it was obtained with cutlass_dsl 1, now"),
    ({"arch": "sm_100a"}, "it is for sm_100a"),
    ({"protocol": 7}, "it was obtained with version 7 of the method"),
    ({"toolchain": None}, "it does not say what it was obtained with"),
    (None, "it does not say what it was obtained with"),
]


def test_a_timeline_counts_for_what_it_was_obtained_with(cli: Cli, rendered: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    exploration, own = exploration_of(out), rendered / "timeline.json"
    committed = out / "ledger" / "timelines" / own.with_stem(rendered.name).name
    for variant in exploration.variants:
        variant.build = {"source_sha": digest(variant.source), "cubin_sha": "1" * 64}
    (sixth,) = (variant for variant in exploration.variants if variant.name == rendered.name)
    for change, said in OBTAINED:
        of = {} if change is None else {**obtained(rendered), **change}
        for path in (own, committed):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_perfetto(path, Trace(0, SPANS, ()), rendered.name, "measured", "", {"obtained": of})
        known = timelines.known(sixth, out)
        assert known.measured is None
        assert known.stale.startswith(said)
        (complaint,) = check_beside(exploration)
        assert (complaint.method, complaint.problem, complaint.fatal) == ("timeline", "stale", False)
        assert complaint.example == known.stale
        committed.unlink()
        assert timelines.commit(exploration) == []
    assert "run.py --only timeline" in renewal("ladder_sm90", complaint)
    done = cli("ladder", "-o", out, "--page", page)
    assert "left out of account: 1 stale measured timeline; the page says why" in done.stderr
    assert page.read_text().count("<svg") == 9
    assert f'<p class="stale">measured timeline: stale: {said}' in page.read_text()


def test_the_nearest_measured_timeline_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One's own, else what one has committed, else what ships; one that is none gives way to the next, with a word."""
    monkeypatch.setattr(resources, "ledger", lambda: tmp_path / "shipped" / "ledger")
    places = {
        "own": tmp_path / "out" / "config" / "it-0123" / "timeline.json",
        "committed": tmp_path / "out" / "ledger" / "timelines" / "it-0123.json",
        "shipped": tmp_path / "shipped" / "ledger" / "timelines" / "it-0123.json",
    }
    for place, path in places.items():
        path.parent.mkdir(parents=True)
        write_perfetto(path, Trace(0, SPANS, ()), "it-0123", "measured", place)
    monkeypatch.setattr(timelines, "_stale", lambda obtained, variant: "")
    variant: Any = SimpleNamespace(name="it-0123", folder=SimpleNamespace(path=places["own"].parent))
    for number, (place, path) in enumerate(places.items()):
        found = timelines.known(variant, tmp_path / "out")
        assert found.measured is not None
        assert found.measured.source == f"measured, {place}"
        assert len(found.odd) == (number == 2)
        path.write_text("none") if number % 2 else path.unlink()
    assert timelines.known(variant, tmp_path / "out").measured is None


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
