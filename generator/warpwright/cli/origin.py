"""Where a result was obtained: here, on another machine's GPU, or wherever the committed ledger has it from.

A figure that this machine did not obtain is never shown without saying so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.record import Evidence, Judgement

__all__ = ["explain_origins", "level", "mark", "origin"]


def origin(evidence: Evidence) -> str:
    """Return `here`, `imported` (from a GPU of another machine, as far as is known) or `ledger`."""
    from warpwright.pipeline import on_gpu

    if evidence.origin == "ledger":
        return "ledger"
    return "imported" if evidence.imported or (evidence.gpu and not on_gpu.at_hand()) else "here"


def mark(evidence: Evidence) -> str:
    """Return what a table says of a result that was not obtained here: `ledger: H200`; "" for one that was."""
    where = origin(evidence)
    if where == "here":
        return ""
    gpu = str(evidence.gpu.get("gpu") or "").removeprefix("NVIDIA ")
    return f"{where}: {gpu}" if gpu else where


def level(judgement: Judgement) -> str:
    """Return the strongest evidence with its mark: `benchmarked (ledger: H200)`."""
    marks = [mark(evidence) for evidence in judgement.valid if evidence.method == judgement.evidence]
    return f"{judgement.evidence} ({marks[0]})" if any(marks) else judgement.evidence


def explain_origins(found: Iterable[Evidence]) -> Sequence[str]:
    """Return a line for each origin that is not this machine, which says what its mark means."""
    lines = {}
    for evidence in found:
        where, device = origin(evidence), evidence.gpu.get("gpu")
        on = f" on {device}" if device else ""
        words = {
            "ledger": f"ledger: obtained elsewhere{on} for exactly this source, as the committed ledger says",
            "imported": f"imported: obtained{on} and brought here by `warpwright import`",
        }
        if where in words:
            lines[mark(evidence)] = words[where]
    return list(lines.values())
