"""The machine: one launch, and the scheduler that runs its warps in an order drawn from a seed.

A fiber runs until it must wait, or its random time slice is over; asynchronous copies land whenever the dice
say so. When nothing can run any more the launch is over, or it hangs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .findings import Report, Stop
from .order import CELL, LOAD, MMA, STORE, UMMA, Event, Order
from .state import EXIT, RESERVED, Cluster, Cta, Fiber, Warp

__all__ = ["RESERVED", "Machine"]

if TYPE_CHECKING:
    from .launch import Launch, Options, TensorMap
    from .memory import GlobalMemory
    from .translate import Program


#: What makes the completion of an asynchronous operation known to the warp that began it.
_COMPLETION = {
    STORE: "cp.async.bulk.wait_group (.read where only the source is used again)",
    MMA: "wgmma.wait_group",
    UMMA: "tcgen05.commit to an mbarrier on which a warp waits",
}


class Machine:
    """One launch: its state and its scheduler. `run` fills the report."""

    def __init__(self, program: Program, launch: Launch, maps: dict[int, TensorMap], memory: GlobalMemory, seed: int,
                 options: Options) -> None:  # fmt: skip
        self.program, self.launch, self.maps, self.memory, self.options = program, launch, maps, memory, options
        self.cluster_counts = tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
        self.rng = random.Random(seed)
        self.order = Order()
        self.report = Report(options.limit)
        self.complete = True  # no finding has ended the run before its time
        self.runnable: list[Fiber] = []
        self.pending: list[Callable[[], None]] = []  # asynchronous copies that have not landed
        self.waiting: set[Fiber] = set()
        self.clusters: list[Cluster] = []
        self.started = self.retired = self.instructions = 0
        self.remote: list[tuple[int, Cta, Warp, int]] = []  # (event, CTA it reaches into, by whom, instruction)
        self.spans: dict[Any, Any] = {}  # addresses that were checked before, see shared
        self.trace: list[dict[str, Any]] = []
        self.observed: dict[str, dict[Any, Any]] = {k: {} for k in ("mbarriers", "tma", "registers", "named")}
        self.entry_registers = options.entry_registers or min(255, 65536 // launch.threads) // 8 * 8
        self.landing = self.rng.choice((0.02, 0.1, 0.4))
        self.slices = self.rng.choice(((4, 4, 64), (1, 8, 64), (64, 64, 256)))

    # -- scheduling -------------------------------------------------------------------------------------------

    def ready(self, fiber: Fiber) -> None:
        fiber.blocked = None
        self.waiting.discard(fiber)
        self.runnable.append(fiber)

    def block(self, fiber: Fiber, kind: str, number: int, detail: Any) -> bool:
        fiber.blocked = (kind, number, detail)
        fiber.since = fiber.warp.clock
        self.waiting.add(fiber)
        return False

    def run(self) -> float:
        """Run the launch to its end or its first fatal finding; seconds."""
        from .setup import start_clusters
        from .stuck import report_deadlock, report_exits, report_livelock

        began = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                start_clusters(self)
                self._loop(report_livelock)
            if self.waiting:
                report_deadlock(self)
            else:
                report_exits(self)
        except Stop:
            self.complete = False
        return time.perf_counter() - began

    def _loop(self, exhausted: Callable[[Machine], None]) -> None:
        runnable, pending, draw = self.runnable, self.pending, self.rng.random
        functions, sizes, landing = self.program.functions, self.program.sizes, self.landing
        budget, slices = self.options.budget, self.slices
        while runnable or pending:
            if pending and (not runnable or draw() < landing):
                at = int(draw() * len(pending))
                land = pending[at]
                pending[at] = pending[-1]
                pending.pop()
                land()
                continue
            at = int(draw() * len(runnable))
            fiber = runnable[at]
            warp, block = fiber.warp, fiber.block
            count = 0
            for _ in range(slices[int(draw() * 3)]):
                count += sizes[block]
                following = functions[block](fiber, warp)
                if following < 0:
                    break
                block = following
            warp.clock += count
            self.instructions += count
            fiber.block = block
            if following < 0:
                runnable[at] = runnable[-1]
                runnable.pop()
                if following == EXIT:
                    fiber.leave()
            if self.instructions > budget:
                exhausted(self)
                return

    def event(self, kind: str, warp: Warp, number: int, start: int, end: int, **facts: Any) -> None:
        """Add an event to the timeline: modelled clocks, and the PTX line of instruction `number`."""
        line = self.program.instructions[number].line
        self.trace.append({"kind": kind, "cta": warp.cta.ctaid, "warp": warp.index, "line": line, "start": start,
                           "end": end, **facts})  # fmt: skip

    def retire(self, cluster: Cluster) -> None:
        """All CTAs of `cluster` have ended: the next one of the grid takes its place."""
        from .setup import start_clusters

        self.retired += 1
        start_clusters(self)

    # -- reporting --------------------------------------------------------------------------------------------

    def line(self, number: int) -> str:
        return self.program.instructions[number].where

    def fault(self, kind: str, warp: Warp, number: int, message: str, fatal: bool = False, **details: Any) -> None:
        """Report `message` about what instruction `number` of `warp` did."""
        text = f"{message}\n  {warp}\n  {self.line(number)}"
        self.report.add(kind, text, (self.program.instructions[number].line,), fatal, warp=warp.index, **details)

    def dynamic(self, offset: int) -> int:
        return offset - RESERVED - self.program.static_bytes

    def place(self, cta: Cta, offset: int) -> str:
        """Where `offset` of a CTA's shared memory is, in the words of the plan if the options know them."""
        name = self.options.names(self.dynamic(offset))
        return f"{name + ', ' if name else ''}offset {self.dynamic(offset)} of the shared memory of CTA {cta}"

    def name(self, offset: int) -> str:
        """What the plan calls that place, else its offset."""
        return self.options.names(self.dynamic(offset)) or f"at offset {self.dynamic(offset)}"

    def named(self, identifier: int) -> str:
        """What a report calls a named barrier: `named barrier 4 (mma_order)`."""
        name = self.options.named(identifier)
        return f"named barrier {identifier}{f' ({name})' if name else ''}"

    def planned(self, barrier: str) -> str:
        """A line of a report: what the plan says about arrivals at `barrier` (or `barrier[stage]`), "" if nothing."""
        contract = self.options.contracts(barrier.partition("[")[0])
        return f"\n    planned: {contract}" if contract else ""

    def check_order(self, bad: list[tuple[int, int]], cta: Cta, event: int, warp: Warp, number: int, write: bool,
                    asynchronous: bool) -> None:  # fmt: skip
        """Report what `Shadow.read` or `Shadow.write` returned."""
        for other, cell in bad:
            where = self.place(cta, cell * CELL)
            actor = self.order.events[event].actor
            mine = f"{'async' if asynchronous else 'generic'} proxy {'write' if write else 'read'} by {actor}"
            if other == -2:
                text = f"{where} holds a live mbarrier\n  {mine}\n  {self.line(number)}"
                self.report.add("mbarrier", text, (self.program.instructions[number].line,))
                continue
            if other < 0:
                text = f"{where} is read but was never written\n  {mine}\n  {self.line(number)}"
                self.report.add("uninitialised-read", text, (self.program.instructions[number].line,))
                continue
            earlier = self.order.events[other]
            before, wrote = earlier.access(cell, writes_only=not write) or (number, True)
            lines = (self.program.instructions[number].line, self.program.instructions[before].line)
            hint = _remedy(earlier, "write" if wrote else "read", warp, asynchronous, bool(warp.known >> other & 1))
            text = (
                f"{where}\n  {mine}\n    {self.line(number)}\n  is not ordered after the {earlier.proxy} proxy"
                f" {'write' if wrote else 'read'} by {earlier.actor}\n    {self.line(before)}\n"
                f"  what would order them: {hint}"
            )
            self.report.add("race", text, lines, False, offset=cell * CELL, cta=cta.ctaid)


def _remedy(earlier: Event, access: str, warp: Warp, asynchronous: bool, known: bool) -> str:
    """What would order `access`, by `earlier`, before one by `warp`, that knows of it (but not in its proxy) or not."""
    if earlier.what == LOAD:
        return f"a wait by {warp} on the mbarrier that the load completes on, before its access"
    if earlier.what in _COMPLETION:
        then = "" if earlier.warp is warp else f", then a barrier at which it arrives and {warp} waits"
        return f"{_COMPLETION[earlier.what]} by {earlier.warp}{then}"
    actor = f"the {'writer' if access == 'write' else 'reader'}, {earlier.warp},"
    if not asynchronous:
        return f"a barrier at which {earlier.warp} arrives after the {access}, and on which {warp} waits"
    if known:
        return f"fence.proxy.async by {actor} after the {access} and before the barrier ahead of the later access"
    return f"fence.proxy.async by {actor} after the {access}, then a barrier at which it arrives and {warp} waits"
