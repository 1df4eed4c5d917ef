"""What is committed beside a configuration's ledger, and does it still count? What `warpwright ci` asks, too.

None of it is demanded: what is stale is named, as other evidence is that nobody asks for, and what cannot be read is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from warpwright.device.contrast import KIND as CONTRAST
from warpwright.diagnosis.taken import KIND as TIMELINE
from warpwright.pipeline import contrast, timelines
from warpwright.pipeline.evidence_check import Complaint
from warpwright.pipeline.exploration import Exploration

__all__ = ["check_beside"]


def check_beside(exploration: Exploration) -> Iterator[Complaint]:
    """Yield what is wrong with a rendered configuration's committed contrast and timelines.

    Raises LedgerError where a line of a contrast is none.
    """
    found = contrast.known(exploration, own=False)
    if found and found.stale:
        yield Complaint(
            CONTRAST, "stale", (found.result["reader"]["variant"],), f"{found.stale} ({found.place})", False
        )
    known = {variant.name: timelines.known(variant, exploration.out, own=False) for variant in exploration.rendered}
    stale = {name: each.stale for name, each in known.items() if each.stale}
    odd = {name: each.odd[0] for name, each in known.items() if each.odd}
    for problem, names in (("stale", stale), ("not to be read", odd)):
        if names:
            yield Complaint(TIMELINE, problem, tuple(names), next(iter(names.values())), problem != "stale")
