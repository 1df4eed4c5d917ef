"""The runs on a GPU that the ledger's lines rest on: out/ledger/raw/<name>.jsonl, one run a line, samples and all.

`warpwright ledger` writes the file beside the ledger; `warpwright ci` takes every line of a GPU's method apart again:
the runs are there, each is one that `import` would take, and what they come to is what the line says. So a figure of a
GPU has its samples, and neither is believed without the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warpwright.bundle.raw import check_against, check_result
from warpwright.bundle.weighing import weigh
from warpwright.canonical import digest, plain
from warpwright.pipeline.committed import line_of, other_than
from warpwright.pipeline.exploration import Variant
from warpwright.pipeline.judging import subject_of
from warpwright.record import METHODS, Evidence, LedgerError, LedgerLine, read_json, write_text
from warpwright.record.ledger_form import objects_in
from warpwright.record.reading import ON_DEVICE, read_evidence
from warpwright.record.wrong import SchemaError

__all__ = [
    "Runs",
    "merge_runs",
    "own_runs",
    "raw_path",
    "read_runs",
    "runs_behind",
    "runs_text",
    "unfounded",
    "write_runs",
]

#: Runs by variant (the name of its folder) and method.
Runs = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


def raw_path(ledger: Path) -> Path:
    """Return where the runs behind a ledger's lines are kept."""
    return ledger.parent / "raw" / ledger.name


def read_runs(path: Path) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Return the runs in a file, {} when there is none. Raises LedgerError for a line that is no run."""
    runs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    first: dict[str, int] = {}
    for number, value in objects_in(path):
        try:
            check_result(value)
        except SchemaError as error:
            raise LedgerError(path, number, str(error)) from None
        before = first.setdefault(digest(value), number)
        if before != number:
            raise LedgerError(path, number, f"a run is told once, and this is that of line {before}")
        runs.setdefault((value["variant"], value["method"]), []).append(value)
    return runs


def runs_behind(ledgers: Mapping[str, Path]) -> dict[str, Runs]:
    """Return the runs behind ledgers, by the name of each: of a variant that several have, each has its own."""
    return {name: read_runs(raw_path(path)) for name, path in ledgers.items()}


def write_runs(path: Path, runs: Runs) -> None:
    """Write runs, sorted, by rename, where that is not what the file says already."""
    text = runs_text(runs)
    if text and not (path.is_file() and path.read_text(encoding="utf-8") == text):
        write_text(path, text)


def runs_text(runs: Runs) -> str:
    """Return the one text of a file of these runs."""
    ordered = [run for key in sorted(runs) for run in sorted(runs[key], key=lambda run: (run["time"], digest(run)))]
    return "".join(json.dumps(plain(run), sort_keys=True, allow_nan=False) + "\n" for run in ordered)


def own_runs(variant: Variant) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """Return the runs of a variant's own folder that its valid results rest on."""
    found = {}
    for evidence in variant.judgement.valid:
        if evidence.method in ON_DEVICE and evidence.origin == "here":
            stored = read_json(variant.folder.path / METHODS[evidence.method]) or {}
            runs = [run for run in stored.get("runs", ()) if _is_for(run, evidence)]
            found[variant.name, evidence.method] = runs
    return found


def merge_runs(recorded: Runs, renewed: Runs, current: Iterable[str] | None = None) -> Runs:
    """Return `recorded` with `renewed` in the place of what it says of the same variant and method; of the variants in
    `current` alone, where they are given."""
    kept = set(current) if current is not None else None
    return {key: runs for key, runs in {**recorded, **renewed}.items() if kept is None or key[0] in kept}


def unfounded(variant: Variant, line: LedgerLine, runs: Runs) -> str:
    """Say why a line of a GPU's method does not follow from the runs beside its ledger, "" where it does."""
    method = line.evidence.method
    mine = [run for run in runs.get((variant.name, method), ()) if _is_for(run, line.evidence)]
    if not mine:
        return f"no run of it lies in out/ledger/raw/{line.ledger}.jsonl"
    codes = {name: standard.code for name, standard in subject_of(variant).standards.items()}
    try:
        for run in mine:
            check_against(run, variant.plan, codes)
        due = read_evidence(method, weigh(mine, _subject(line.evidence), variant.plan, codes[method]))
    except SchemaError as error:
        return f"a run in out/ledger/raw/{line.ledger}.jsonl cannot be: {error}"
    return other_than(line, line_of(variant, due))


def _is_for(run: Mapping[str, Any], evidence: Evidence) -> bool:
    return all(run.get(key) == value for key, value in _subject(evidence).items())


def _subject(evidence: Evidence) -> dict[str, str]:
    """What a run says that it is for, and must."""
    subject = evidence.subject
    return {"source_sha": subject.source_sha, "cubin_sha": subject.cubin_sha, "arch": subject.arch}
