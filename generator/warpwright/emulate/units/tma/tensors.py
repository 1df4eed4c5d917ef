"""Bulk tensor copies (TMA): loads with multicast into shared memory, stores out of it, bulk groups.

A copy is checked against the order of accesses when it is issued, with what the issuing warp knows; its data
move when the scheduler lets it land. A warp whose lanes are together issues a copy once, as the hardware
does (UTMALDG and UTMASTG take uniform registers), and a lone elected lane issues it once as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import PARAM_BYTES, PARAM_WINDOW, RESERVED, SWIZZLE_MASKS, locate, swizzle
from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.order import Cells
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.atomics.operations import Operator, combine
from warpwright.emulate.units.tma.below_a_byte import by_bytes, with_padding
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
from warpwright.emulate.units.tma.encoding import BYTES, decode
from warpwright.emulate.units.tma.reduce import reduction_of
from warpwright.emulate.units.tma.replaced import used
from warpwright.emulate.units.tma.tensor_map import TensorMap, UnsupportedTensorMap
from warpwright.emulate.units.tma.tracked import tensor
from warpwright.emulate.units.tma.uncommon import fetch, part

#: Bytes of the smallest write: at a row's end a store writes past the extent to the next multiple. Not in the PTX ISA;
#: seen on H200 (driver 580.159): with N = 195 in 16-bit elements, columns 195 to 199 of the padding were written.
STORE_GRANULE = 16
_PATTERN = {"32B": 256, "64B": 512, "128B": 1024, "128B/32B": 512}  # bytes after which a swizzle repeats
_PLACES: dict[tuple[int, int, str], Array] = {}


def _tensor_map(f: Fiber, number: int, address: int) -> tuple[int, TensorMap]:
    """(parameter, what the tensor map at `address` means): as the launch describes it, else as its bytes say."""
    machine = f.warp.machine
    index, offset = divmod(address - PARAM_WINDOW, PARAM_BYTES)
    found: TensorMap | None = machine.opaque.get(index) if not offset else None
    if index < 0:
        used(f, number, address)
    if found is None:
        found = _decoded(f, number, address)
        if not offset and index >= 0:
            machine.opaque[index] = found
    return index, found


def _decoded(f: Fiber, number: int, address: int) -> TensorMap:
    """What the bytes at `address`, of a parameter or in global memory, say as a tensor map."""
    machine = f.warp.machine
    index, offset = divmod(address - PARAM_WINDOW, PARAM_BYTES)
    raw, at = b"", f"address {address:#x}"
    if address >= PARAM_WINDOW and index < len(machine.launch.params):
        raw, at = machine.launch.params[index][offset : offset + BYTES], f"parameter {index}, byte {offset}"
    elif buffer := machine.memory.at(address, BYTES):
        raw = buffer.data[address - buffer.address :][:BYTES].tobytes()
    try:
        if address % 64:
            raise EmulatorError("not a tensor map: its address is no multiple of 64")
        return decode(raw)
    except UnsupportedTensorMap:
        raise
    except EmulatorError as error:
        machine.fault("tma", f.warp, number, f"{at}: {error}", fatal=True)
        raise AssertionError from None


def _places(first: int, count: int, mode: str) -> Array:
    """Chunk numbers, relative to the 1 KiB that holds chunk `first`, of `count` chunks of a box."""
    key = first % 64, count, mode
    found = _PLACES.get(key)
    if found is None:
        chunks = np.arange(count) + first % 64
        # Parts of 32 B change places as a whole: address bits 5 and 6 ^= bits 7 and 8.
        found = chunks ^ (chunks >> 3 & 3) << 1 if mode == "128B/32B" else swizzle(chunks, SWIZZLE_MASKS[mode])
        _PLACES[key] = found
    return found


def _cells(f: Fiber, number: int, shape: TensorMap, offset: int) -> tuple[Cells, Cells]:
    """(cells of the box for the shadow, chunk numbers in the box's order) at `offset`."""
    if offset % 128:
        text = f"shared offset {offset - RESERVED} of a tensor copy is not a multiple of 128"
        f.warp.machine.fault("misaligned", f.warp, number, text, fatal=True)
    count, first = shape.footprint // 16, offset // 16
    cells = slice(first, first + count)
    if shape.swizzle == "none":
        return cells, cells
    places = _places(first, count, shape.swizzle) + first // 64 * 64
    repeat = _PATTERN[shape.swizzle] // 16
    return (np.sort(places) if first % repeat or count % repeat else cells), places


def _window(f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...]) -> tuple[Buffer, int, Any, Any]:
    """(buffer, byte offset, shape, strides) of the part of the box inside the tensor, outermost mode first.

    The shape has a zero where all of the box is outside.
    """
    memory, machine = f.warp.machine.memory, f.warp.machine
    strides = (shape.element, *shape.strides)
    size, offset, span = [], 0, shape.element
    for at, box, extent, stride in zip(coordinates, shape.box, shape.extents, strides, strict=True):
        low = max(at, 0)
        count = max(min(at + box, extent) - low, 0)
        size.append(count)
        offset += low * stride
        span += (count - 1) * stride
    span = span if all(size) else 0
    address = shape.address + (offset if span else 0)
    buffer = memory.at(address, span)
    if buffer is None:
        text = f"tensor copy of {span} bytes at {address:#x}: {memory.near(address)}"
        machine.fault("global-bounds", f.warp, number, text, fatal=True)
        raise AssertionError
    return buffer, address - buffer.address, size[::-1], strides[::-1]


