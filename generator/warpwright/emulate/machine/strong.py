"""Strong accesses (atomics) of on-chip memory: they may meet each other without a race, but no ordinary ones.

Events of such accesses stand in `Order.strong`. What is looked at are bytes: whole cells are split.
"""

from __future__ import annotations

import numpy as np

from warpwright.emulate.machine.cells import CELL, Place
from warpwright.emulate.machine.order import Order
from warpwright.emulate.machine.shadow import LOW, SPLIT, Bad, Shadow
from warpwright.emulate.numbers.formats import Array


def strong_access(shadow: Shadow, offsets: Array, event: int, known: int, number: int, write: bool) -> Bad:
    """Note a read or write of bytes by an event of `Order.strong`, and return what it races with: none of those."""
    strong = shadow.order.strong
    place = Place(None, offsets)
    table = shadow.split(offsets)
    states = table[offsets]
    note = shadow.write_place if write else shadow.read_place
    bad = note(place, event, known, place.entries(number, write))
    for value in set(states.tolist()) if write else ():
        before = ((value >> 32) - 1, *shadow.order.readers[value & LOW]) if value >= 0 else ()
        kept = [other for other in before if strong.get(other) and other != event and not known >> other & 1]
        if kept:  # an ordinary access that comes must be ordered after these as well
            table[offsets[states == value]] = (event + 1) << 32 | shadow.order.together(kept)
    return [each for each in bad if each[0] not in strong]


def strong_writers(shadow: Shadow, place: Place, visible: int) -> Bad:
    """Those that `strong_access` kept beside the last writer, and that an ordinary read is not ordered after."""
    bad: Bad = []
    if place.cells is not None:
        states = shadow.state[place.cells]
        bad += _writers(shadow.order, place.cells * CELL, states, visible)
        split = place.cells[states == SPLIT]
        if len(split):
            every = (split[:, None] * CELL + np.arange(CELL)).reshape(-1)
            bad += _writers(shadow.order, every, shadow.split(every)[every], visible)
    if place.offsets is not None:
        bad += _writers(shadow.order, place.offsets, shadow.split(place.offsets)[place.offsets], visible)
    return bad


def _writers(order: Order, offsets: Array, states: Array, visible: int) -> Bad:
    return [
        (other, int(offsets[np.flatnonzero(states == value)[0]]))
        for value in set(states.tolist())
        if value >= 0
        for other in order.readers[value & LOW]
        if order.strong.get(other) and not visible >> other & 1
    ]


def pass_on(shadow: Shadow, offsets: Array, earlier: int, later: int) -> None:
    """Of what `earlier` wrote to these bytes last, `later` is the writer from now on."""
    table = shadow.split(offsets)
    states = table[offsets]
    table[offsets] = np.where(states >> 32 == earlier + 1, states + ((later - earlier) << 32), states)
