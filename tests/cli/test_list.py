"""`list` chooses and sorts, and no figure of a GPU that is not here goes without its origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.record.figures import GPU, timing
from warpwright.cli.listing import _key, _test
from warpwright.cli.origin import mark, origin
from warpwright.cli.results import measured_cells, measured_columns, timings
from warpwright.errors import UserError
from warpwright.pipeline import on_gpu
from warpwright.record import Evidence, Judgement, Subject, folders_in

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def row(**changes: Any) -> dict[str, Any]:
    timing = {"seconds": 191.6e-6, "vendor_ratio": 0.95, "shared": False}
    known = {"variant": "f16-a-c2x1-00000000", "config": "small", "registers": 168, "spills": 0, "predicted": None}
    return {**known, "measured": timing, "evidence": "emulated", "status": "correct", "note": "", **changes}


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ("registers>167", True),
        ("registers > 168", False),
        ("registers>=168", True),
        ("spills=0", True),
        ("spills!=0", False),
        ("measured<192us", True),
        ("measured<191.5", False),
        ("measured<0.2ms", True),
        ("measured>1s", False),
        ("predicted<1s", False),  # there is none
        ("vendor>=0.95", True),
        ("evidence>=built", True),
        ("evidence>=gpu-validated", False),
        ("evidence=emulated", True),
        ("variant=*-c2x1-*", True),
        ("variant=f16", False),
        ("status!=correct", False),
        ("note=", True),
    ],
)
def test_a_test_of_a_column(test: str, holds: bool) -> None:
    assert _test(test)(row()) is holds


@pytest.mark.parametrize(
    "test", ["", "registers", "registers>x", "nothing=1", "status>correct", "evidence>=no", "measured<1h", "1=1"]
)
def test_what_is_no_test_is_refused_with_the_way_out(test: str) -> None:
    with pytest.raises(UserError, match="--where"):
        _test(test)


def test_rows_sort_by_levels_and_by_numbers() -> None:
    rows = [row(evidence=each) for each in ("emulated", "benchmarked", "built")]
    key, backwards = _key("-evidence")
    assert key is not None
    assert backwards
    assert [each["evidence"] for each in sorted(rows, key=key)] == ["built", "emulated", "benchmarked"]
    with pytest.raises(UserError, match="no column 'speed'"):
        _key("speed")


def test_a_time_of_a_shared_gpu_is_set_against_nothing() -> None:
    shared = row(measured={"seconds": 191.6e-6, "vendor_ratio": 0.95, "shared": True})
    for text in ("measured<1s", "vendor>0", "vendor<=0.95"):
        assert (_test(text)(row()), _test(text)(shared)) == (True, False), text
    key, _ = _key("vendor")
    assert key is not None
    assert (key(row()), key(shared)) == (0.95, None)


def test_a_variant_that_is_not_correct_has_no_times() -> None:
    """It was timed, and then found wrong: a time that ranks it is no time of what was asked for."""
    timed = Evidence("benchmarked", "correct", Subject("a" * 64, "sm_90a", {}), {"problems": [timing()]}, gpu=GPU)
    (one,) = timings(Judgement("benchmarked", "correct", valid=(timed,)))
    assert one["seconds"] == pytest.approx(189.792e-6)
    for status in ("incorrect", "hang", "degraded", ""):
        assert timings(Judgement("benchmarked", status, valid=(timed,))) == []


@pytest.mark.parametrize(
    ("told", "at_hand", "where", "marked"),
    [
        ({}, True, "here", ""),
        ({"imported": True}, True, "imported", "imported: H200"),
        ({}, False, "imported", "imported: H200"),
        ({"gpu": {}}, False, "here", ""),
        ({"gpu": {}, "imported": True}, True, "imported", "imported"),
        ({"origin": "ledger"}, True, "ledger", "ledger: H200"),
    ],
)
def test_where_a_result_is_from(
    told: dict[str, Any], at_hand: bool, where: str, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_gpu, "at_hand", lambda: at_hand)
    subject = Subject("a" * 64, "sm_90a", {})
    found = Evidence(**{"method": "gpu-validated", "status": "correct", "subject": subject, "gpu": GPU, **told})
    assert (origin(found), mark(found)) == (where, marked)


def test_list_chooses_sorts_and_predicts(cli: Cli, out: Path) -> None:
    names = [folder.path.name for folder in folders_in(out / "small")]
    listed = json.loads(cli("list", "-o", out, "--sort", "-predicted", "--json").stdout)
    times = [each["predicted"]["seconds"] for each in listed]
    assert sorted(each["variant"] for each in listed) == sorted(names)
    assert times == sorted(times, reverse=True)
    (one,) = json.loads(cli("list", "-o", out, "--where", "variant=*128x128*", "--json").stdout)
    assert one["variant"] == names[1]
    assert json.loads(cli("list", "-o", out, "--status", "incorrect", "--json").stdout) == []
    assert "2 variants of 2" in cli("list", "-o", out, "--status", "correct").stderr
    assert cli("list", "-o", out, "--status", "wrong").exit_code == 2


def test_columns_of_times_name_one_origin_and_cells_name_several() -> None:
    timing = {"seconds": 191.6e-6, "vendor_ratio": 0.95, "shared": False}
    shared = measured_columns(["ledger: H200", "ledger: H200"])
    assert shared == ["measured (ledger: H200)", "vs vendor (ledger)"]
    assert measured_cells({**timing, "mark": "ledger: H200"}, shared) == ("191.6 us", "0.950")
    mixed = measured_columns(["", "ledger: H200"])
    assert mixed == ["measured", "vs vendor"]
    assert measured_cells({**timing, "mark": "ledger: H200"}, mixed) == (
        "191.6 us (ledger: H200)",
        "0.950 (ledger: H200)",
    )
    assert measured_cells({**timing, "mark": ""}, mixed) == ("191.6 us", "0.950")
    assert measured_columns(["", ""]) == ["measured", "vs vendor"]


@pytest.mark.usefixtures("shipped_ledger")
def test_figures_of_the_shipped_ledger_say_so_wherever_they_are_shown(cli: Cli, tmp_path: Path) -> None:
    """What a machine without a GPU shows of the demo, before it has built anything."""
    assert cli("generate", "quickstart", "-o", tmp_path / "out").exit_code == 0
    listed = json.loads(cli("list", "-o", tmp_path / "out", "--json").stdout)
    measured = [each for each in listed if each["measured"]]
    if not measured:
        pytest.skip("the ledger has no times for these sources now: templates have changed")
    assert {each["measured"]["origin"] for each in measured} == {"ledger"}
    assert {each["evidence_origin"] for each in measured} == {"ledger: H200"}
    table = cli("list", "-o", tmp_path / "out")
    assert "measured (ledger: H200)" in table.stdout.splitlines()[0]
    assert "benchmarked (ledger: H200)" in table.stdout
    assert "ledger: obtained elsewhere on NVIDIA H200" in table.stderr
    shown = cli("show", measured[0]["variant"], "-o", tmp_path / "out").stdout
    assert "benchmarked: correct on NVIDIA H200 (ledger)" in shown
