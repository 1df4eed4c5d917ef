"""`warpwright ledger` writes what holds, keeps what nothing supersedes, and is the same text every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from warpwright.pipeline.raw_runs import raw_path, write_runs

if TYPE_CHECKING:
    from tests.ci.conftest import Checkout

LEDGER = ("ledger", "configs/shipped.yaml")


def test_line_says_what_for_and_what_was_found(green: Checkout) -> None:
    table, line, emulated = [json.loads(text) for text in green.ledger.read_text().splitlines()]
    (folder,) = [path for path in (green.top / "out" / "shipped").iterdir() if path.is_dir()]
    build = json.loads((folder / "build.json").read_text())
    assert {line[key] == build[key] for key in ("source_sha", "cubin_sha", "arch")} == {True}
    assert (table["table"], table["toolchain"]) == ("toolchain", build["toolchain"])
    assert table["id"] == line["toolchain"] == emulated["toolchain"]
    assert folder.name.startswith(line["label"])
    assert (line["method"], line["status"]) == ("built", "correct")
    assert line["figures"]["registers"] == build["registers"]
    assert (emulated["method"], emulated["status"]) == ("emulated", "correct")
    assert {"seconds", "rate"}.isdisjoint({**line["figures"], **emulated["figures"]})


def test_renewing_changes_nothing_when_nothing_changed(checkout: Checkout) -> None:
    before = checkout.ledger.read_text()
    stamp = checkout.ledger.stat().st_mtime_ns
    assert checkout.run(*LEDGER).returncode == 0
    assert (checkout.ledger.read_text(), checkout.ledger.stat().st_mtime_ns) == (before, stamp)


def test_stale_results_are_not_taken_over(checkout: Checkout) -> None:
    before = checkout.ledger.read_text()
    checkout.template.write_text(checkout.template.read_text() + "# another last line\n")
    done = checkout.run(*LEDGER)
    assert done.returncode == 1
    assert "warpwright run configs/shipped.yaml" in done.stderr
    assert checkout.ledger.read_text() == before


def test_lines_of_former_variants_stay_until_pruned(checkout: Checkout) -> None:
    first = checkout.ledger.read_text().splitlines()[1]
    former = {**json.loads(first), "identity": "0" * 12, "label": "former"}
    checkout.ledger.write_text(checkout.ledger.read_text() + json.dumps(former, sort_keys=True) + "\n")
    kept = checkout.run(*LEDGER)
    assert "of variants that the configuration no longer has: 1 line" in kept.stderr
    assert "former" in checkout.ledger.read_text()
    checkout.run(*LEDGER, "--prune")
    assert "former" not in checkout.ledger.read_text()
    assert len(checkout.ledger.read_text().splitlines()) == 3


def test_without_runs_on_a_gpu_there_is_no_file_of_them(tmp_path: Path) -> None:
    path = raw_path(tmp_path / "x.jsonl")
    for runs in ({}, {("t-00000000", "gpu-validated"): []}):
        write_runs(path, runs)
        assert not path.exists()
