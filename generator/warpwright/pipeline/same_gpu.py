"""Do all committed runs together come from GPUs that can be, each from a run of its own? What `warpwright ci` asks.

A single run says nothing of this: one that was copied from another variant's, or of one GPU given out as another's,
agrees with itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.record import METHODS, LedgerError, read_json
from warpwright.record.gpus import clashes
from warpwright.record.ledger_form import objects_in
from warpwright.record.reading import ON_DEVICE

__all__ = ["implausible", "known_gpus"]

#: Problems of a verdict from which on all of their durations, to a tenth of a millisecond, are no others'.
_ENOUGH = 8


def known_gpus(ledgers: Iterable[Path], out: Path) -> Iterator[tuple[str, Any]]:
    """Yield the GPUs of runs that are committed beside ledgers or lie in folders of variants, each with its place.

    What cannot be read is passed over; `list` and `ci` name it.
    """
    for ledger in ledgers:
        with contextlib.suppress(LedgerError):
            yield from ((place, run.get("gpu")) for place, run in _placed([ledger]))
    for method in ON_DEVICE:
        for path in sorted(out.glob(f"*/*/{METHODS[method]}")):
            runs = (read_json(path) or {}).get("runs")
            yield from ((str(path), run.get("gpu")) for run in runs or () if isinstance(run, dict))


def implausible(ledgers: Iterable[Path]) -> list[str]:
    """Say which committed runs are at odds over a GPU, and which are copies of others. Raises LedgerError."""
    runs = list(_placed(ledgers))
    odd = [f"{clash}: of one GPU, one is true; remove what is not" for clash in clashes((p, r["gpu"]) for p, r in runs)]
    first: dict[str, tuple[str, str]] = {}
    for place, run in runs:
        measured = _measured(run)
        own = digest(run)
        before, other = first.setdefault(digest([run["method"], measured]), (own, place)) if measured else (own, "")
        if before != own:  # the same run may lie beside the ledgers of several configurations
            odd.append(f"{place}: to the last digit, it was measured what {other} says; a run is of one variant, once")
    return odd


def _placed(ledgers: Iterable[Path]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    from warpwright.pipeline.raw_runs import raw_path  # which imports the bundle, whose import asks for known GPUs

    for path in map(raw_path, ledgers):
        yield from ((f"{path}:{number}", run) for number, run in objects_in(path))


def _measured(run: Mapping[str, Any]) -> list[Any]:
    """What in a run no other has; [] where there is too little of it."""
    samples = run.get("samples", {}).get("cold_us", [])
    seconds = [problem.get("seconds") for problem in run.get("problems", ())]
    return next((told for told in (samples, seconds) if len(told) >= _ENOUGH and len(set(told)) > 1), [])
