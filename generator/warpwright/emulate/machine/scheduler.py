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

from warpwright.emulate.machine import races, start, stuck
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.machine.findings import Report, Stop
from warpwright.emulate.machine.global_order import GlobalOrder
from warpwright.emulate.machine.locations import Locations
from warpwright.emulate.machine.order import Order
from warpwright.emulate.machine.shadow import Bad
from warpwright.emulate.machine.state import EXIT, Cluster, Cta, Fiber, Warp

if TYPE_CHECKING:
    from warpwright.emulate.machine.launch import Launch, Options
    from warpwright.emulate.machine.memory import GlobalMemory
    from warpwright.emulate.machine.program import Program


class Machine:
    """One launch: its state and its scheduler. `run` fills the report."""

    def __init__(self, program: Program, launch: Launch, opaque: dict[int, Any], memory: GlobalMemory, seed: int,
                 options: Options) -> None:  # fmt: skip
        self.program, self.launch, self.memory, self.options = program, launch, memory, options
        self.opaque = opaque  # what opaque objects among the parameters mean, by parameter; units add
        self.cluster_counts = tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
        self.seed, self.rng = seed, random.Random(seed)
        self.order = Order()
        self.global_order, self.locations = GlobalOrder(self), Locations()
        self.report = Report(options.limit)
        self.complete = True  # no finding has ended the run before its time
        self.runnable: list[Fiber] = []
        self.pending: list[Callable[[], None]] = []  # asynchronous copies that have not landed
        self.waiting: set[Fiber] = set()
        self.clusters: list[Cluster] = []
        self.started = self.retired = self.instructions = 0
        self.remote: list[tuple[int, Cta, Warp, int]] = []  # (event, CTA it reaches into, by whom, instruction)
        self.spans = program.spans.setdefault((launch.cluster, launch.shared_bytes), {})
        self.trace: list[dict[str, Any]] = []
        self.observed: dict[str, dict[Any, Any]] = {name: {} for name in program.hooks.observes}
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
        began = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                start.place_arrays(self)
                start.start_clusters(self)
                self._loop()
            if self.waiting:
                stuck.report_deadlock(self)
            else:
                stuck.report_exits(self)
        except Stop:
            self.complete = False
        return time.perf_counter() - began

    def _loop(self) -> None:
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
            self.instructions += count
            fiber.block = block
            if following < 0:
                runnable[at] = runnable[-1]
                runnable.pop()
                if following == EXIT:
                    fiber.leave()
            if self.instructions > budget:
                stuck.report_livelock(self)
                return

    def event(self, kind: str, warp: Warp, number: int, start: int, end: int, **facts: Any) -> None:
        """Add an event to the timeline: modelled clocks, and the PTX line of instruction `number`."""
        line = self.program.instructions[number].line
        self.trace.append({"kind": kind, "cta": warp.cta.ctaid, "warp": warp.index, "line": line, "start": start,
                           "end": end, **facts})  # fmt: skip

    def retire(self, cluster: Cluster) -> None:
        """All CTAs of `cluster` have ended: the next one of the grid takes its place."""
        self.retired += 1
        start.start_clusters(self)

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

    def planned(self, barrier: str) -> str:
        """A line of a report: what the plan says about arrivals at `barrier` (or `barrier[stage]`), "" if nothing."""
        contract = self.options.contracts(barrier.partition("[")[0])
        return f"\n    planned: {contract}" if contract else ""

    def check_order(self, bad: Bad, cta: Cta, event: int, warp: Warp, number: int, write: bool,
                    asynchronous: bool) -> None:  # fmt: skip
        """Report what `Shadow.read` or `Shadow.write` returned."""
        races.report(self, bad, cta, event, warp, number, write, asynchronous)
