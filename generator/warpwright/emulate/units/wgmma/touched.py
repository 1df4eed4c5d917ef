"""What ordinary instructions may do with registers of wgmma: not before the wait, and with a wgmma.fence behind it."""

from __future__ import annotations

from warpwright.emulate.machine.state import Fiber, Warp
from warpwright.emulate.units.wgmma.accumulators import MOVES, Accumulators
from warpwright.emulate.units.wgmma.products import Progress


def wgmma_fence(f: Fiber) -> None:
    """wgmma.fence: register accesses so far are ordered before the wgmmas to come."""
    accumulators = f.warp.own(Accumulators)
    for accumulator in accumulators.sets:
        accumulator.fenced = True
    accumulators.unfenced = [False] * len(accumulators.unfenced)


def wgmma_touch(warp: Warp, which: int, number: int, write: bool, moved: bool = False) -> None:
    """Ordinary instructions are about to read or write accumulator registers; `moved`: nothing but moves."""
    mine = warp.own(Progress)
    accumulator = mine.accumulators[which]
    if accumulator.last > mine.done():
        text = (
            "accumulator registers are used while a wgmma that owns them is in flight\n    "
            f"{warp.machine.line(mine.queue.ops[accumulator.last - 1].number)}\n"
            f"  what would order them: {mine.lacks(accumulator.last)}"
        )
        warp.machine.fault("wgmma-registers", warp, number, text)
    if not (moved and MOVES in warp.machine.options.without):
        accumulator.fenced = False
    if accumulator.stale:
        accumulator.stale = False
        rows = 16 * (warp.index % 4)
        accumulator.spread(mine.queue.matrices[which][rows : rows + 16])
    if write:
        accumulator.fresh = True


def wgmma_overwrite(warp: Warp, fragments: tuple[int, ...], number: int, moved: bool) -> None:
    """Ordinary instructions are about to write registers that hold fragments of A; `moved`: nothing but moves."""
    mine, accumulators = warp.own(Progress), warp.own(Accumulators)
    for which in fragments:
        if not (moved and MOVES in warp.machine.options.without):
            accumulators.unfenced[which] = True
        if accumulators.readers[which] > mine.done():
            text = (
                "registers that hold A are overwritten while a wgmma that reads them is in flight\n    "
                f"{warp.machine.line(mine.queue.ops[accumulators.readers[which] - 1].number)}\n"
                f"  what would order them: {mine.lacks(accumulators.readers[which])}"
            )
            warp.machine.fault("wgmma-registers", warp, number, text)
