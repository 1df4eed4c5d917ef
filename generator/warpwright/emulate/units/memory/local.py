"""Local memory: each thread's own bytes, where the compiler keeps arrays that are indexed at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import LOCAL_WINDOW
from warpwright.emulate.machine.rows import LANES
from warpwright.emulate.machine.state import Fiber, Warp
from warpwright.emulate.numbers.formats import Array


class Local:
    """The bytes of a warp's threads, (32, bytes); NaN in every format until they are written."""

    def __init__(self, warp: Warp) -> None:
        self.bytes = np.full((32, warp.machine.program.local_bytes), 0xFF, dtype=np.uint8)


def _index(f: Fiber, number: int, addresses: Any, size: int) -> Array:
    """(lanes, size) byte offsets of the active lanes, checked."""
    warp = f.warp
    rows = np.broadcast_to(np.asarray(addresses, dtype=np.int64), 32)[f.lanes]
    offsets = np.where(rows >= LOCAL_WINDOW, rows - LOCAL_WINDOW, rows)
    limit = warp.machine.program.local_bytes
    outside = (offsets < 0) | (offsets + size > limit)
    if outside.any():
        text = f"local offset {int(offsets[outside][0])}, {size} bytes: a thread has {limit} bytes of local memory"
        warp.machine.fault("local-bounds", warp, number, text, fatal=True)
    if (offsets % size).any():
        text = f"local offset {int(offsets[offsets % size != 0][0])} is not a multiple of {size}"
        warp.machine.fault("misaligned", warp, number, text, fatal=True)
    index: Array = offsets[:, None] + np.arange(size)
    return index


def local_load(f: Fiber, number: int, addresses: Any, width: int, count: int) -> Array:
    """ld.local: (count, 32) unsigned integers of `width` bytes, idle lanes 0."""
    result = np.zeros((count, 32), dtype=f"u{width}")
    index = _index(f, number, addresses, width * count)
    lanes = LANES[f.lanes]
    found = np.ascontiguousarray(f.warp.own(Local).bytes[lanes[:, None], index])
    result[:, f.lanes] = found.view(f"u{width}").T
    return result


def local_store(f: Fiber, number: int, addresses: Any, values: Array, width: int) -> None:
    """st.local of (count, 32) unsigned integers."""
    index = _index(f, number, addresses, width * len(values))
    lanes = LANES[f.lanes]
    data = np.ascontiguousarray(values.astype(f"u{width}")[:, f.lanes].T).view(np.uint8)
    f.warp.own(Local).bytes[lanes[:, None], index] = data.reshape(index.shape)
