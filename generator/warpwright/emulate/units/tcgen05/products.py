"""tcgen05.mma and tcgen05.commit: matrix products of one CTA or a pair, with the sums in tensor memory.

An MMA is executed when it is issued; whoever uses its operands or its sums without having waited for the mbarrier
that a later commit arrives at has a race, whatever the schedule. What is in order without that: see `pipelines`.
The order of summation in the tensor core is not documented: numpy's float32 product stands for it.
"""

from __future__ import annotations

import numpy as np

from warpwright.emulate.machine.addresses import locate, reach
from warpwright.emulate.machine.state import Cta, Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.barriers.mbarriers import lookup
from warpwright.emulate.units.tcgen05.memory import (
    ALL,
    BANDS,
    LANES_OF_MEMORY,
    UMMA,
    access,
    cells_of,
    inside,
    pair_of,
)
from warpwright.emulate.units.tcgen05.operands import shared_matrix, tensor_matrix
from warpwright.emulate.units.tcgen05.pipelines import COPIES, SHIFTS, issue, reading
from warpwright.emulate.units.tcgen05.scales import scaled_product, scales_of
from warpwright.emulate.units.tcgen05.shapes import MmaShape, shape_of

_IDS = 3 << 4 | 3 << 29  # of the scales of B and A: bits of the instruction descriptor that change along K


class TensorCore:
    """Of a CTA: until which modelled clock it is busy."""

    def __init__(self, _cta: Cta) -> None:
        self.clock = 0


def one_thread(f: Fiber, number: int, what: str) -> None:
    count = bin(f.mask).count("1")
    if count != 1:
        text = f"{what} is issued by {count} lanes: each of them would begin one; elect one"
        f.warp.machine.fault("tcgen05", f.warp, number, text, fatal=True)


