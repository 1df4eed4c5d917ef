"""Bulk copies of consecutive bytes (cp.async.bulk without a tensor map): loads with multicast, stores in bulk groups.

They share their way with tensor copies: checked when issued, landing when the scheduler says, one for each instruction
of a warp whose lanes are together.
"""

from __future__ import annotations

from typing import Any

from warpwright.emulate.machine.addresses import locate
from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.tma.copies import (
    LOAD,
    STORE,
    GroupedCopy,
    Groups,
    begin_fill,
    begin_read,
    landing_clock,
    stored_clock,
    targets_of,
)  # fmt: skip
from warpwright.emulate.units.tma.tracked import reads, writes

GRANULE = 16  # bytes: what addresses and sizes are multiples of (PTX ISA, "cp.async.bulk")


def check_size(f: Fiber, number: int, size: int, address: int) -> None:
    """Fault on a size or a global address that the instruction does not take."""
    machine = f.warp.machine
    if size % GRANULE:
        machine.fault(
            "tma", f.warp, number, f"a bulk copy of {size} bytes: it takes multiples of {GRANULE}", fatal=True
        )
    if address % GRANULE:
        text = f"global address {address:#x} of a bulk copy is not a multiple of {GRANULE}"
        machine.fault("misaligned", f.warp, number, text, fatal=True)


def buffer_of(f: Fiber, number: int, address: int, size: int, what: str) -> Buffer:
    """The buffer that holds all of the bytes."""
    machine = f.warp.machine
    buffer = machine.memory.at(address, size)
    if buffer is None:
        text = f"bulk {what} of {size} bytes at {address:#x}: {machine.memory.near(address)}"
        machine.fault("global-bounds", f.warp, number, text, fatal=True)
        raise AssertionError
    return buffer


def observe(f: Fiber, way: str, size: int, multicast: int) -> None:
    """Count a copy for what a plan predicts."""
    seen = f.warp.machine.observed["bulk"].setdefault(
        way, {"copies": 0, "bytes": 0, "multicast": set(), "lanes": set()}
    )
    seen["copies"] += 1
    seen["bytes"] += size
    seen["multicast"].add(multicast)
    seen["lanes"].add(bin(f.mask).count("1"))


def bulk_load(f: Fiber, number: int, target: int, source: int, size: int, barrier: int, multicast: int | None,
              cluster: bool) -> None:  # fmt: skip
    """cp.async.bulk from global to shared memory; `multicast`: a mask of CTAs, or None; `cluster`: may be a peer's."""
    warp = f.warp
    machine = warp.machine
    check_size(f, number, size, source)
    cta, offset = locate(f, number, target, cluster, size, GRANULE)
    bar_cta, bar_offset = locate(f, number, barrier, cluster, 8, 8)
    if multicast is None and bar_cta is not cta:
        text = f"a bulk copy into CTA {cta} that completes on an mbarrier of CTA {bar_cta}: it must be of the same"
        machine.fault("tma", warp, number, text, fatal=True)
    buffer = buffer_of(f, number, source, size, "load")
    if buffer.access == "out":
        machine.fault("global-bounds", warp, number, f"bulk load of {buffer.name!r}, which is an output only")
    targets = targets_of(f, number, cta, multicast)
    cells = slice(offset // 16, (offset + size) // 16)
    event = machine.order.event(LOAD, warp, True)
    barriers = begin_fill(f, number, event, cells, [(each, each, bar_offset) for each in targets])
    reads(f, number, buffer, source - buffer.address, size, event)
    observe(f, "load", size, len(targets))
    clock = landing_clock(warp, size)
    if machine.options.trace:
        machine.event("load", warp, number, warp.clock, clock, offset=offset, bytes=size)
    at = source - buffer.address

    def land() -> None:
        data = buffer.data[at : at + size]
        for each, bar in zip(targets, barriers, strict=True):
            each.bytes[offset : offset + size] = data
            bar.complete(warp, number, size, event, clock)

    machine.pending.append(land)


def bulk_store(f: Fiber, number: int, target: int, source: int, size: int) -> None:
    """cp.async.bulk from shared to global memory, in the warp's open bulk group."""
    warp = f.warp
    machine, cta = warp.machine, warp.cta
    check_size(f, number, size, target)
    _, offset = locate(f, number, source, False, size, GRANULE)
    buffer = buffer_of(f, number, target, size, "store")
    if buffer.access == "in":
        text = f"bulk store to {buffer.name!r}, which is an input"
        machine.fault("global-bounds", warp, number, text, fatal=True)
    event = machine.order.event(STORE, warp, True)
    begin_read(f, number, event, slice(offset // 16, (offset + size) // 16))
    observe(f, "store", size, 1)
    if machine.options.trace:
        end = stored_clock(warp, size)
        machine.event("store", warp, number, warp.clock, end, offset=offset, bytes=size)
    at = target - buffer.address
    written = writes(f, number, buffer, at, size)

    def move() -> None:
        _put(f, number, buffer, at, cta.bytes[offset : offset + size])

    warp.own(Groups).add(GroupedCopy(event, number, move, written), f)


def bulk_prefetch(f: Fiber, number: int, address: int, size: int) -> None:
    """cp.async.bulk.prefetch.L2: nothing is seen of it, but its bytes must be there."""
    check_size(f, number, size, address)
    buffer_of(f, number, address, size, "prefetch")


def _put(f: Fiber, number: int, buffer: Buffer, at: int, data: Array) -> None:
    place = slice(at, at + len(data))
    buffer.data[place] = data
    counts: Any = buffer.writes[place]
    if buffer.access == "out" and counts.any():
        first = at + int(counts.argmax())
        f.warp.machine.fault("written-twice", f.warp, number, f"byte {first} of {buffer.name!r} is written again")
        counts[...] = 0
    counts += 1