def _observe(f: Fiber, index: int, shape: TensorMap, multicast: int) -> None:
    seen = f.warp.machine.observed["tma"].setdefault(
        index, {"boxes": set(), "multicast": set(), "lanes": set(), "copies": 0}
    )
    seen["boxes"].add(shape.box)
    seen["multicast"].add(multicast)
    seen["lanes"].add(bin(f.mask).count("1"))
    seen["copies"] += 1


def _moved(
    f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...], store: bool
) -> tuple[TensorMap, tuple[int, ...]]:
    """The tensor and the coordinates by what is moved: elements, or bytes of those below one."""
    return (shape, coordinates) if shape.element else by_bytes(f, number, shape, coordinates, store)


def _signed(value: int) -> int:
    return (value ^ 0x80000000) - 0x80000000


def tensor_load(f: Fiber, number: int, target: int, map_address: int, coordinates: tuple[int, ...], barrier: int,
                multicast: int | None, pair: bool = False) -> None:  # fmt: skip
    """cp.async.bulk.tensor from global to shared memory; `multicast`: the mask of CTAs, or None.

    `pair` (.cta_group::2): the barrier may be the peer's; it is the one of the same rank in each target's pair.
    """
    warp = f.warp
    machine, own = warp.machine, warp.cta
    index, shape = _tensor_map(f, number, map_address)
    cta, offset = locate(f, number, target, multicast is not None, shape.footprint, 16)
    bar_cta, bar_offset = locate(f, number, barrier, True, 8, 8)
    targets = targets_of(f, number, cta, multicast)
    if len(coordinates) != len(shape.box):
        text = f"{len(coordinates)} coordinates for a tensor of {len(shape.box)} modes"
        machine.fault("tma", warp, number, text, fatal=True)
    signed = tuple(_signed(c) for c in coordinates)
    cells, places = _cells(f, number, shape, offset)
    event = machine.order.event(LOAD, warp, True)
    if pair:
        owners = [own.cluster.ctas[each.rank & ~1 | bar_cta.rank & 1] for each in targets]
    else:
        owners = targets if multicast is not None else [bar_cta]
    filled = [(each, owner, bar_offset) for each, owner in zip(targets, owners, strict=True)]
    barriers = begin_fill(f, number, event, cells, filled)
    tensor(f, number, *_moved(f, number, shape, signed, False), event, 1, False)
    _observe(f, index, shape, len(targets))
    clock = landing_clock(warp, shape.bytes)
    if machine.options.trace:
        machine.event("load", warp, number, warp.clock, clock, offset=offset, parameter=index,
                      coordinates=signed)  # fmt: skip

    def land() -> None:
        data = _fetch(f, number, shape, signed)
        for each, bar in zip(targets, barriers, strict=True):
            each.chunks[places] = data
            bar.complete(warp, number, shape.bytes, event, clock)

    machine.pending.append(land)


