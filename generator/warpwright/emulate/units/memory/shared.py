"""Shared memory as the instructions see it: loads, stores, ldmatrix, stmatrix.

Every access is checked (bounds, alignment, order of accesses) and then done on the CTA's bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import LOCAL_WINDOW, OFFSET, RANK_SHIFT, RESERVED, SHARED_WINDOW, locate
from warpwright.emulate.machine.order import CELL
from warpwright.emulate.machine.rows import FULL
from warpwright.emulate.machine.state import Cta, Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.memory.global_memory import global_load, global_store
from warpwright.emulate.units.memory.local import local_load, local_store


def _span(
    f: Fiber, number: int, addresses: Any, width: int, count: int, cluster: bool
) -> tuple[Cta, Array, Array, Array]:
    """Where `count` words of `width` bytes lie at each of `addresses` (or at the one), checked; all in one CTA.

    (CTA, offsets, cells, index of each word among those of the CTA: (count, addresses)); aligned to their size.
    """
    machine, warp = f.warp.machine, f.warp
    key = (addresses if isinstance(addresses, int) else addresses.tobytes()), width, count
    found = machine.spans.get(key)
    if found is None:
        size = align = width * count
        flat = np.atleast_1d(np.asarray(addresses)).astype(np.int64)
        flat = np.where(flat >= SHARED_WINDOW, flat - SHARED_WINDOW, flat)
        offsets = flat & OFFSET
        rank = int(flat[0]) >> RANK_SHIFT
        first, last = int(np.min(offsets)), int(np.max(offsets))
        ours = rank < len(warp.cta.cluster.ctas) and first >= RESERVED and last + size <= warp.cta.size
        if not ours or (offsets % align).any():
            for address in flat.tolist():
                locate(f, number, address, cluster, size, align)
        if (flat >> RANK_SHIFT != rank).any():
            text = "one instruction reaches into several CTAs: not emulated"
            machine.fault("shared-bounds", warp, number, text, fatal=True)
        # an access is aligned to its size, so up to 16 bytes lie in one cell
        touched = ((offsets >> 4)[:, None] + np.arange((size + 15) // 16)).reshape(-1).tolist()
        index = offsets // width + np.arange(count)[:, None]
        found = machine.spans[key] = rank, offsets, np.array(sorted(set(touched))), index
    rank, offsets, cells, index = found
    if rank != warp.cta.rank and not cluster:
        address = addresses if isinstance(addresses, int) else int(addresses[0])
        locate(f, number, address, cluster, width * count, width * count)
    return warp.cta.cluster.ctas[rank], offsets, cells, index


def _beside(cta: Cta, bad: list[tuple[int, int]], offsets: Array, size: int) -> list[tuple[int, int]]:
    """`bad` without cells where what is held (-2) is in the half that the accesses leave alone."""
    touched = {at for first in offsets.tolist() for at in range(first & ~7, first + size, 8)}
    return bad if touched & cta.shadow.holders.keys() else [each for each in bad if each[0] != -2]


def _read(f: Fiber, number: int, cta: Cta, cells: Array, offsets: Array, size: int) -> None:
    warp = f.warp
    event = warp.segment if warp.segment >= 0 else warp.event()
    warp.accessing |= f.mask
    known = f.each_knows()[0] if warp.apart else warp.known
    bad = cta.shadow.read(cells, event, known, known, number)
    if warp.machine.order.strong:
        bad = bad + cta.shadow.strong_writers(cells, known)
    if bad:
        bad = _beside(cta, bad, offsets, size)
        warp.machine.check_order(bad, cta, event, warp, number, False, False)


def _write(f: Fiber, number: int, cta: Cta, cells: Array, offsets: Array, size: int) -> None:
    warp = f.warp
    event = warp.segment if warp.segment >= 0 else warp.event()
    warp.accessing |= f.mask
    bad = cta.shadow.write(cells, event, f.each_knows()[0] if warp.apart else warp.known, number)
    if bad:
        bad = _beside(cta, bad, offsets, size)
        warp.machine.check_order(bad, cta, event, warp, number, True, False)


def shared_load(f: Fiber, number: int, addresses: Any, width: int, count: int, cluster: bool) -> Array:
    """ld.shared: (count, 32) unsigned integers of `width` bytes, idle lanes 0; (count, 1) at a uniform address."""
    uniform = isinstance(addresses, int)
    partial = f.mask != FULL and not uniform
    chosen = addresses[f.lanes] if partial else addresses
    if partial and not len(chosen):
        return np.zeros((count, 32), dtype=f"u{width}")
    cta, offsets, cells, index = _span(f, number, chosen, width, count, cluster)
    _read(f, number, cta, cells, offsets, width * count)
    found: Array = cta.words[width][index]
    if partial:
        result = np.zeros((count, 32), dtype=f"u{width}")
        result[:, f.lanes] = found
        return result
    return found


def shared_store(f: Fiber, number: int, addresses: Any, values: Array, width: int, cluster: bool) -> None:
    """st.shared: `values` is (count, 32); at a uniform address the highest active lane stays."""
    count = len(values)
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses
    full = f.mask == FULL
    chosen = rows if full else rows[f.lanes]
    if len(chosen):
        cta, offsets, cells, index = _span(f, number, chosen, width, count, cluster)
        _write(f, number, cta, cells, offsets, width * count)
        cta.words[width][index] = values if full else values[:, f.lanes]


def shared_place(f: Fiber, number: int, addresses: Any, values: Array, width: int, event: int) -> tuple[Cta, Array]:
    """What copies of the active lanes bring, as accesses of `event`: the CTA, and the offset of each lane's."""
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses
    cta, offsets, cells, index = _span(f, number, rows[f.lanes], width, len(values), False)
    bad = cta.shadow.write(cells, event, f.warp.known, number)
    if bad:
        f.warp.machine.check_order(
            _beside(cta, bad, offsets, width * len(values)), cta, event, f.warp, number, True, False
        )
    cta.words[width][index] = values[:, f.lanes]
    return cta, offsets


