"""What the committed ledger says of a variant's results, and whether that is what is obtained here and now."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from warpwright.pipeline.exploration import Variant
from warpwright.record import Evidence, LedgerLine

__all__ = ["contradiction", "figures", "line_of", "other_than"]

#: What the ledger says of a build. Not its duration: the same evidence must give the same line.
_BUILT_FIGURES = (
    "registers",
    "spill_bytes",
    "stack_bytes",
    "static_shared_bytes",
    "dynamic_shared_bytes",
    "findings",
    "failure",
)
#: Figures of an emulation that rest on float32 sums of the host's BLAS, and how far machines may be apart in them.
_HOSTS_SUMS = frozenset({"ratio", "relative"})
_APART = 0.25


def figures(method: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a result that its ledger line repeats."""
    if method == "built":
        return {name: found[name] for name in _BUILT_FIGURES if found.get(name) not in (None, [], {})}
    return dict(found)


def line_of(variant: Variant, evidence: Evidence) -> LedgerLine:
    """Return the ledger's line for a result of the variant's own folder."""
    told = replace(evidence, figures=figures(evidence.method, evidence.figures), origin="ledger")
    return LedgerLine(variant.folder.label, variant.identity, told)


def contradiction(line: LedgerLine, obtained: LedgerLine) -> str:
    """Say where a ledger's line tells other figures than those that have just been obtained, "" where it does not."""
    for path, told, found in _differences("", line.evidence.figures, obtained.evidence.figures):
        if path.rpartition(".")[2] in _HOSTS_SUMS and _near(told, found):
            continue
        return f"it says {path} {told}, and here it is {found} ({line.place})"
    if line.label != obtained.label:
        return f"it calls the variant {line.label}, which is {obtained.label} ({line.place})"
    return ""


def other_than(line: LedgerLine, due: LedgerLine) -> str:
    """Say where a ledger's line is another than what is due, "" where it is the same."""
    for path, told, found in _differences("", line.value(), due.value()):
        return f"it says {path} {told}, and its runs come to {found} ({line.place})"
    return ""


def _differences(path: str, told: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        for key in sorted({*told, *found}):
            inner = f"{path}.{key}" if path else str(key)
            yield from _differences(inner, told.get(key, "nothing"), found.get(key, "nothing"))
    elif type(told) is not type(found) or told != found:
        yield path, told, found


def _near(told: Any, found: Any) -> bool:
    numbers = all(isinstance(each, float | int) and not isinstance(each, bool) for each in (told, found))
    return numbers and math.isclose(told, found, rel_tol=_APART)