def tcgen05_mma(f: Fiber, number: int, kind: str, group: int, d: int, a: int, a_in_tensor: bool, b: int,
                descriptor: int, disabled: tuple[int, ...], scales: tuple[int, int, int] | None, accumulate: int,
                divide: int = 0) -> None:  # fmt: skip
    """D (+)= A B^T. `d`: tensor memory address; `a`: matrix descriptor, or an address too; `b`: matrix descriptor.

    disabled: masks of lanes of D that keep what they hold. scales: addresses of those of A and B, and how many a row
    has. divide: what D holds is first divided by 2 to that power.
    """
    warp = f.warp
    machine = warp.machine
    one_thread(f, number, "tcgen05.mma")
    pair = pair_of(f, number, group)
    count = scales[2] if scales else 0
    shape = shape_of(f, number, descriptor, kind, group, count)
    own = pair[warp.cta.rank & 1 if group == 2 else 0]
    folded = group == 2 and shape.m == LANES_OF_MEMORY  # the second half of N is on lanes 64..127
    columns = shape.n // 2 if folded else shape.n
    first, low = d & 0xFFFF, d >> 16
    pipeline = d, shape.m, shape.n, kind, group
    event, visible = issue(own, warp, UMMA, pipeline, (pipeline, COPIES, SHIFTS), group)
    reads = reading(own, warp, UMMA)
    sparse = group == 1 and shape.m == 64  # 16 lanes of each quarter: the other ones may hold another accumulator
    if low not in ((0, 16) if sparse else (0,)):
        text = f"an accumulator at lane {low}: it begins at lane 0{' or 16' if sparse else ''}"
        machine.fault("tcgen05", warp, number, text, fatal=True)
    kept = _kept(f, number, disabled, group)
    rows, share = shape.m // group, shape.n // group
    parts = [shared_matrix(warp, number, m.cta, b, share, shape.b_type, shape.b_mn, reads) for m in pair]
    right = parts[0] if group == 1 else np.concatenate(parts)
    bands = slice(low // 16, BANDS, 2) if sparse else ALL
    for rank, memory in enumerate(pair):
        if memory.cta is not warp.cta:
            reach(warp, number, memory.cta, event)
        inside(memory, warp, number, first, columns)
        if a_in_tensor:
            left = tensor_matrix(memory, warp, number, a, low, shape.a_type, bands, folded, event, visible)
        else:
            left = shared_matrix(warp, number, memory.cta, a, rows, shape.a_type, shape.a_mn, reads)
        if scales:
            factors = [
                scales_of(memory, warp, number, at, size, byte, count, shape.ue8m0, halves, event, visible)
                for at, size, byte, halves in ((scales[0], rows, shape.a_byte, False),
                                               (scales[1], shape.n, shape.b_byte, folded))
            ]  # fmt: skip
            product = scaled_product(left, right, *factors)
        else:
            product = left @ right.T
        masked = None if kept is None else kept[rank]
        cells = cells_of(first, columns, bands) if masked is None else _touched(first, columns, bands, masked)
        if accumulate and len(cells) and not memory.shadow.rewrite(cells, event, number):
            access(memory, warp, number, cells, event, visible, False)
            access(memory, warp, number, cells, event, visible, True)
        elif len(cells) and not accumulate:
            access(memory, warp, number, cells, event, visible, True)
        if folded:
            product = np.concatenate(np.split(product, 2, axis=1))
        words = memory.words[:, first : first + columns]
        place = words.reshape(4, 32, columns)[:, low : low + 16] if sparse else words
        if masked is not None:
            masked = masked.reshape(4, 32)[:, low : low + 16, None] if sparse else masked[:, None]
        _add(place, product.reshape(place.shape), shape, bool(accumulate), masked, divide)
    alike = descriptor & ~(_IDS if scales else 0)
    issued = machine.observed["tensor-mmas"].setdefault(alike, {})
    issued[warp.index] = issued.get(warp.index, 0) + 1
    core = warp.cta.own(TensorCore)
    began = max(core.clock, warp.clock)
    core.clock = began + shape.n // (4 if folded else 2)  # K is 32 bytes: 8192 multiply-adds of 16 bits a clock
    if machine.options.trace:
        machine.event("mma", warp, number, began, core.clock, group=warp.index // 4, wgmmas=1)


def _kept(f: Fiber, number: int, disabled: tuple[int, ...], group: int) -> Array | None:
    """(CTAs, 128) bool: lanes of D that are not to be written, None where all are."""
    if disabled and len(disabled) != 4 * group:
        text = f"{len(disabled)} words of disable-output-lane with cta_group::{group}: {4 * group}"
        f.warp.machine.fault("tcgen05", f.warp, number, text, fatal=True)
    if not any(disabled):
        return None
    octets = np.array(disabled, dtype=np.uint32).view(np.uint8)
    return np.unpackbits(octets, bitorder="little").astype(bool).reshape(group, LANES_OF_MEMORY)


def _touched(first: int, columns: int, bands: slice, masked: Array) -> Array:
    """The cells of `bands` with a lane that is written."""
    written = [band for band in range(BANDS)[bands] if not masked[16 * band : 16 * band + 16].all()]
    cells = [cells_of(first, columns, slice(band, band + 1, 1)) for band in written]
    return np.concatenate(cells) if cells else np.zeros(0, dtype=np.int64)


def _add(place: Array, new: Array, shape: MmaShape, accumulate: bool, kept: Array | None, divide: int) -> None:
    """Put sums where they lie, of uint32; `kept`: where nothing is put."""
    if shape.negate:
        np.negative(new, new)
    if shape.sums == "f32":
        old = place.view(np.float32)
        if accumulate:
            np.add(new, old * np.float32(2.0**-divide) if divide else old, out=new)
        np.copyto(old, new, where=True if kept is None else ~kept)
        return
    if shape.sums == "f16":
        if accumulate:
            held = (place & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
            new = new + held * np.float32(2.0**-divide)
        words = new.astype(np.float16).view(np.uint16).astype(np.uint32)
    else:
        total = new.astype(np.int64) + (place.view(np.int32) if accumulate else 0)
        if shape.saturate:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        words = total.astype(np.uint32)
    np.copyto(place, words, where=True if kept is None else ~kept)


def tcgen05_commit(f: Fiber, number: int, address: int, group: int, multicast: int | None) -> None:
    """tcgen05.commit: one arrival at the mbarrier, in each CTA of `multicast`, when the thread's MMAs, copies and
    shifts are complete."""
    warp = f.warp
    machine, own = warp.machine, warp.cta
    one_thread(f, number, "tcgen05.commit")
    pair = pair_of(f, number, group)
    thread = pair[own.rank & 1 if group == 2 else 0].thread(warp)
    cta, offset = locate(f, number, address, True, 8, 8)
    ctas = own.cluster.ctas
    if multicast is not None and (not multicast or multicast >> len(ctas)):
        text = f"multicast mask {multicast:#x} in a cluster of {len(ctas)} CTAs"
        machine.fault("tcgen05", warp, number, text, fatal=True)
    targets = [cta] if multicast is None else [c for c in ctas if multicast >> c.rank & 1]
    barriers = [lookup(warp, number, each, offset, warp.known_async) for each in targets]
    arrival = machine.order.event(UMMA, warp, True)
    for each in targets:
        if each is not own:
            reach(warp, number, each, arrival)
    known = thread.issued | warp.known_async | 1 << arrival  # a completed MMA carries what it was ordered after
    thread.reads.clear()
    thread.writes.clear()
    clock = own.own(TensorCore).clock

    def land() -> None:
        for barrier in barriers:
            barrier.arrive_async(warp, number, known, clock)

    machine.pending.append(land)
