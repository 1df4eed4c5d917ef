"""clusterlaunchcontrol: ask for a cluster of the grid that has not started, and read the answer.

The request is asynchronous: 16 bytes of the answer land in shared memory, and count on an mbarrier. Their bits are
opaque (PTX ISA); here they are the first CTA's coordinates, 21 bits each, and a top bit for "canceled".
Which clusters are left depends on how many are resident: with all of the grid resident there is none. Where only a part
of the grid is run, those of that part are taken over, and no others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import locate
from warpwright.emulate.machine.cells import CELL
from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.start import cancel_cluster
from warpwright.emulate.machine.state import Cta, Fiber
from warpwright.emulate.units.tma.copies import begin_fill

ANSWER = Source(
    "the launch request of ",
    lambda _began, after: f"a wait by {after} on the mbarrier that the request completes on, before its access",
)
_SIZE, _BITS, _CANCELED = 16, 21, 1 << 63
_REFUSED = _CANCELED - 1  # coordinates that no grid has: who asks for them must not use them


class Requests:
    """Of a CTA: whether it has seen that a request failed (the instruction that asked, -1 if not)."""

    def __init__(self, _cta: Cta) -> None:
        self.failed = -1


def try_cancel(f: Fiber, number: int, target: int, barrier: int, everywhere: bool) -> None:
    """clusterlaunchcontrol.try_cancel.async; `everywhere`: the answer goes to every CTA of the cluster."""
    warp = f.warp
    machine = warp.machine
    if f.mask & (f.mask - 1):
        text = f"{bin(f.mask).count('1')} lanes each ask for a cluster: one thread is to ask"
        machine.fault("convergence", warp, number, text)
    failed = warp.cta.own(Requests).failed
    if failed >= 0:
        text = (
            "a cluster is asked for after this CTA has seen that a request failed: what that does is undefined\n"
            f"    {machine.line(failed)}"
        )
        machine.fault("launch-control", warp, number, text)
    cta, offset = locate(f, number, target, False, _SIZE, _SIZE)
    _, bar_offset = locate(f, number, barrier, False, 8, 8)
    targets = cta.cluster.ctas if everywhere else [cta]
    event = machine.order.event(ANSWER, warp, True)
    cells = slice(offset // CELL, (offset + _SIZE) // CELL)
    barriers = begin_fill(f, number, event, cells, [(each, each, bar_offset) for each in targets])
    first = cancel_cluster(machine)
    answer = _REFUSED if first is None else _CANCELED | sum(c << _BITS * i for i, c in enumerate(first))
    words = np.array([answer, 0], dtype=np.uint64).view(np.uint8)

    def land() -> None:
        for each, bar in zip(targets, barriers, strict=True):
            each.bytes[offset : offset + _SIZE] = words
            bar.complete(warp, number, _SIZE, event, warp.clock)

    machine.pending.append(land)


def is_canceled(f: Fiber, number: int, low: Any) -> Any:
    """Whether an answer, by its low 64 bits, is that of a request that got a cluster."""
    found = low >> 63 != 0
    if not np.all(found if isinstance(low, int) else found[f.lanes]):
        f.warp.cta.own(Requests).failed = number
    return found


def first_ctaid(low: Any, axis: int) -> Any:
    """The coordinate of the first CTA of the cluster that an answer brings; what no grid has where it brings none."""
    return low >> (_BITS * axis) & ((1 << _BITS) - 1)
