"""Loads from global memory and stores to it: bounds, alignment, and how often each byte is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.people import counted
from warpwright.emulate.machine.rows import FULL
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array

_COLUMNS = np.arange(16)[:, None]  # an access has up to 16 words


def _addresses(f: Fiber, number: int, addresses: Any, size: int) -> Array:
    """Addresses of the active lanes (one where they are uniform), checked for alignment."""
    if isinstance(addresses, int):
        chosen = np.array([addresses], dtype=np.int64)
    else:
        chosen = (addresses if f.mask == FULL else addresses[f.lanes]).astype(np.int64)
    if np.count_nonzero(chosen & (size - 1)):
        text = f"global address {int(chosen[chosen % size != 0][0]):#x} is not a multiple of {size}"
        f.warp.machine.fault("misaligned", f.warp, number, text, fatal=True)
    return chosen


def _buffer(f: Fiber, number: int, chosen: Array, size: int, what: str) -> Buffer:
    memory = f.warp.machine.memory
    every = chosen.tolist()
    low, high = min(every), max(every)
    buffer = memory.at(low, high - low + size)
    if buffer is None:
        bad = next(a for a in (low, high) if memory.at(a, size) is None or a == high)
        text = f"{what} of {counted(size, 'byte')} at {bad:#x}: {memory.near(bad)}"
        f.warp.machine.fault("global-bounds", f.warp, number, text, fatal=True)
        raise AssertionError
    return buffer


def global_load(f: Fiber, number: int, addresses: Any, width: int, count: int, coherent: bool = True,
                event: int = -1) -> Array:  # fmt: skip
    """ld.global: (count, 32) unsigned integers of `width` bytes, idle lanes 0; (count, 1) at a uniform address.

    `coherent`: not .nc, which sees nothing that the kernel writes. `event`: whose access it is, if not the warp's own.
    """
    chosen = _addresses(f, number, addresses, width * count)
    if not len(chosen):
        return np.zeros((count, 32), dtype=f"u{width}")
    buffer = _buffer(f, number, chosen, width * count, "read")
    if buffer.access == "out":
        f.warp.machine.fault("global-bounds", f.warp, number, f"read of {buffer.name!r}, which is an output only")
    offsets = chosen - buffer.address
    if buffer.access == "inout":
        f.warp.accessing |= f.mask
        f.warp.machine.global_order.access(f.warp, number, buffer, offsets, width * count, False, event,
                                             coherent=coherent)  # fmt: skip
    if buffer.address % width:
        found: Array = buffer.data[offsets[:, None] + np.arange(width * count)].view(f"u{width}").T
    else:
        words = buffer.data[: len(buffer.data) // width * width].view(f"u{width}")
        found = words[offsets // width + _COLUMNS[:count]]
    if f.mask == FULL or isinstance(addresses, int):
        return found
    result = np.zeros((count, 32), dtype=f"u{width}")
    result[:, f.lanes] = found
    return result


def global_loads(f: Fiber, numbers: Sequence[int], addresses: Array, width: int, count: int,
                 coherent: bool = True) -> Array:  # fmt: skip
    """Several ld.global that follow each other, `addresses` (loads, 32): (loads * count, 32)."""
    found = _at_once(f, addresses, width * count)
    if found is None or found[0].address % width or not _readable(f, numbers, *found, width * count):
        every = zip(numbers, addresses, strict=True)
        return np.concatenate([global_load(f, n, at, width, count, coherent) for n, at in every])
    buffer, offsets = found
    words = buffer.data[: len(buffer.data) // width * width].view(f"u{width}")
    loaded: Array = words[(offsets // width)[:, None] + _COLUMNS[:count]].reshape(-1, 32)
    return loaded


def _readable(f: Fiber, numbers: Sequence[int], buffer: Buffer, offsets: Array, size: int) -> bool:
    """Whether loads may be done at once: of an input, or where nothing is written so far."""
    if buffer.access != "inout":
        return buffer.access == "in"
    warp = f.warp
    if not warp.machine.global_order.apart(warp, numbers, buffer, offsets, size, False):
        return False
    warp.accessing |= f.mask
    return True


def _at_once(f: Fiber, addresses: Array, size: int) -> tuple[Buffer, Array] | None:
    """The buffer and the offsets in it of several accesses; None where anything is the matter with one of them."""
    if f.mask != FULL:
        return None
    flat = addresses.astype(np.int64)
    if np.count_nonzero(flat & (size - 1)):
        return None
    low = int(flat.min())
    buffer = f.warp.machine.memory.at(low, int(flat.max()) - low + size)
    return None if buffer is None else (buffer, flat - buffer.address)


def global_store(f: Fiber, number: int, addresses: Any, values: Array, width: int) -> None:
    """st.global: `values` is (count, 32) unsigned integers of `width` bytes."""
    count = len(values)
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses
    chosen = _addresses(f, number, rows, width * count)
    if not len(chosen):
        return
    buffer = _buffer(f, number, chosen, width * count, "write")
    if _store_new(buffer, chosen - buffer.address, values if f.mask == FULL else values[:, f.lanes], width):
        return
    index = (chosen - buffer.address)[:, None] + np.arange(width * count)
    if buffer.access == "inout":
        f.warp.accessing |= f.mask
        f.warp.machine.global_order.access(f.warp, number, buffer, chosen - buffer.address, width * count, True)
        if f.warp.machine.locations.at:
            f.warp.machine.locations.forget(chosen.tolist())
    data = np.ascontiguousarray(values.astype(f"u{width}")[:, f.lanes].T).view(np.uint8)
    write(f, number, buffer, index, data)


def global_stores(f: Fiber, numbers: Sequence[int], addresses: Array, values: Array, width: int) -> None:
    """Several st.global that follow each other, `addresses` (stores, 32): `values` is (stores * count, 32)."""
    count = len(values) // len(numbers)
    found = _at_once(f, addresses, width * count)
    if found is not None:
        buffer, offsets = found
        together = values.reshape(-1, count, 32).transpose(1, 0, 2).reshape(count, -1)
        if buffer.access == "inout" and _writable(f, numbers, buffer, offsets, width * count, width):
            index = (offsets.reshape(-1) // width) + _COLUMNS[:count]
            end = len(buffer.data) // width * width
            buffer.data[:end].view(f"u{width}")[index] = together
            buffer.writes[:end].view(f"u{width}")[index] = 0x0101010101010101 & (1 << 8 * width) - 1
            return
        if _store_new(buffer, offsets.reshape(-1), together, width):
            return
    for i, (number, at) in enumerate(zip(numbers, addresses, strict=True)):
        global_store(f, number, at, values[count * i : count * i + count], width)


def _writable(f: Fiber, numbers: Sequence[int], buffer: Buffer, offsets: Array, size: int, width: int) -> bool:
    """Whether stores to a buffer that may be read too may be done at once: where nothing has met them."""
    warp, machine = f.warp, f.warp.machine
    if buffer.address % width or machine.locations.at:
        return False
    if not machine.global_order.apart(warp, numbers, buffer, offsets, size, True):
        return False
    warp.accessing |= f.mask
    return True


def _store_new(buffer: Buffer, offsets: Array, values: Array, width: int) -> bool:
    """Store (words, addresses) into an output where nothing is written yet, each address once; else do nothing."""
    if buffer.access != "out" or buffer.address % width:
        return False
    end = len(buffer.data) // width * width
    index = offsets // width + _COLUMNS[: len(values)]
    counts = buffer.writes[:end].view(f"u{width}")
    if np.count_nonzero(counts[index]):
        return False
    steps = offsets[1:] - offsets[:-1]
    if len(steps) and int(steps.min()) <= 0 and len(np.unique(offsets)) < len(offsets):
        return False
    counts[index] = 0x0101010101010101 & (1 << 8 * width) - 1
    buffer.data[:end].view(f"u{width}")[index] = values
    return True


def write(f: Fiber, number: int, buffer: Buffer, index: Array, data: Array) -> None:
    if buffer.access == "in":
        text = f"write to {buffer.name!r}, which is an input"
        f.warp.machine.fault("global-bounds", f.warp, number, text, fatal=True)
    buffer.data[index] = data
    np.add.at(buffer.writes, index, np.uint8(1))
    if buffer.access == "out" and (buffer.writes[index] > 1).any():
        at = int(index[buffer.writes[index] > 1].min())
        f.warp.machine.fault("written-twice", f.warp, number, f"byte {at} of {buffer.name!r} is written again")