def _fetch(f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...]) -> Array:
    """The box at `coordinates` as 16-byte chunks, zero outside the tensor."""
    if not shape.element:
        return with_padding(_fetch(f, number, *by_bytes(f, number, shape, coordinates, False)), shape)
    if not shape.plain:
        return fetch(f, number, shape, coordinates)
    buffer, offset, size, strides = _window(f, number, shape, coordinates)
    full = shape.box[::-1]
    kind = f"u{shape.element}"
    if not all(size):
        return np.zeros(shape.bytes // 16, dtype=np.complex128)
    source: Array = np.ndarray(size, dtype=kind, buffer=buffer.data.data, offset=offset, strides=strides)
    if tuple(size) == full:
        return np.ascontiguousarray(source).reshape(-1).view(np.complex128)
    box = np.zeros(full, dtype=kind)
    start = [max(-c, 0) for c in coordinates[::-1]]
    box[tuple(slice(s, s + n) for s, n in zip(start, size, strict=True))] = source
    return box.reshape(-1).view(np.complex128)


def tensor_store(f: Fiber, number: int, map_address: int, coordinates: tuple[int, ...], source: int,
                 reduction: str = "") -> None:  # fmt: skip
    """cp.async.bulk.tensor from shared to global memory, in the warp's open bulk group.

    `reduction`: what cp.reduce.async.bulk.tensor does with what is there.
    """
    warp = f.warp
    machine, cta = warp.machine, warp.cta
    index, shape = _tensor_map(f, number, map_address)
    _, offset = locate(f, number, source, False, shape.footprint, 16)
    if len(coordinates) != len(shape.box):
        text = f"{len(coordinates)} coordinates for a tensor of {len(shape.box)} modes"
        machine.fault("tma", warp, number, text, fatal=True)
    signed = tuple(_signed(c) for c in coordinates)
    cells, places = _cells(f, number, shape, offset)
    event = machine.order.event(STORE, warp, True)
    begin_read(f, number, event, cells)
    _observe(f, index, shape, 1)
    if machine.options.trace:
        end = stored_clock(warp, shape.bytes)
        machine.event("store", warp, number, warp.clock, end, offset=offset, parameter=index, coordinates=signed)

    operator = reduction_of(f, number, reduction, shape) if reduction else None
    moved, at = _moved(f, number, shape, signed, True)
    written = tensor(f, number, moved, at, event, STORE_GRANULE, True, operator is not None)

    def move() -> None:
        _put(f, number, moved, at, cta.chunks[places], operator)

    warp.own(Groups).add(GroupedCopy(event, number, move, written), f)


def _put(f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...], chunks: Array,
         operator: Operator | None) -> None:  # fmt: skip
    found = part(f, number, shape, coordinates, STORE_GRANULE)
    if found is None:
        return
    warp, buffer = f.warp, found.buffer
    if buffer.access == "in":
        text = f"tensor store to {buffer.name!r}, which is an input"
        warp.machine.fault("global-bounds", warp, number, text, fatal=True)
    kind = f"u{shape.element}"
    box = np.ascontiguousarray(chunks).view(kind).reshape(shape.copied[::-1])
    place, values = found.view(buffer.data.data, kind), box[found.inside]
    place[...] = values if operator is None else combine(operator, place, values, None, False)
    counts = found.view(buffer.writes.data, kind)
    if buffer.access == "out" and counts.any():
        at = [first + place.start for first, place in zip(np.argwhere(counts)[0], found.inside, strict=True)]
        steps = shape.steps or (1,) * len(coordinates)
        element = [c + int(a) * s for c, a, s in zip(coordinates, at[::-1], steps, strict=True)]
        text = f"element {element} (innermost mode first) of {buffer.name!r} is written again"
        warp.machine.fault("written-twice", warp, number, text)
        counts[counts != 0] = 0
    counts += np.array(0x0101010101010101 & ((1 << 8 * shape.element) - 1), dtype=kind)
