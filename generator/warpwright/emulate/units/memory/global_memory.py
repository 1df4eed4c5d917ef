"""Loads from global memory and stores to it: bounds, alignment, and how often each byte is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.memory import Buffer
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
        text = f"{what} of {size} bytes at {bad:#x}: {memory.near(bad)}"
        f.warp.machine.fault("global-bounds", f.warp, number, text, fatal=True)
        raise AssertionError
    return buffer


def global_load(f: Fiber, number: int, addresses: Any, width: int, count: int, event: int = -1) -> Array:
    """ld.global: (count, 32) unsigned integers of `width` bytes, idle lanes 0; (count, 1) at a uniform address.

    `event`: whose access it is, where it is not one of the warp itself.
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
        f.warp.machine.global_order.access(f.warp, number, buffer, offsets, width * count, False, event)
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


def global_store(f: Fiber, number: int, addresses: Any, values: Array, width: int) -> None:
    """st.global: `values` is (count, 32) unsigned integers of `width` bytes."""
    count = len(values)
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses
    chosen = _addresses(f, number, rows, width * count)
    if not len(chosen):
        return
    buffer = _buffer(f, number, chosen, width * count, "write")
    index = (chosen - buffer.address)[:, None] + np.arange(width * count)
    if buffer.access == "inout":
        f.warp.accessing |= f.mask
        f.warp.machine.global_order.access(f.warp, number, buffer, chosen - buffer.address, width * count, True)
        if f.warp.machine.locations.at:
            f.warp.machine.locations.forget(chosen.tolist())
    data = np.ascontiguousarray(values.astype(f"u{width}")[:, f.lanes].T).view(np.uint8)
    write(f, number, buffer, index, data)


def write(f: Fiber, number: int, buffer: Buffer, index: Array, data: Array) -> None:
    if buffer.access == "in":
        text = f"write to {buffer.name!r}, which is an input"
        f.warp.machine.fault("global-bounds", f.warp, number, text, fatal=True)
    buffer.data[index] = data
    np.add.at(buffer.writes, index, np.uint8(1))
    if buffer.access == "out" and (buffer.writes[index] > 1).any():
        at = int(index[buffer.writes[index] > 1].min())
        f.warp.machine.fault("written-twice", f.warp, number, f"byte {at} of {buffer.name!r} is written again")
