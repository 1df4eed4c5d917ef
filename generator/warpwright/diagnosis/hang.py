"""What a run shows that comes to no end: the CTA that explains most, where its warps stand, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.device.marks import Marks, peers
from warpwright.diagnosis.causes import Cause, causes
from warpwright.diagnosis.standing import Standing, standings
from warpwright.plan.types import KernelPlan

__all__ = ["Hang", "hang_of"]


@dataclass(frozen=True)
class Hang:
    """cta: which one. alike: how many other CTAs have not ended. standings, causes: of the one."""

    cta: int
    alike: int
    standings: tuple[Standing, ...]
    causes: tuple[Cause, ...]

    @property
    def head(self) -> str:
        """The cause that explains most, in a sentence."""
        return self.causes[0].text if self.causes else "no warp of a role has come to a mark"


def hang_of(kernel: KernelPlan, marks: Marks, at: Mapping[tuple[int, int], str] = {}) -> Hang | None:
    """Return what keeps a kernel from its end, and None where every CTA that noted anything has come to it, with phases
    that are right. `at`: what is known of warps that stand at no mark, by CTA and warp."""
    standing = {cta: standings(kernel, marks, cta, {w: text for (of, w), text in at.items() if of == cta})
                for cta in marks.ctas()}  # fmt: skip
    found = []
    for cta, own in standing.items():
        why = causes(kernel, own, [each for peer in peers(kernel.cluster, cta) for each in standing.get(peer, ())])
        if why:
            found.append(Hang(cta, 0, tuple(own), tuple(why)))
    if not found:
        return None
    worst = min(found, key=lambda each: each.causes[0].rank)
    return Hang(worst.cta, len(found) - 1, worst.standings, worst.causes)
