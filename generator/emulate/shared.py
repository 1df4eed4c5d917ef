"""Shared memory as the instructions see it: loads, stores, ldmatrix, stmatrix, and the TMA swizzles.

Every access is checked (bounds, alignment, order of accesses) and then done on the CTA's bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .formats import Array
from .mbarriers import locate
from .memory import global_load, global_store
from .state import RANK_SHIFT, RESERVED, SHARED_WINDOW, Cta, Fiber

SWIZZLE_MASKS = {"none": 0, "32B": 1, "64B": 3, "128B": 7}
_OFFSET = (1 << RANK_SHIFT) - 1


def swizzle(chunks: Array, mask: int) -> Array:
    """16-byte chunk numbers of absolute shared addresses, swizzled: address bits 4..6 ^= bits 7..9, by `mask`."""
    result: Array = chunks ^ ((chunks >> 3) & mask)
    return result


def _span(f: Fiber, number: int, addresses: Array, size: int, align: int, cluster: bool) -> tuple[Cta, Array, Array]:
    """(CTA, offsets, cells) of `size` bytes at each of `addresses`, checked; all in one CTA."""
    machine, warp = f.warp.machine, f.warp
    key = addresses.tobytes(), size, align
    found = machine.spans.get(key)
    if found is None:
        flat = addresses.astype(np.int64)
        flat = np.where(flat >= SHARED_WINDOW, flat - SHARED_WINDOW, flat)
        for address in flat.tolist():
            locate(f, number, address, cluster, size, align)
        offsets = flat & _OFFSET
        cells = np.unique(((offsets >> 4)[:, None] + np.arange((size + 15) // 16)).reshape(-1))
        if size < 16:
            cells = np.unique(np.concatenate([cells, (offsets + size - 1) >> 4]))
        ranks = set((flat >> RANK_SHIFT).tolist())
        if len(ranks) > 1:
            text = "one instruction reaches into several CTAs: not emulated"
            machine.fault("shared-bounds", warp, number, text, fatal=True)
        found = machine.spans[key] = ranks.pop(), offsets, cells
    rank, offsets, cells = found
    if rank != warp.cta.rank and not cluster:
        locate(f, number, int(addresses[0]), cluster, size, align)
    return warp.cta.cluster.ctas[rank], offsets, cells


def _read(f: Fiber, number: int, cta: Cta, cells: Array) -> None:
    warp = f.warp
    event = warp.segment if warp.segment >= 0 else warp.event()
    bad = cta.shadow.read(cells, event, warp.known, warp.known, number)
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, False, False)


def _write(f: Fiber, number: int, cta: Cta, cells: Array) -> None:
    warp = f.warp
    event = warp.segment if warp.segment >= 0 else warp.event()
    bad = cta.shadow.write(cells, event, warp.known, warp.known, number)
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, True, False)


def shared_load(f: Fiber, number: int, addresses: Array, width: int, count: int, cluster: bool = False) -> Array:
    """ld.shared: (count, 32) unsigned integers of `width` bytes; idle lanes are 0."""
    result = np.zeros((count, 32), dtype=f"u{width}")
    chosen = addresses if f.mask == 0xFFFFFFFF else addresses[f.lanes]
    if len(chosen):
        cta, offsets, cells = _span(f, number, chosen, width * count, width * count, cluster)
        _read(f, number, cta, cells)
        index = offsets // width + np.arange(count)[:, None]
        result[:, f.lanes] = cta.words[width][index]
    return result


def shared_store(f: Fiber, number: int, addresses: Array, values: Array, width: int, cluster: bool = False) -> None:
    """st.shared: `values` is (count, 32)."""
    count = len(values)
    full = f.mask == 0xFFFFFFFF
    chosen = addresses if full else addresses[f.lanes]
    if len(chosen):
        cta, offsets, cells = _span(f, number, chosen, width * count, width * count, cluster)
        _write(f, number, cta, cells)
        index = offsets // width + np.arange(count)[:, None]
        cta.words[width][index] = values if full else values[:, f.lanes]


def load(f: Fiber, number: int, addresses: Any, width: int, count: int, space: str) -> Array:
    """ld by state space ("global", "shared", "cluster", "generic"); a uniform address is broadcast."""
    rows = np.broadcast_to(np.asarray(addresses), 32)
    if space == "generic":
        space = "cluster" if int(rows[f.lanes.argmax()]) >= SHARED_WINDOW else "global"
    if space == "global":
        return global_load(f, number, rows, width, count)
    return shared_load(f, number, rows, width, count, space == "cluster")


def store(f: Fiber, number: int, addresses: Any, values: Array, width: int, space: str) -> None:
    rows = np.broadcast_to(np.asarray(addresses), 32)
    if space == "generic":
        space = "cluster" if int(rows[f.lanes.argmax()]) >= SHARED_WINDOW else "global"
    if space == "global":
        global_store(f, number, rows, values, width)
    else:
        shared_store(f, number, rows, values, width, space == "cluster")


def _matrix_rows(f: Fiber, number: int, addresses: Any, count: int) -> tuple[Cta, Array]:
    warp = f.warp
    if f.mask != warp.alive:
        warp.machine.fault("convergence", warp, number, "a matrix access needs all lanes of the warp", fatal=True)
    if isinstance(addresses, int):
        addresses = np.full(32, addresses, dtype=np.uint32)
    rows = addresses[: 8 * count]
    key = rows.tobytes(), "matrix"
    found = warp.machine.spans.get(key)
    if found is None:
        cta, offsets, cells = _span(f, number, rows, 16, 16, False)
        if len(cells) < len(rows):
            text = "two rows of one matrix access have the same address"
            warp.machine.fault("race", warp, number, text)
        found = warp.machine.spans[key] = cta.rank, offsets >> 4
    rank, cells = found
    if rank != warp.cta.rank:
        locate(f, number, int(rows[0]), False, 16, 16)
    return warp.cta, cells


def stmatrix(f: Fiber, number: int, addresses: Any, data: Array, transposed: bool) -> None:
    """stmatrix.m8n8.b16 of `data` (matrices, 32) uint32: lane l holds row l/4, columns 2(l%4) and the next."""
    cta, cells = _matrix_rows(f, number, addresses, len(data))
    _write(f, number, cta, cells)
    if transposed:
        data = data.view(np.uint16).reshape(-1, 8, 8).transpose(0, 2, 1)
    cta.chunks[cells] = np.ascontiguousarray(data).reshape(-1).view(np.complex128)


def ldmatrix(f: Fiber, number: int, addresses: Any, count: int, transposed: bool) -> Array:
    """ldmatrix.m8n8.b16: (count, 32) uint32."""
    cta, cells = _matrix_rows(f, number, addresses, count)
    _read(f, number, cta, cells)
    data = cta.chunks[cells].view(np.uint16).reshape(count, 8, 8)
    if transposed:
        data = data.transpose(0, 2, 1)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint32).reshape(count, 32)


def dynamic_offset(address: int) -> int:
    """The offset of a shared address from the start of dynamic shared memory, for messages."""
    return (address & _OFFSET) - RESERVED
