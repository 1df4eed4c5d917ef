"""Global memory: named buffers at chosen addresses, with bounds, and for outputs how often each byte was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .findings import EmulatorError
from .formats import Array
from .state import FULL, SHARED_WINDOW, Fiber

Access = Literal["in", "out", "inout"]


@dataclass
class Buffer:
    """`data` is a 1-D uint8 array at `address`; `writes` counts the writes of each byte (at most 255)."""

    name: str
    address: int
    data: Array
    access: Access
    writes: Array = field(init=False)

    def __post_init__(self) -> None:
        self.writes = np.zeros(len(self.data) if self.access != "in" else 0, dtype=np.uint8)


class GlobalMemory:
    """The buffers of one launch. Addresses must lie below 2^40 and must not overlap."""

    def __init__(self) -> None:
        self.buffers: dict[str, Buffer] = {}

    def add(self, name: str, data: Array, access: Access = "in", address: int | None = None) -> int:
        """Place `data` (any dtype, C-contiguous; kept, not copied) and return its address.

        Without `address` it goes 4 KiB or more above the last buffer, so that overruns hit nothing.
        """
        if not data.flags.c_contiguous:
            raise EmulatorError(f"buffer {name!r} is not C-contiguous")
        if address is None:
            top = max((b.address + len(b.data) for b in self.buffers.values()), default=1 << 32)
            address = (top + 0x1FFF) & ~0xFFF
        flat = data.reshape(-1).view(np.uint8)
        for other in self.buffers.values():
            if address < other.address + len(other.data) and other.address < address + len(flat):
                raise EmulatorError(f"buffer {name!r} at {address:#x} overlaps {other.name!r} at {other.address:#x}")
        if address < 4096 or address + len(flat) > SHARED_WINDOW:
            raise EmulatorError(f"buffer {name!r} at {address:#x}: addresses go from 4096 to {SHARED_WINDOW:#x}")
        self.buffers[name] = Buffer(name, address, flat, access)
        return address

    def at(self, address: int, size: int) -> Buffer | None:
        """The buffer that holds all of `size` bytes at `address`."""
        for buffer in self.buffers.values():
            if buffer.address <= address and address + size <= buffer.address + len(buffer.data):
                return buffer
        return None

    def near(self, address: int) -> str:
        """Where `address` lies, for messages."""
        placed = [(b.address, b.address + len(b.data), b.name) for b in self.buffers.values()]
        below = max((p for p in placed if p[0] <= address), default=None)
        if below is None:
            return "below every buffer"
        return f"{address - below[0]} bytes from the start of {below[2]!r}, which has {below[1] - below[0]} bytes"


def _addresses(f: Fiber, number: int, addresses: Any, size: int) -> Array:
    """Addresses of the active lanes (one where they are uniform), checked for alignment."""
    if isinstance(addresses, int):
        chosen = np.array([addresses], dtype=np.int64)
    else:
        chosen = (addresses if f.mask == FULL else addresses[f.lanes]).astype(np.int64)
    if (chosen & (size - 1)).any():
        text = f"global address {int(chosen[chosen % size != 0][0]):#x} is not a multiple of {size}"
        f.warp.machine.fault("misaligned", f.warp, number, text, fatal=True)
    return chosen


def _buffer(f: Fiber, number: int, chosen: Array, size: int, what: str) -> Buffer:
    memory = f.warp.machine.memory
    low, high = int(chosen.min()), int(chosen.max())
    buffer = memory.at(low, high - low + size)
    if buffer is None:
        bad = next(a for a in (low, high) if memory.at(a, size) is None or a == high)
        text = f"{what} of {size} bytes at {bad:#x}: {memory.near(bad)}"
        f.warp.machine.fault("global-bounds", f.warp, number, text, fatal=True)
        raise AssertionError
    return buffer


def global_load(f: Fiber, number: int, addresses: Any, width: int, count: int) -> Array:
    """ld.global: (count, 32) unsigned integers of `width` bytes, idle lanes 0; (count, 1) at a uniform address."""
    chosen = _addresses(f, number, addresses, width * count)
    if not len(chosen):
        return np.zeros((count, 32), dtype=f"u{width}")
    buffer = _buffer(f, number, chosen, width * count, "read")
    if buffer.access == "out":
        f.warp.machine.fault("global-bounds", f.warp, number, f"read of {buffer.name!r}, which is an output only")
    index = (chosen - buffer.address)[:, None] + np.arange(width * count)
    found: Array = buffer.data[index].view(f"u{width}").T
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


def unwritten(buffer: Buffer, where: Mapping[str, Any] | Array | None = None) -> int:
    """Bytes of an output that no store reached (of those in the boolean array `where`)."""
    missing = buffer.writes == 0
    return int((missing & where).sum() if isinstance(where, np.ndarray) else missing.sum())
