"""Bulk copies that add to what is there (cp.reduce.async.bulk), and those between the CTAs of a cluster.

A reduction is atomic word by word: two of them may meet. It completes as the copy of the same direction does.
"""

from __future__ import annotations

import numpy as np

from warpwright.emulate.machine.addresses import locate, reach
from warpwright.emulate.machine.cells import CELL
from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Cta, Fiber
from warpwright.emulate.machine.strong import strong_access
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.atomics.access import Order
from warpwright.emulate.units.atomics.operations import BITWISE, TYPES, Operator, combine
from warpwright.emulate.units.barriers.mbarriers import lookup
from warpwright.emulate.units.tma.bulk import GRANULE, buffer_of, check_size, observe
from warpwright.emulate.units.tma.copies import STORE, GroupedCopy, Groups, begin_fill, begin_read, landing_clock
from warpwright.emulate.units.tma.tensor_map import TensorMap
from warpwright.emulate.units.tma.tracked import writes

COPY = Source(
    "the bulk copy of ",
    lambda _began, after: f"a wait by {after} on the mbarrier that the copy completes on, before its access",
)


_WORDS = {"f32.ftz": "f32", "tf32": "f32", "tf32.ftz": "f32"}


def reduction_of(f: Fiber, number: int, name: str, shape: TensorMap) -> Operator:
    """What cp.reduce.async.bulk.tensor does: its operation, on the element type of the map."""
    kind = _WORDS.get(shape.type, shape.type)
    kind = {"u32": "b32", "s32": "b32", "u64": "b64", "s64": "b64"}.get(kind, kind) if name in BITWISE else kind
    if kind not in TYPES[name] or shape.element not in (2, 4, 8):
        text = (
            f"a tensor reduction .{name} of elements of type {shape.type}: it is not of those that the operation takes"
        )
        f.warp.machine.fault("tma", f.warp, number, text, fatal=True)
    return Operator(name, kind, 1, "global", Order(2, False, False), False)


def reduced(operator: Operator, old: Array, new: Array, shared: bool) -> Array:
    """The bytes of `old` after `new`, both 1-D uint8 of whole words."""
    kind = f"u{operator.width}"
    words = combine(operator, np.ascontiguousarray(old).view(kind), np.ascontiguousarray(new).view(kind), None, shared)
    return np.ascontiguousarray(words).view(np.uint8)


def bulk_peer(f: Fiber, number: int, target: int, source: int, size: int, barrier: int,
              operator: Operator | None = None) -> None:  # fmt: skip
    """cp[.reduce].async.bulk from the CTA's shared memory to that of any CTA of the cluster, with its mbarrier."""
    warp, own, machine = f.warp, f.warp.cta, f.warp.machine
    check_size(f, number, size, 0)
    cta, offset = locate(f, number, target, True, size, GRANULE)
    bar_cta, bar_offset = locate(f, number, barrier, True, 8, 8)
    _, origin = locate(f, number, source, False, size, GRANULE)
    if bar_cta is not cta:
        text = f"a bulk copy into CTA {cta} that completes on an mbarrier of CTA {bar_cta}: it must be of the same"
        machine.fault("tma", warp, number, text, fatal=True)
    event = machine.order.event(COPY, warp, True)
    begin_read(f, number, event, slice(origin // 16, (origin + size) // 16))
    cells = slice(offset // 16, (offset + size) // 16)
    if operator is None:
        (bar,) = begin_fill(f, number, event, cells, [(cta, bar_cta, bar_offset)])
    else:
        machine.order.strong[event] = True
        reach(warp, number, cta, event)
        bar = lookup(warp, number, cta, bar_offset, f.knows()[1])
        _meet(f, number, cta, cells, event)
    observe(f, "peer", size, 1)
    clock = landing_clock(warp, size)

    def land() -> None:
        data, place = own.bytes[origin : origin + size], slice(offset, offset + size)
        cta.bytes[place] = data if operator is None else reduced(operator, cta.bytes[place], data, True)
        bar.complete(warp, number, size, event, clock)

    machine.pending.append(land)


def _meet(f: Fiber, number: int, cta: Cta, cells: slice, event: int) -> None:
    """A reduction reads and writes cells of shared memory, beside others that do."""
    warp = f.warp
    every = np.arange(CELL * cells.start, CELL * cells.stop)
    visible = f.knows()[1]
    bad = strong_access(cta.shadow, every, event, visible, number, False)
    bad += [b for b in strong_access(cta.shadow, every, event, visible, number, True) if b not in bad]
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, True, True)


def bulk_reduce(f: Fiber, number: int, target: int, source: int, size: int, operator: Operator) -> None:
    """cp.reduce.async.bulk from shared to global memory, in the warp's open bulk group."""
    warp = f.warp
    machine, cta = warp.machine, warp.cta
    check_size(f, number, size, target)
    _, offset = locate(f, number, source, False, size, GRANULE)
    buffer = buffer_of(f, number, target, size, "reduction")
    if buffer.access != "inout":
        text = f"bulk reduction in {buffer.name!r}, which is an {'input' if buffer.access == 'in' else 'output'} only"
        machine.fault("global-bounds", warp, number, text, fatal=True)
    event = machine.order.event(STORE, warp, True)
    begin_read(f, number, event, slice(offset // 16, (offset + size) // 16))
    observe(f, "reduce", size, 1)
    at = target - buffer.address
    written = writes(f, number, buffer, at, size, True)

    def move() -> None:
        place = slice(at, at + size)
        buffer.data[place] = reduced(operator, buffer.data[place], cta.bytes[offset : offset + size], False)
        buffer.writes[place] = 1

    warp.own(Groups).add(GroupedCopy(event, number, move, written), f)
