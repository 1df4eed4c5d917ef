"""Allocation of tensor memory: columns by powers of two, for one CTA or a pair together, freed exactly once."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.units.memory.shared import shared_store
from warpwright.emulate.units.tcgen05.memory import ALL, COLUMNS, TensorMemory, access, cells_of, memory_of, pair_of

FREE = Source("the tcgen05.dealloc by ")


def note(warp: Warp, what: str, value: Any) -> None:
    """Note what is compared with a plan."""
    warp.machine.observed["tensor-memory"].setdefault(what, set()).add(value)


def _whole_warp(f: Fiber, number: int, what: str) -> None:
    if f.mask != f.warp.alive:
        f.warp.machine.fault("convergence", f.warp, number, f"{what} needs all lanes of the warp", fatal=True)


def tcgen05_alloc(f: Fiber, number: int, address: int, columns: int, group: int) -> bool:
    """tcgen05.alloc: the first column goes to shared memory at `address`; True when it is granted."""
    warp = f.warp
    if f.token is None:
        _whole_warp(f, number, "tcgen05.alloc")
        pair = pair_of(f, number, group)
        own = memory_of(warp.cta)
        if not 32 <= columns <= COLUMNS or columns & (columns - 1):
            text = f"{columns} columns: an allocation is a power of two from 32 to {COLUMNS}"
            warp.machine.fault("tensor-memory", warp, number, text, fatal=True)
        if own.relinquished >= 0:
            text = f"an allocation after the CTA gave up its permit\n    {warp.machine.line(own.relinquished)}"
            warp.machine.fault("tensor-memory", warp, number, text, fatal=True)
        own.queue.append((f, columns, number))
        _grant(pair)
        if f.token is None:
            return warp.machine.block(f, "tensor-memory", number, (columns, group, "alloc"))
    base, f.token = f.token, None
    note(warp, "allocated", (warp.index, columns, group))
    shared_store(f, number, address, np.full((1, 32), base, dtype=np.uint32), 4, False)
    return True


def _grant(pair: list[TensorMemory]) -> None:
    """Serve those who wait, in order, while there is room; a pair of CTAs allocates the same columns together."""
    while all(memory.queue for memory in pair):
        (fiber, columns, number), *others = [memory.queue[0] for memory in pair]
        if any(wanted != columns for _, wanted, _ in others):
            text = f"the CTAs of a pair allocate {columns} and {others[0][1]} columns together"
            fiber.warp.machine.fault("tensor-memory", fiber.warp, number, text, fatal=True)
        owned = np.any(np.stack([memory.owned for memory in pair]), axis=0)
        places = [c for c in range(0, COLUMNS - columns + 1, 32) if not owned[c : c + columns].any()]
        # Another CTA of the SM may hold the first columns: every second cluster has the last ones that are free.
        base = -1 if not places else places[-(fiber.warp.cta.cluster.number % 2)]
        if base < 0:
            return
        for memory in pair:
            waiting, _, at = memory.queue.pop(0)
            memory.allocations[base] = columns, at
            memory.owned[base : base + columns] = True
            memory.freed.pop(base, None)
            memory.shadow.state[cells_of(base, columns, ALL)] = 0
            memory.words[:, base : base + columns] = 0xFFFFFFFF
            waiting.token = base
            if waiting.blocked is not None:
                waiting.warp.machine.ready(waiting)


def tcgen05_dealloc(f: Fiber, number: int, address: int, columns: int, group: int) -> bool:
    """tcgen05.dealloc: every access of the columns must be over (it is synchronous: no fence is needed before it).

    True when the warp goes on: that of a pair may wait for the peer's (PTX ISA, "Issue Granularity"), and here it does.
    """
    warp = f.warp
    if f.token is not None:
        f.token = None
        return True
    _whole_warp(f, number, "tcgen05.dealloc")
    pair = pair_of(f, number, group)
    own = memory_of(warp.cta)
    held = own.allocations.get(address)
    if held is None or held[0] != columns:
        freed = own.freed.get(address)
        again = f"; it was freed before\n    {warp.machine.line(freed)}" if freed is not None else ""
        known = f"{held[0]} are allocated there" if held else "nothing is allocated there"
        text = f"{columns} columns from {address} are freed: {known}{again}"
        warp.machine.fault("tensor-memory", warp, number, text, fatal=True)
    event = warp.machine.order.event(FREE, warp, False)
    cells = cells_of(address, columns, ALL)
    thread = own.thread(warp)
    access(own, warp, number, cells, event, warp.known | thread.done | thread.seen, True)
    del own.allocations[address]
    own.owned[address : address + columns] = False
    own.freed[address] = number
    note(warp, "freed", (warp.index, columns, group))
    _grant(pair)
    own.deallocations += 1
    for peer in pair:
        if peer is not own:
            return _leave(f, number, own, peer, columns)
    return True


def _leave(f: Fiber, number: int, own: TensorMemory, peer: TensorMemory, columns: int) -> bool:
    """A deallocation of a pair: lets the peer's go on, and True where the peer's was there before."""
    ready = [fiber for fiber, count in peer.leaving if count <= own.deallocations]
    peer.leaving = [(fiber, count) for fiber, count in peer.leaving if count > own.deallocations]
    for fiber in ready:
        fiber.token = columns
        fiber.warp.machine.ready(fiber)
    if peer.deallocations >= own.deallocations:
        return True
    own.leaving.append((f, own.deallocations))
    return f.warp.machine.block(f, "tensor-memory", number, (columns, 2, "dealloc"))


def tcgen05_relinquish(f: Fiber, number: int, group: int) -> None:
    _whole_warp(f, number, "tcgen05.relinquish_alloc_permit")
    pair_of(f, number, group)
    memory_of(f.warp.cta).relinquished = number
    note(f.warp, "permit", f.warp.index)


def report_leaks(cta: Cta) -> None:
    """At the end of the launch: what was never freed."""
    memory = cta.owned(TensorMemory)
    if memory is None:
        return
    for base, (columns, number) in memory.allocations.items():
        text = f"columns {base}..{base + columns - 1} of the tensor memory of CTA {cta} are never freed"
        line = cta.machine.program.instructions[number].line
        cta.machine.report.add("tensor-memory", f"{text}\n  {cta.machine.line(number)}", (line,))


def explain(_fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a tcgen05.alloc waits for, or a tcgen05.dealloc of a pair."""
    columns, group, verb = detail
    text = f"{columns} columns of tensor memory (tcgen05.{verb} of cta_group::{group})"
    if verb == "dealloc":
        text = f"the peer CTA's tcgen05.dealloc beside that of {columns} columns"
    return text, {"columns": columns, "group": group}
