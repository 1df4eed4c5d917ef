"""st.async and red.async: words that a thread sends into the shared memory of its cluster, their bytes counted there.

Each lane names a place and an mbarrier of the same CTA. The store is one of the generic proxy; that it is done, only
the mbarrier tells, whose completion releases it to the cluster (PTX ISA, "st.async").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import locate, reach
from warpwright.emulate.machine.cells import Place
from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Cta, Fiber
from warpwright.emulate.machine.strong import strong_access
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.atomics.operations import Operator, combine
from warpwright.emulate.units.barriers.mbarriers import MBarrier, lookup
from warpwright.emulate.units.memory.shared import bytes_of

SENT = Source(
    "the st.async of ",
    lambda _began, after: f"a wait by {after} on the mbarrier that the store completes on, before its access",
)
ADDED = Source(
    "the red.async of ",
    lambda _began, after: f"a wait by {after} on the mbarrier that the reduction completes on, before its access",
)


def store_async(f: Fiber, number: int, addresses: Any, values: Array, width: int, barriers: Any,
                operator: Operator | None = None) -> None:  # fmt: skip
    """Send `values`, (count, 32) words of `width` bytes, to each lane's address; `operator`: what red.async does."""
    warp, machine = f.warp, f.warp.machine
    if not f.mask:
        return
    size = width * len(values)
    data = np.ascontiguousarray(values.astype(f"u{width}").T)  # (32, count)
    places = np.broadcast_to(np.asarray(addresses, dtype=np.int64), 32)
    marks = np.broadcast_to(np.asarray(barriers, dtype=np.int64), 32)
    event = machine.order.event(SENT if operator is None else ADDED, warp, False)
    if operator is not None:
        machine.order.strong[event] = True
    found: dict[Cta, list[tuple[int, int, MBarrier]]] = {}  # (lane, offset, barrier)
    for lane in np.flatnonzero(f.lanes).tolist():
        cta, offset = locate(f, number, int(places[lane]), True, size, size)
        bar_cta, bar_offset = locate(f, number, int(marks[lane]), True, 8, 8)
        if bar_cta is not cta:
            text = f"a store into CTA {cta} that completes on an mbarrier of CTA {bar_cta}: it must be of the same"
            machine.fault("mbarrier", warp, number, text, fatal=True)
        found.setdefault(cta, []).append((lane, offset, lookup(warp, number, cta, bar_offset, warp.known)))
    for cta, lanes in found.items():
        if cta is not warp.cta:
            reach(warp, number, cta, event)
        _note(f, number, cta, bytes_of(np.array([offset for _, offset, _ in lanes]), size), event, operator)
        machine.pending.append(_landing(f, number, cta, lanes, data, event, operator))


def _note(f: Fiber, number: int, cta: Cta, every: Array, event: int, operator: Operator | None) -> None:
    warp, shadow = f.warp, cta.shadow
    if operator is None:
        place = Place(None, every)
        bad = shadow.write_place(place, event, warp.known, place.entries(number, True))
    else:
        bad = strong_access(shadow, every, event, warp.known, number, False)
        bad += [b for b in strong_access(shadow, every, event, warp.known, number, True) if b not in bad]
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, True, False)


def _landing(f: Fiber, number: int, cta: Cta, lanes: list[tuple[int, int, MBarrier]], data: Array, event: int,
             operator: Operator | None) -> Any:  # fmt: skip
    """What puts the words of the lanes there, and counts their bytes."""
    warp, clock = f.warp, f.warp.clock

    def land() -> None:
        counts: dict[MBarrier, int] = {}
        for lane, offset, barrier in lanes:
            words = data[lane]
            place = slice(offset, offset + words.nbytes)
            if operator is not None:
                words = combine(operator, np.ascontiguousarray(cta.bytes[place]).view(words.dtype), words, None, True)
            cta.bytes[place] = np.ascontiguousarray(words).view(np.uint8)
            counts[barrier] = counts.get(barrier, 0) + words.nbytes
        for barrier, size in counts.items():
            barrier.complete(warp, number, size, event, clock, generic=True)

    return land
