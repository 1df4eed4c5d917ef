"""tcgen05.cp from shared to tensor memory, and tcgen05.shift within tensor memory.

Both are executed when they are issued. What they touch is busy until a later commit's arrival has been waited for, but
for the MMAs of the thread behind them (see `pipelines`). A pair's copy is two, each from the shared memory of its CTA.
The PTX ISA says of a shift that it moves rows down, all but the last: lane i gets what lane i + 1 holds, since CUTLASS
has tcgen05.cp.4x256b bring the last lane of each quarter anew behind it.
"""

from __future__ import annotations

import numpy as np

from warpwright.emulate.machine.addresses import reach
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.tcgen05.memory import (
    ALL,
    BANDS,
    COPY,
    LANES_OF_MEMORY,
    SHIFT,
    access,
    cells_of,
    inside,
    pair_of,
)
from warpwright.emulate.units.tcgen05.operands import shared_chunks
from warpwright.emulate.units.tcgen05.pipelines import COPIES, MMAS, SHIFTS, issue, reading
from warpwright.emulate.units.tcgen05.products import one_thread

_R = np.arange(LANES_OF_MEMORY)
#: shape: multicast -> the row of the source that each lane gets (of 4x256b: lanes 32 apart).
SOURCES: dict[str, dict[str, Array]] = {
    "128x256b": {"": _R},
    "128x128b": {"": _R},
    "4x256b": {"": np.arange(4)},
    "64x128b": {"warpx2::02_13": _R % 64, "warpx2::01_23": _R % 32 + 32 * (_R // 64)},
    "32x128b": {"warpx4": _R % 32},
}
#: Formats that are spread to one element a byte, sixteen of them in 16 bytes.
DECOMPRESSED = ("b6x16_p32", "b4x16_p64")
_SHIFTED = 8  # columns: 32 bytes


def tcgen05_cp(f: Fiber, number: int, group: int, address: int, descriptor: int, shape: str, multicast: str,
               source: str) -> None:  # fmt: skip
    """tcgen05.cp of `shape` (rows x bits) to `address`; `source`: one of DECOMPRESSED, or ""."""
    warp = f.warp
    one_thread(f, number, "tcgen05.cp")
    pair = pair_of(f, number, group)
    own = pair[warp.cta.rank & 1 if group == 2 else 0]
    few = shape == "4x256b"
    behind = (SHIFTS,) if few else ()
    event, visible = issue(own, warp, COPY, COPIES, behind, group)
    reads = reading(own, warp, COPY)
    rows, bits = (int(each.rstrip("b")) for each in shape.split("x"))
    columns = bits // 32
    lane, first = address >> 16, address & 0xFFFF
    if lane >= (32 if few else 1):
        text = f"tcgen05.cp.{shape} to lane {lane}: it begins at lane {'0 to 31' if few else 0}"
        warp.machine.fault("tcgen05", warp, number, text, fatal=True)
    bands = slice(lane // 16, BANDS, 2) if few else ALL
    for memory in pair:
        if memory.cta is not warp.cta:
            reach(warp, number, memory.cta, event)
        inside(memory, warp, number, first, columns)
        chunks = shared_chunks(warp, number, memory.cta, descriptor, rows, columns // 4, reads)
        if source:
            chunks = _spread(chunks, source)
        cells = cells_of(first, columns, bands)
        access(memory, warp, number, cells, event, visible, True)
        words = memory.words[:, first : first + columns]
        target = words[lane::32] if few else words
        target[...] = chunks.view(np.uint32)[SOURCES[shape][multicast]]


def _spread(chunks: Array, source: str) -> Array:
    """Sixteen elements of 6 or 4 bits of each chunk as bytes: of 6 bits the lower ones, of 4 bits the middle ones."""
    octets = np.ascontiguousarray(chunks).view(np.uint8).reshape(*chunks.shape, 16)
    if source == "b4x16_p64":
        packed = octets[..., :8]
        spread = np.stack([packed & 15, packed >> 4], axis=-1) << 2
    else:
        parts = octets[..., :12].reshape(*chunks.shape, 4, 3).astype(np.uint32)
        words = parts[..., 0] | parts[..., 1] << 8 | parts[..., 2] << 16
        spread = words[..., None] >> np.arange(0, 24, 6, dtype=np.uint32) & 63
    found: Array = np.ascontiguousarray(spread.astype(np.uint8)).reshape(chunks.shape[0], -1).view(np.complex128)
    return found


def tcgen05_shift(f: Fiber, number: int, group: int, address: int) -> None:
    """tcgen05.shift.down: of the 32 lanes of a quarter each but the last gets the 32 bytes of the next one."""
    warp = f.warp
    one_thread(f, number, "tcgen05.shift")
    pair = pair_of(f, number, group)
    own = pair[warp.cta.rank & 1 if group == 2 else 0]
    event, visible = issue(own, warp, SHIFT, SHIFTS, (MMAS,), group)
    lane, first = address >> 16, address & 0xFFFF
    if lane % 32 or lane >= LANES_OF_MEMORY:
        text = f"tcgen05.shift at lane {lane}: it begins at a multiple of 32 below {LANES_OF_MEMORY}"
        warp.machine.fault("tcgen05", warp, number, text, fatal=True)
    for memory in pair:
        if memory.cta is not warp.cta:
            reach(warp, number, memory.cta, event)
        inside(memory, warp, number, first, _SHIFTED)
        cells = cells_of(first, _SHIFTED, slice(lane // 16, lane // 16 + 2, 1))
        access(memory, warp, number, cells, event, visible, False)
        access(memory, warp, number, cells, event, visible, True)
        rows = memory.words[lane : lane + 32, first : first + _SHIFTED]
        rows[:-1] = rows[1:].copy()
