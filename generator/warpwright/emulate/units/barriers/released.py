"""What a warp has released and what it has seen: the order that arrivals, waits and fences hand on.

An arrival with .release hands on what its lanes know; a relaxed one only what a fence released before it. A wait with
.acquire learns what was released; after a relaxed one, a later fence does (PTX ISA, "Release and Acquire Patterns").
"""

from __future__ import annotations

from warpwright.emulate.machine.state import Fiber, Warp

#: A rule that can be left out: what other lanes have read is not handed on by the arrival of one. Pipelines of
#: production kernels release a stage that a warp has read by one lane, and rely on the lanes being together.
LANES = "reads-of-lanes"
#: Another: a relaxed arrival at the cluster barrier says nothing of arrivals at peers' mbarriers ahead of it, which may
#: end before those come. Production kernels keep their peers by it.
PEERS = "arrivals-at-peers"


def release(f: Fiber) -> tuple[int, int]:
    """What an arrival of the lanes of `f` makes known; the warp's later accesses are a new event.

    Accesses that other lanes made are not carried unless bar.warp.sync, or a barrier of all lanes, came between.
    """
    warp = f.warp
    warp.segment = -1
    if warp.accessing & ~f.mask or warp.apart:
        known, known_async = f.knows()
        if LANES in warp.machine.options.without:
            reads = _reads(warp)
            known, known_async = known | warp.known & reads, known_async | warp.known_async & reads
        warp.withheld |= warp.known & ~known
        return known, known_async
    return warp.known, warp.known_async


def _reads(warp: Warp) -> int:
    """Those of the warp's events since all lanes last met in which it has but read."""
    found, rest = 0, warp.unsynced
    while rest:
        event = rest.bit_length() - 1
        rest ^= 1 << event
        if not any(wrote for _, _, wrote in warp.machine.order.events[event].log):
            found |= 1 << event
    return found


class Fenced:
    """Of a warp: the event of its mbarrier.inits since the last fence, -1 if none; what fences have released, at the
    scope of the cluster or more, and of the CTA or more (`near`); what relaxed waits have seen since; and its arrivals
    at peers (`sent`)."""

    def __init__(self, _warp: Warp) -> None:
        self.event = -1
        self.released = self.released_async = self.near = self.near_async = 0
        self.seen = self.seen_async = self.sent = 0

    def see(self, known: int, known_async: int) -> None:
        """A relaxed wait is over, which would have learnt this."""
        self.seen |= known
        self.seen_async |= known_async


def ends(warp: Warp) -> None:
    """A warp ends: what its relaxed waits have seen cannot come after its CTA either, though it orders no memory."""
    fenced = warp.owned(Fenced)
    if fenced is not None:
        warp.cta.exit_known |= fenced.seen


def handed_on(f: Fiber, relaxed: bool, local: bool, peer: bool) -> tuple[int, int]:
    """What an arrival makes known at a barrier of its own CTA, or of a `peer`; `local`: its scope is said to be .cta.

    An arrival at a peer without a scope counts as one of the cluster's: the PTX ISA takes .cta for it, and every
    pipeline across CTAs that NVIDIA publishes relies on more.
    """
    if not relaxed:
        known = release(f)
        return (0, 0) if local and peer else known
    fenced = f.warp.own(Fenced)
    if peer:
        return (0, 0) if local else (fenced.released, fenced.released_async)
    return fenced.near, fenced.near_async
