"""What the figures and samples of a time say of the peers it stands beside; imports nothing, since tables only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["peers_in", "samples_of"]


def samples_of(number: int) -> tuple[str, str, str]:
    """Return by what names the samples of a peer are kept: cold, sustained, and those of its second part."""
    prefix = "peer" if number == 0 else f"peer{number + 1}"
    return f"{prefix}_cold_us", f"{prefix}_sustained_us", f"{prefix}_again_us"


def peers_in(told: Mapping[str, Any]) -> list[Mapping[str, Any] | None]:
    """Return what figures say of each peer, in the order of `samples_of`; None where nobody does the same."""
    return [told.get("peer"), *(told.get("further_peers") or ())]
