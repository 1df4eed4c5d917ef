"""Which tcgen05 operations of a thread execute in the order in which they are issued (PTX ISA, "Pipelined tcgen05
Instructions"): mma behind mma of the same accumulator and shape, mma behind cp and shift, shift behind mma, and
cp.4x256b behind shift. Every other order wants a commit, and a wait for the mbarrier that it arrives at.
"""

from __future__ import annotations

from typing import Any

from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Warp
from warpwright.emulate.units.tcgen05.memory import UMMA, TensorMemory, TensorOrder

#: A rule that can be left out: these pairs alone are in order. The tensor core executes all that a thread issues in
#: order; attention kernels rely on that for operands in tensor memory, block-scaled ones for scales that are replaced.
PIPELINES = "tcgen05-pipelines"
COPIES, SHIFTS, MMAS = "cp", "shift", "mma"  # pipelines beside those of one accumulator and shape; MMAS: of any


def issue(own: TensorMemory, warp: Warp, source: Source, pipeline: Any, behind: tuple[Any, ...], group: int) -> Any:
    """(event, what it may build on) of accesses of tensor memory by an operation in `pipeline`, after those of
    `behind`."""
    if PIPELINES in warp.machine.options.without:
        pipeline, behind = group, (group,)
    thread = own.thread(warp)
    event = thread.writes.get(pipeline)
    if event is None:
        event = thread.writes[pipeline] = TensorOrder.event(warp, source)
        thread.issued |= 1 << event
        for each in _names(pipeline):
            thread.pipelines[each] = thread.pipelines.get(each, 0) | 1 << event
    if own.handed:
        for each in behind:
            _take_over(own, warp, each)
    return event, thread.visible(warp, behind)


def reading(own: TensorMemory, warp: Warp, source: Source) -> int:
    """The event of the thread's reads of shared memory since its last commit."""
    thread = own.thread(warp)
    event = thread.reads.get(source)
    if event is None:
        event = thread.reads[source] = warp.machine.order.event(source, warp, True)
        thread.issued |= 1 << event
    return event


def hand_over(memory: TensorMemory, warp: Warp) -> None:
    """At a fence before: who learns of the new event may issue what is pipelined behind the operations of `warp`."""
    thread = memory.thread(warp)
    if thread.writes:
        event = TensorOrder.event(warp, UMMA)
        warp.learn(1 << event, 1 << event)
        for pipeline in {name: None for each in thread.writes for name in _names(each)}:
            memory.handed.setdefault(pipeline, []).append((event, thread.pipelines[pipeline]))
        thread.writes.clear()


def _names(pipeline: Any) -> tuple[Any, ...]:
    return (pipeline,) if pipeline in (COPIES, SHIFTS) else (pipeline, MMAS)


def _take_over(memory: TensorMemory, warp: Warp, pipeline: Any) -> None:
    """What was handed over to the thread counts as its own."""
    thread = memory.thread(warp)
    for event, mask in memory.handed.get(pipeline, ()):
        if thread.seen >> event & 1:
            thread.issued |= mask
            thread.pipelines[pipeline] = thread.pipelines.get(pipeline, 0) | mask
