"""Order on global memory: what copies by the hardware read and write of buffers that a kernel reads and writes.

What a load reads is read when it completes, as its mbarrier tells. What a store has written others may read only
behind cp.async.bulk.wait_group without .read: that is an event of its own.
"""

from __future__ import annotations

import numpy as np

from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.tma.tensor_map import TensorMap
from warpwright.emulate.units.tma.uncommon import part

WRITE = Source.completed_by("the TMA store of ", "cp.async.bulk.wait_group (not .read: its writes must be complete)")


def reads(f: Fiber, number: int, buffer: Buffer, at: int, size: int, event: int) -> None:
    """The load `event` reads `size` bytes from byte `at` of a buffer."""
    if buffer.access == "inout":
        f.warp.machine.global_order.access(f.warp, number, buffer, np.array([at]), size, False, event, True)


def writes(f: Fiber, number: int, buffer: Buffer, at: int, size: int, atomic: bool = False) -> int:
    """A store writes (`atomic`: adds to) bytes of a buffer: the mask of the event that its completion makes known."""
    if buffer.access != "inout":
        return 0
    return _writes(f, number, buffer, np.array([at]), size, atomic)


def _writes(f: Fiber, number: int, buffer: Buffer, starts: Array, size: int, atomic: bool) -> int:
    machine = f.warp.machine
    event = machine.order.event(WRITE, f.warp, True)
    if atomic:
        machine.order.strong[event] = True
    machine.global_order.access(f.warp, number, buffer, starts, size, True, event, True)
    return 1 << event


def tensor(f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...], event: int, granule: int,
           write: bool, atomic: bool = False) -> int:  # fmt: skip
    """The same of the box of a tensor copy: the mask of the event that a store's completion makes known."""
    machine = f.warp.machine
    buffer = machine.memory.at(shape.address, 1)
    if buffer is None or buffer.access != "inout":
        return 0
    found = part(f, number, shape, coordinates, granule)
    if found is None:
        return 0
    starts, size = np.array([found.offset]), shape.element
    for count, stride in zip(found.sizes[::-1], found.strides[::-1], strict=True):
        if stride == size and len(starts) == 1:
            size *= count
        else:
            starts = (starts[:, None] + np.arange(count) * stride).reshape(-1)
    if write:
        return _writes(f, number, found.buffer, starts, size, atomic)
    machine.global_order.access(f.warp, number, found.buffer, starts, size, False, event, True)
    return 0
