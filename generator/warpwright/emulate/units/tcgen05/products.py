"""tcgen05.mma and tcgen05.commit: matrix products of one CTA or a pair, with the sums in tensor memory.

An MMA is executed when it is issued; whoever uses its operands or its sums without having waited for the mbarrier
that a later commit arrives at has a race, whatever the schedule. MMAs of one thread with the same accumulator, shape
and kind are pipelined: they execute in order (PTX ISA, "Pipelined tcgen05 instructions"), and so are those of two
threads of a CTA with fences and a barrier between them.
The order of summation in the tensor core is not documented: numpy's float32 product stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import RESERVED, locate, reach
from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.numbers.formats import DTYPES, Array
from warpwright.emulate.units.barriers.mbarriers import lookup
from warpwright.emulate.units.descriptors import convert, gather
from warpwright.emulate.units.tcgen05.memory import (
    ALL,
    LANES_OF_MEMORY,
    UMMA,
    TensorMemory,
    access,
    cells_of,
    inside,
    pair_of,
    take_over,
)  # fmt: skip

#: A rule that can be left out: MMAs of one thread are in order where accumulator, shape and kind are the same. The
#: tensor core executes all of them in order, and attention kernels rely on that for operands in tensor memory.
PIPELINES = "tcgen05-pipelines"
FLOP_PER_CLOCK = 8192  # dense 16-bit per SM, for the timeline alone
_FORMATS = {"f16": {0: "f16", 1: "bf16"}, "tf32": {2: "tf32"}, "f8f6f4": {0: "e4m3", 1: "e5m2"}}
KINDS = frozenset(_FORMATS)


class TensorCore:
    """Of a CTA: until which modelled clock it is busy."""

    def __init__(self, _cta: Cta) -> None:
        self.clock = 0


@dataclass(frozen=True)
class MmaShape:
    """What the instruction descriptor says (PTX ISA, "Instruction descriptor")."""

    m: int
    n: int
    a_type: str
    b_type: str
    d_half: bool
    a_mn: bool
    b_mn: bool
    negate: bool


_SHAPES: dict[tuple[int, str], MmaShape] = {}


def _shape(f: Fiber, number: int, descriptor: int, kind: str, group: int) -> MmaShape:
    found = _SHAPES.get((descriptor, kind))
    if found is None:
        table = _FORMATS[kind]
        a, b, d = table.get(descriptor >> 7 & 7), table.get(descriptor >> 10 & 7), descriptor >> 4 & 3
        if a is None or b is None or d > 1 or descriptor & 0xF:
            text = f"instruction descriptor {descriptor:#x} of kind::{kind}: formats, sparsity or saturation"
            raise UnsupportedInstruction(f"{f.warp.machine.line(number)}: {text} that are not emulated")
        found = _SHAPES[descriptor, kind] = MmaShape(
            (descriptor >> 24 & 31) * 16, (descriptor >> 17 & 63) * 8, a, b, d == 0, bool(descriptor >> 15 & 1),
            bool(descriptor >> 16 & 1), (descriptor >> 13 & 1) != (descriptor >> 14 & 1),
        )  # fmt: skip
    m, n = found.m, found.n
    if m not in (64 * group, 128 * group) or n % (8 * group) or not 8 * group <= n <= 256:
        text = (
            f"an MMA of {m} x {n} with cta_group::{group}: M is {64 * group} or {128 * group},"
            f" N a multiple of {8 * group} to 256"
        )
        f.warp.machine.fault("tcgen05", f.warp, number, text, fatal=True)
    return found


def _one_thread(f: Fiber, number: int, what: str) -> None:
    count = bin(f.mask).count("1")
    if count != 1:
        text = f"{what} is issued by {count} lanes: each of them would begin one; elect one"
        f.warp.machine.fault("tcgen05", f.warp, number, text, fatal=True)


def tcgen05_mma(f: Fiber, number: int, kind: str, group: int, d: int, a: int, a_in_tensor: bool, b: int,
                descriptor: int, disabled: tuple[int, ...], accumulate: int) -> None:  # fmt: skip
    """D (+)= A B^T. `d`: tensor memory address; `a`: matrix descriptor, or an address too; `b`: matrix descriptor."""
    warp = f.warp
    machine, order = warp.machine, warp.machine.order
    if any(disabled):
        raise UnsupportedInstruction(f"{machine.line(number)}: a disable-output-lane that is not zero is not emulated")
    _one_thread(f, number, "tcgen05.mma")
    pair = pair_of(f, number, group)
    shape = _shape(f, number, descriptor, kind, group)
    own = pair[warp.cta.rank & 1 if group == 2 else 0]
    thread = own.thread(warp)
    folded = group == 2 and shape.m == 128  # the second half of N is on lanes 64..127
    columns = shape.n // 2 if folded else shape.n
    first = d & 0xFFFF
    pipeline: Any = d, descriptor & ~(0x3F << 17) & ~(31 << 24) | shape.m << 32 | shape.n << 48, kind, group
    if PIPELINES in machine.options.without:
        pipeline = group
    if thread.reads < 0:
        thread.reads = order.event(UMMA, warp, True)
        thread.issued |= 1 << thread.reads
    event = thread.writes.get(pipeline)
    if event is None:
        event = thread.writes[pipeline] = order.event(UMMA, warp, True)
        thread.issued |= 1 << event
        thread.pipelines[pipeline] = thread.pipelines.get(pipeline, 0) | 1 << event
    if own.handed:
        take_over(own, warp, pipeline)
    visible = thread.visible(warp, pipeline)
    low = d >> 16
    sparse = group == 1 and shape.m == 64  # 16 lanes of each quarter: the other ones may hold another accumulator
    if low not in ((0, 16) if sparse else (0,)):
        text = f"an accumulator at lane {low}: it begins at lane 0{' or 16' if sparse else ''}"
        machine.fault("tcgen05", warp, number, text, fatal=True)
    rows, share = shape.m // group, shape.n // group
    b_parts = [_operand(warp, number, m.cta, b, share, shape.b_type, shape.b_mn, thread.reads) for m in pair]
    right = b_parts[0] if group == 1 else np.concatenate(b_parts)
    cells = cells_of(first, columns, slice(low // 16, 8, 2) if sparse else ALL)
    for memory in pair:
        if memory.cta is not warp.cta:
            reach(warp, number, memory.cta, event)
        inside(memory, warp, number, first, columns)
        if a_in_tensor:
            left = _tensor_operand(memory, warp, number, a, rows, shape.a_type, event, visible)
        else:
            left = _operand(warp, number, memory.cta, a, rows, shape.a_type, shape.a_mn, thread.reads)
        if accumulate:
            access(memory, warp, number, cells, event, visible, False)
        access(memory, warp, number, cells, event, visible, True)
        product = left @ right.T
        _add(memory, first, low, -product if shape.negate else product, bool(accumulate), shape.d_half, folded)
    issued = machine.observed["tensor-mmas"].setdefault(descriptor, {})
    issued[warp.index] = issued.get(warp.index, 0) + 1
    core = warp.cta.own(TensorCore)
    began = max(core.clock, warp.clock)
    flop = 2 * rows * shape.n * (32 // DTYPES[shape.a_type].itemsize)
    core.clock = began + flop // FLOP_PER_CLOCK
    if machine.options.trace:
        machine.event("mma", warp, number, began, core.clock, group=warp.index // 4, wgmmas=1)


def _add(
    memory: TensorMemory, first: int, low: int, product: Array, accumulate: bool, half: bool, folded: bool
) -> None:
    """Put (rows, N) sums where they lie: M = 64 of one CTA on 16 lanes of each quarter, else one row a lane."""
    if folded:
        product = np.concatenate(np.split(product, 2, axis=1))
    rows, columns = product.shape
    words = memory.words[:, first : first + columns]
    target = words if rows == LANES_OF_MEMORY else words.reshape(4, 32, columns)[:, low : low + 16]
    new = product.reshape(target.shape)
    if half:
        if accumulate:
            new = new + (target & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
        target[...] = new.astype(np.float16).view(np.uint16)
    else:
        old = target.view(np.float32)
        old[...] = old + new if accumulate else new


def _tensor_operand(memory: TensorMemory, warp: Warp, number: int, address: int, rows: int, kind: str, event: int,
                    visible: int) -> Array:  # fmt: skip
    """A from tensor memory: one row a lane, 32 bytes of it in eight columns."""
    if rows != LANES_OF_MEMORY or address >> 16:
        raise UnsupportedInstruction(f"{warp.machine.line(number)}: A in tensor memory with other than 128 rows a CTA")
    first = address & 0xFFFF
    inside(memory, warp, number, first, 8)
    access(memory, warp, number, cells_of(first, 8, ALL), event, visible, False)
    return convert(np.ascontiguousarray(memory.words[:, first : first + 8]), kind)


def _operand(warp: Warp, number: int, cta: Cta, descriptor: int, rows: int, kind: str, mn: bool, event: int) -> Array:
    """The (rows, K) float32 matrix that `descriptor` names in the shared memory of `cta`.

    The fields are those of sm_90, but for the version in bits 46..48 and bit 61, which chooses other swizzle atoms.
    """
    machine = warp.machine
    if descriptor >> 46 & 7 != 1:
        text = f"matrix descriptor {descriptor:#x}: bits 46..48 are {descriptor >> 46 & 7}, on sm_100 they are 1"
        machine.fault("tcgen05", warp, number, text, fatal=True)
    if descriptor >> 49 & 0xF or descriptor >> 61 & 1:
        text = "a base offset, an absolute leading offset or a swizzle with atoms of 32 bytes"
        raise UnsupportedInstruction(f"{machine.line(number)}: {text} in a matrix descriptor is not emulated")
    start = descriptor & 0x3FFF
    _key, index, span = gather([descriptor & ~(7 << 46)], rows, kind, mn)
    base = start - start % 64
    low = span.start if isinstance(span, slice) else int(span[0])
    high = span.stop if isinstance(span, slice) else int(span[-1]) + 1
    if (base + low) * 16 < RESERVED or (base + high) * 16 > cta.size:
        text = f"the matrix descriptor {descriptor:#x} reaches outside the shared memory of CTA {cta}"
        machine.fault("shared-bounds", warp, number, text, fatal=True)
    cells: Any = slice(base + low, base + high) if isinstance(span, slice) else span + base
    bad = cta.shadow.read(cells, event, warp.known_async, number)
    if bad:
        machine.check_order(bad, cta, event, warp, number, False, True)
    values = convert(cta.chunks[index + base], kind)
    return values.T if mn else values


def tcgen05_commit(f: Fiber, number: int, address: int, group: int, multicast: int | None) -> None:
    """tcgen05.commit: one arrival at the mbarrier, in each CTA of `multicast`, when the thread's MMAs are complete."""
    warp = f.warp
    machine, own = warp.machine, warp.cta
    _one_thread(f, number, "tcgen05.commit")
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
    thread.reads = -1
    thread.writes.clear()
    clock = own.own(TensorCore).clock

    def land() -> None:
        for barrier in barriers:
            barrier.arrive_async(warp, number, known, clock)

    machine.pending.append(land)
