"""What nobody has run or measured, said where a person could think otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.record import Judgement

__all__ = ["predicted_for", "run_by_none"]


def predicted_for(targets: Iterable[str]) -> str:
    """Return the GPUs that times predicted for these targets are for, each with what stands in for measurements."""
    from warpwright.archs import device

    return " and ".join(dict.fromkeys(device(target).described for target in sorted(set(targets))))


def run_by_none(found: Iterable[tuple[str, Judgement]], what: str = "any of these variants") -> list[str]:
    """Return a sentence for each target of which some variants are built, and no GPU has run any (`what`, in words)."""
    from warpwright.archs import runs_on
    from warpwright.record.reading import ON_DEVICE

    methods: dict[str, set[str]] = {}
    for target, judgement in found:
        methods.setdefault(target, set()).update(evidence.method for evidence in judgement.valid)
    lines = []
    for target, known in sorted(methods.items()):
        wanted = runs_on(target)
        if known and wanted and not known & set(ON_DEVICE):
            lines.append(f"no GPU has run {what} for {target}; one of compute capability {wanted[0]} can")
    return lines
