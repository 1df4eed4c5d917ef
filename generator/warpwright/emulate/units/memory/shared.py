"""Shared memory as the instructions see it: loads, stores, ldmatrix, stmatrix.

Every access is checked (bounds, alignment, order of accesses) and then done on the CTA's bytes. The addresses are few
and come again in every tile and run, so what is found out about them is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from warpwright.emulate.machine.addresses import OFFSET, RANK_SHIFT, RESERVED, SHARED_WINDOW, locate
from warpwright.emulate.machine.cells import CELL, Place, place_of
from warpwright.emulate.machine.order import Entry, Several
from warpwright.emulate.machine.rows import FULL
from warpwright.emulate.machine.state import Cta, Fiber
from warpwright.emulate.machine.strong import strong_writers
from warpwright.emulate.numbers.formats import Array


class Span(NamedTuple):
    """Where words lie in the CTA of `rank`, checked: the place, and the index of each word among those of the CTA.

    words: (words of one address, addresses).
    """

    rank: int
    words: Array
    place: Place


class Spans(NamedTuple):
    """The same of several accesses that follow each other, with what the log says of them."""

    rank: int
    words: Array
    place: Place
    entry: Entry


def span_of(f: Fiber, number: int, addresses: Any, width: int, count: int, cluster: bool) -> Span:
    """Where `count` words of `width` bytes lie at each of `addresses` (or at the one), aligned to all of them."""
    machine, warp = f.warp.machine, f.warp
    key = (addresses if isinstance(addresses, int) else addresses.tobytes()), width, count
    found: Span | None = machine.spans.get(key)
    if found is None:
        size = width * count
        flat = _flat(np.atleast_1d(np.asarray(addresses)))
        offsets = flat & OFFSET
        rank = int(flat[0]) >> RANK_SHIFT
        first, last = int(np.min(offsets)), int(np.max(offsets))
        ours = rank < len(warp.cta.cluster.ctas) and first >= RESERVED and last + size <= warp.cta.size
        if not ours or (offsets % size).any():
            for address in flat.tolist():
                locate(f, number, address, cluster, size, size)
        if (flat >> RANK_SHIFT != rank).any():
            text = "one instruction reaches into several CTAs: not emulated"
            machine.fault("shared-bounds", warp, number, text, fatal=True)
        index = offsets // width + np.arange(count)[:, None]
        found = machine.spans[key] = Span(rank, index, place_of(offsets, size))
    if found.rank != warp.cta.rank and not cluster:
        address = addresses if isinstance(addresses, int) else int(addresses[0])
        locate(f, number, address, cluster, width * count, width * count)
    return found


def _flat(addresses: Array) -> Array:
    flat = addresses.astype(np.int64)
    return np.where(flat >= SHARED_WINDOW, flat - SHARED_WINDOW, flat)


def _read(f: Fiber, number: int, cta: Cta, place: Place) -> None:
    warp = f.warp
    event = warp.segment if warp.segment >= 0 else warp.event()
    warp.accessing |= f.mask
    known = f.each_knows()[0] if warp.apart else warp.known
    bad = cta.shadow.read_place(place, event, known, place.entries(number, False))
    if warp.machine.order.strong:
        bad = bad + strong_writers(cta.shadow, place, known)
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, False, False)


def _write(f: Fiber, number: int, cta: Cta, place: Place) -> None:
    warp = f.warp
    event = warp.segment if warp.segment >= 0 else warp.event()
    warp.accessing |= f.mask
    known = f.each_knows()[0] if warp.apart else warp.known
    bad = cta.shadow.write_place(place, event, known, place.entries(number, True))
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, True, False)


def shared_load(f: Fiber, number: int, addresses: Any, width: int, count: int, cluster: bool) -> Array:
    """ld.shared: (count, 32) unsigned integers of `width` bytes, idle lanes 0; (count, 1) at a uniform address."""
    uniform = isinstance(addresses, int)
    partial = f.mask != FULL and not uniform
    chosen = addresses[f.lanes] if partial else addresses
    if partial and not len(chosen):
        return np.zeros((count, 32), dtype=f"u{width}")
    rank, index, place = span_of(f, number, chosen, width, count, cluster)
    cta = f.warp.cta.cluster.ctas[rank]
    _read(f, number, cta, place)
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
        rank, index, place = span_of(f, number, chosen, width, count, cluster)
        cta = f.warp.cta.cluster.ctas[rank]
        _write(f, number, cta, place)
        cta.words[width][index] = values if full else values[:, f.lanes]


def shared_place(f: Fiber, number: int, addresses: Any, values: Array, width: int, event: int) -> tuple[Cta, Array]:
    """What copies of the active lanes bring, as accesses of `event`: the CTA, and the offset of each lane's."""
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses
    rank, words, place = span_of(f, number, rows[f.lanes], width, len(values), False)
    cta = f.warp.cta.cluster.ctas[rank]
    bad = cta.shadow.write_place(place, event, f.warp.known, place.entries(number, True))
    if bad:
        f.warp.machine.check_order(bad, cta, event, f.warp, number, True, False)
    cta.words[width][words] = values[:, f.lanes]
    return cta, words[0] * width


def bytes_of(offsets: Array, size: int) -> Array:
    """The offsets of `size` bytes at each of `offsets`."""
    found: Array = np.unique(offsets[:, None] + np.arange(size))
    return found


# -- several at once --------------------------------------------------------------------------------------------