def cells_of(offsets: Array, size: int) -> Array:
    """The cells of `size` bytes at each of `offsets`."""
    count = -(-size // CELL)
    return np.unique((offsets // CELL)[:, None] + np.arange(count))


def _shared(f: Fiber, addresses: Any) -> bool:
    """Whether generic addresses mean shared memory."""
    return _first(f, addresses) >= SHARED_WINDOW


def _first(f: Fiber, addresses: Any) -> int:
    """The address of the first active lane: what it means, those of the others mean."""
    return addresses if isinstance(addresses, int) else int(addresses[np.argmax(f.lanes)])


def generic_load(f: Fiber, number: int, addresses: Any, width: int, count: int) -> Array:
    """ld without a state space."""
    if _first(f, addresses) >= LOCAL_WINDOW:
        return local_load(f, number, addresses, width, count)
    if _shared(f, addresses):
        return shared_load(f, number, addresses, width, count, True)
    return global_load(f, number, addresses, width, count)


def generic_store(f: Fiber, number: int, addresses: Any, values: Array, width: int) -> None:
    """st without a state space."""
    if _first(f, addresses) >= LOCAL_WINDOW:
        local_store(f, number, addresses, values, width)
    elif _shared(f, addresses):
        shared_store(f, number, addresses, values, width, True)
    else:
        global_store(f, number, addresses, values, width)


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
        cta, offsets, cells, _ = _span(f, number, rows, 16, 1, False)
        found = cta.rank, offsets >> 4
        if len(cells) < len(rows):
            warp.machine.fault("race", warp, number, "two rows of one matrix access have the same address")
        else:
            warp.machine.spans[key] = found
    rank, cells = found
    if rank != warp.cta.rank:
        locate(f, number, int(rows[0]), False, 16, 16)
    return warp.cta, cells


def stmatrix(f: Fiber, number: int, addresses: Any, data: Array, transposed: bool) -> None:
    """stmatrix.m8n8.b16 of `data` (matrices, 32) uint32: lane l holds row l/4, columns 2(l%4) and the next."""
    cta, cells = _matrix_rows(f, number, addresses, len(data))
    _write(f, number, cta, cells, cells * 16, 16)
    if transposed:
        data = data.view(np.uint16).reshape(-1, 8, 8).transpose(0, 2, 1)
    cta.chunks[cells] = np.ascontiguousarray(data).reshape(-1).view(np.complex128)


def ldmatrix(f: Fiber, number: int, addresses: Any, count: int, transposed: bool) -> Array:
    """ldmatrix.m8n8.b16: (count, 32) uint32."""
    cta, cells = _matrix_rows(f, number, addresses, count)
    _read(f, number, cta, cells, cells * 16, 16)
    data = cta.chunks[cells].view(np.uint16).reshape(count, 8, 8)
    if transposed:
        data = data.transpose(0, 2, 1)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint32).reshape(count, 32)
