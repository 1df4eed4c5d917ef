"""Global memory: named buffers at chosen addresses, with bounds, and for outputs how often each byte was written."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from warpwright.emulate.machine.addresses import SHARED_WINDOW
from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.machine.people import counted
from warpwright.emulate.numbers.formats import Array

Access = Literal["in", "out", "inout"]
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # as on Linux

#: Bytes from which a buffer's memory is taken page by page, as it is used.
SPARSE = 1 << 28


def sparse(size: int) -> Array:
    """`size` zeros that take memory only where they are written. Raises EmulatorError where the system has no room."""
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    except (OSError, ValueError) as error:
        raise EmulatorError(
            f"{size} bytes of address space, for tensors that lie far apart, cannot be had: {error}; allow it"
            " (ulimit -v unlimited, vm.overcommit_memory 0 or 1)"
        ) from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)  # a row takes 4 KiB, not 2 MiB
    return np.frombuffer(pages, dtype=np.uint8)


@dataclass(frozen=True)
class Runs:
    """Which bytes of a buffer are a tensor's: runs of `bytes`, apart by strides in bytes, the longest first."""

    bytes: int
    modes: tuple[tuple[int, int], ...]  # (stride, extent)

    def hold(self, offset: int) -> bool:
        """Whether the byte at `offset` is in a run."""
        for stride, extent in self.modes:
            offset -= min(offset // stride, extent - 1) * stride
        return offset < self.bytes


@dataclass
class Buffer:
    """`data` is a 1-D uint8 array at `address`; `writes` counts the writes of each byte (at most 255).

    runs: of a tensor whose rows lie so far apart that the memory between them exists in name alone (`sparse`).
    """

    name: str
    address: int
    data: Array
    access: Access
    runs: Runs | None = None
    writes: Array = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.data) if self.access != "in" else 0
        self.writes = np.zeros(size, dtype=np.uint8) if size < SPARSE else sparse(size)


class GlobalMemory:
    """The buffers of one launch. Addresses must lie below 2^56 and must not overlap."""

    def __init__(self) -> None:
        self.buffers: dict[str, Buffer] = {}

    def add(
        self, name: str, data: Array, access: Access = "in", address: int | None = None, runs: Runs | None = None
    ) -> int:
        """Place `data` (any dtype, C-contiguous; kept, not copied) and return its address.

        Without `address` it goes 4 KiB or more above the last buffer, so that overruns hit nothing. With `runs` what
        lies between them is no part of it.
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
        self.buffers[name] = Buffer(name, address, flat, access, runs)
        return address

    def at(self, address: int, size: int) -> Buffer | None:
        """The buffer that holds all of `size` bytes at `address`."""
        for buffer in self.buffers.values():
            if buffer.address <= address and address + size <= buffer.address + len(buffer.data):
                if buffer.runs is None:
                    return buffer
                first = address - buffer.address
                # What spans several rows, a box or a warp's stores, begins and ends in one.
                whole = buffer.runs.hold(first) and buffer.runs.hold(first + max(size, 1) - 1)
                return buffer if whole else None
        return None

    def near(self, address: int) -> str:
        """Where `address` lies, for messages."""
        below = [buffer for buffer in self.buffers.values() if buffer.address <= address]
        nearest = max(below, key=lambda buffer: buffer.address, default=None)
        above = [buffer for buffer in self.buffers.values() if buffer.address > address]
        if above:
            after = min(above, key=lambda buffer: buffer.address)
            if nearest is None or after.address - address < address - nearest.address - len(nearest.data):
                return f"{counted(after.address - address, 'byte')} ahead of {after.name!r}"
        if nearest is None:
            return "where no buffer is"
        apart = f", in runs of {nearest.runs.bytes}" if nearest.runs else ""
        at = address - nearest.address
        return (
            f"{counted(at, 'byte')} from the start of {nearest.name!r}, which has"
            f" {counted(len(nearest.data), 'byte')}{apart}"
        )


def unwritten(buffer: Buffer, where: Mapping[str, Any] | Array | None = None) -> int:
    """Bytes of an output that no store reached (of those in the boolean array `where`)."""
    missing = buffer.writes == 0
    return int((missing & where).sum() if isinstance(where, np.ndarray) else missing.sum())