def _spans(f: Fiber, numbers: Sequence[int], addresses: Array, width: int, count: int, written: bool) -> Spans | None:
    """Where all words of several accesses lie; None where anything is the matter with one of them."""
    warp, size = f.warp, width * count
    flat = _flat(addresses)
    offsets, rank = flat & OFFSET, int(flat[0, 0]) >> RANK_SHIFT
    inside = rank == warp.cta.rank and int(offsets.min()) >= RESERVED and int(offsets.max()) + size <= warp.cta.size
    if width == CELL:  # rows of matrices: of one access they must be different ones
        inside = inside and all(len(set(row)) == len(row) for row in offsets.tolist())
    if not inside or (offsets % size).any() or (flat >> RANK_SHIFT != rank).any():
        return None
    index = ((offsets // width)[:, None] + np.arange(count)[:, None]).reshape(-1, addresses.shape[1])
    entry = numbers[0], Several(numbers, offsets, size), written
    return Spans(rank, index.reshape(-1) if width == CELL else index, place_of(offsets.reshape(-1), size), entry)


def _at_once(f: Fiber, numbers: Sequence[int], addresses: Array, width: int, count: int, written: bool) -> Array | None:
    """The index of all words of several accesses, noted; None where one by one must say what is wrong."""
    warp = f.warp
    if f.mask != FULL or warp.apart:
        return None
    known_spans = warp.machine.spans
    key = addresses.tobytes(), width, count, numbers[0]
    try:
        spans: Spans | None = known_spans[key]
    except KeyError:
        spans = known_spans[key] = _spans(f, numbers, addresses, width, count, written)
    if spans is None or spans.rank != warp.cta.rank:
        return None
    event = warp.segment if warp.segment >= 0 else warp.event()
    if not warp.cta.shadow.attempt(spans.place, event, warp.known, spans.entry):
        return None
    warp.accessing = FULL
    return spans.words


def shared_loads(f: Fiber, numbers: Sequence[int], addresses: Array, width: int, count: int, cluster: bool) -> Array:
    """Several ld.shared that follow each other, `addresses` (loads, 32): (loads * count, 32)."""
    index = _at_once(f, numbers, addresses, width, count, False)
    if index is None:
        every = zip(numbers, addresses, strict=True)
        return np.concatenate([shared_load(f, n, at, width, count, cluster) for n, at in every])
    found: Array = f.warp.cta.words[width][index]
    return found


def shared_stores(f: Fiber, numbers: Sequence[int], addresses: Array, values: Array, width: int, cluster: bool) -> None:
    """Several st.shared that follow each other, `addresses` (stores, 32): `values` is (stores * count, 32)."""
    count = len(values) // len(numbers)
    index = _at_once(f, numbers, addresses, width, count, True)
    if index is None:
        for i, (number, at) in enumerate(zip(numbers, addresses, strict=True)):
            shared_store(f, number, at, values[count * i : count * i + count], width, cluster)
        return
    f.warp.cta.words[width][index] = values


# -- matrices ---------------------------------------------------------------------------------------------------


def _matrix_rows(f: Fiber, number: int, addresses: Any, count: int) -> Array:
    """The cells of the rows of `count` matrices, in their order; each lies in the CTA of the warp."""
    warp = f.warp
    if f.mask != warp.alive:
        warp.machine.fault("convergence", warp, number, "a matrix access needs all lanes of the warp", fatal=True)
    if isinstance(addresses, int):
        addresses = np.full(32, addresses, dtype=np.uint32)
    rows = addresses[: 8 * count]
    rank, index, place = span_of(f, number, rows, 16, 1, False)
    assert place.cells is not None
    if len(place.cells) < len(rows):
        warp.machine.fault("race", warp, number, "two rows of one matrix access have the same address")
    if rank != warp.cta.rank:
        locate(f, number, int(rows[0]), False, 16, 16)
    cells: Array = index[0]
    return cells


def _stored(data: Array, transposed: bool) -> Array:
    """Registers of matrices (..., 32) uint32 as rows of 16 bytes."""
    if transposed:
        data = data.view(np.uint16).reshape(-1, 8, 8).transpose(0, 2, 1)
    rows: Array = np.ascontiguousarray(data).reshape(-1).view(np.complex128)
    return rows


def stmatrix(f: Fiber, number: int, addresses: Any, data: Array, transposed: bool) -> None:
    """stmatrix.m8n8.b16 of `data` (matrices, 32) uint32: lane l holds row l/4, columns 2(l%4) and the next."""
    cells = _matrix_rows(f, number, addresses, len(data))
    _write(f, number, f.warp.cta, Place(cells, None))
    f.warp.cta.chunks[cells] = _stored(data, transposed)


def stmatrices(f: Fiber, numbers: Sequence[int], addresses: Array, data: Array, transposed: bool) -> None:
    """Several stmatrix that follow each other, `addresses` (stores, 32): `data` is (stores * matrices, 32)."""
    count = len(data) // len(numbers)
    index = _at_once(f, numbers, addresses[:, : 8 * count], CELL, 1, True)
    if index is None:
        for i, (number, at) in enumerate(zip(numbers, addresses, strict=True)):
            stmatrix(f, number, at, data[count * i : count * i + count], transposed)
        return
    f.warp.cta.chunks[index] = _stored(data, transposed)


def ldmatrix(f: Fiber, number: int, addresses: Any, count: int, transposed: bool) -> Array:
    """ldmatrix.m8n8.b16: (count, 32) uint32."""
    cells = _matrix_rows(f, number, addresses, count)
    _read(f, number, f.warp.cta, Place(cells, None))
    data = f.warp.cta.chunks[cells].view(np.uint16).reshape(count, 8, 8)
    if transposed:
        data = data.transpose(0, 2, 1)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint32).reshape(count, 32)
