"""Global memory: named buffers at chosen addresses, with bounds, and for outputs how often each byte was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from warpwright.emulate.machine.addresses import SHARED_WINDOW
from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.numbers.formats import Array

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
    """The buffers of one launch. Addresses must lie below 2^56 and must not overlap."""

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


def unwritten(buffer: Buffer, where: Mapping[str, Any] | Array | None = None) -> int:
    """Bytes of an output that no store reached (of those in the boolean array `where`)."""
    missing = buffer.writes == 0
    return int((missing & where).sum() if isinstance(where, np.ndarray) else missing.sum())
