"""Fences, and the barrier of the lanes of a warp."""

from __future__ import annotations

from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.units.barriers.released import Fenced, release
from warpwright.emulate.units.lanes.lanes import converged


def fence_proxy_async(f: Fiber, shared: bool, in_global: bool) -> None:
    """fence.proxy.async: what the lanes know now is visible to the asynchronous proxy; later accesses are not yet.

    `shared`, `in_global`: the memory that this is said of. An event may hold accesses of both.
    """
    warp, order = f.warp, f.warp.machine.order
    warp.segment = -1
    known = f.knows()[0] if warp.accessing & ~f.mask or warp.apart else warp.known
    if in_global:
        order.fenced_global |= known
    else:
        order.fenced_shared |= known & ~warp.known_async
    if shared:
        warp.known_async |= known


def fence_mbarrier_init(f: Fiber) -> None:
    """fence.mbarrier_init.release.cluster: the warp's mbarrier.inits, for the async proxy and relaxed arrivals."""
    warp, mine = f.warp, f.warp.own(Fenced)
    if mine.event >= 0:
        bit = 1 << mine.event
        warp.known_async |= bit
        mine.released |= bit
        mine.released_async |= bit
        mine.near |= bit
        mine.near_async |= bit
        mine.event = -1


def fence_thread(f: Fiber, level: int, acquire: bool, releases: bool) -> None:
    """fence.acq_rel, .sc, .acquire, .release, membar: what relaxed waits and reads have seen is known from here on;
    what is known is handed on by later relaxed arrivals and writes, as far as the scope `level` reaches."""
    warp, fenced = f.warp, f.warp.own(Fenced)
    if acquire:
        warp.learn(fenced.seen, fenced.seen_async)
        fenced.seen = fenced.seen_async = 0
    released = release(f) if releases else None
    warp.machine.locations.fence(warp, level, acquire, released)
    if released is not None:
        known, known_async = released
        fenced.near |= known
        fenced.near_async |= known_async
        if level:
            fenced.released |= known
            fenced.released_async |= known_async


def warp_barrier(f: Fiber, number: int, members: int) -> None:
    """bar.warp.sync: orders the accesses of the lanes of `members` (other instructions that converge do not)."""
    converged(f, number, members)
    warp = f.warp
    if not warp.accessing & ~members:
        warp.synchronise()
