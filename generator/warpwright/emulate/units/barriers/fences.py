"""Fences, and the barrier of the lanes of a warp."""

from __future__ import annotations

from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.units.barriers.mbarriers import Fenced, release
from warpwright.emulate.units.lanes.lanes import converged


def fence_proxy_async(f: Fiber) -> None:
    """fence.proxy.async: what the lanes know now is visible to the asynchronous proxy; later accesses are not yet."""
    warp = f.warp
    warp.segment = -1
    others = warp.unsynced if warp.accessing & ~f.mask else 0  # what only lanes that are not here did
    warp.known_async |= warp.known & ~others


def fence_mbarrier_init(f: Fiber) -> None:
    """fence.mbarrier_init.release.cluster: the warp's mbarrier.inits, for the async proxy and relaxed arrivals."""
    warp, mine = f.warp, f.warp.own(Fenced)
    if mine.event >= 0:
        bit = 1 << mine.event
        warp.known_async |= bit
        mine.released |= bit
        mine.released_async |= bit
        mine.event = -1


def fence_scope(f: Fiber, level: int, acquire: bool, releases: bool) -> None:
    """The same fences for accesses of memory: relaxed reads before it acquire, relaxed writes after it release."""
    f.warp.machine.locations.fence(f.warp, level, acquire, release(f.warp, f.mask) if releases else None)


def fence_thread(f: Fiber) -> None:
    """fence.acq_rel and fence.sc at cluster scope and above: later relaxed arrivals carry what came before."""
    warp, fenced = f.warp, f.warp.own(Fenced)
    warp.segment = -1
    fenced.released, fenced.released_async = warp.known, warp.known_async


def warp_barrier(f: Fiber, number: int, members: int) -> None:
    """bar.warp.sync: orders the accesses of the lanes of `members` (other instructions that converge do not)."""
    converged(f, number, members)
    if f.mask == f.warp.alive:
        f.warp.synchronise()
