"""The machine: CTAs, warps, lane groups, and the scheduler that runs them in an order drawn from a seed.

What is scheduled is a `Fiber`: the lanes of one warp that are at the same place. A divergent branch splits a
fiber; its parts meet again at the branch's immediate post-dominator. A fiber runs until it must wait, or its
random time slice is over; asynchronous copies land whenever the dice say so.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .findings import Report, Stop
from .formats import Array
from .order import CELL, Cells, Order, Shadow

if TYPE_CHECKING:
    from .barriers import ClusterBarrier, MBarrier, NamedBarrier
    from .launch import Launch, Options, TensorMap
    from .memory import GlobalMemory
    from .translate import Program
    from .wgmma import Warpgroup

RESERVED = 1024  # bytes at the start of shared memory that the system keeps: dynamic shared memory starts above
RANK_SHIFT = 24
SHARED_WINDOW = 1 << 40  # generic addresses of shared memory and of kernel parameters, far from any buffer
PARAM_WINDOW = 1 << 41
FULL = 0xFFFFFFFF
LANES = np.arange(32, dtype=np.uint32)
_LANE_MASKS: dict[int, Array] = {}


def lanes_of(mask: int) -> Array:
    """32 booleans."""
    found = _LANE_MASKS.get(mask)
    if found is None:
        found = _LANE_MASKS[mask] = (mask >> LANES & 1).astype(bool) if mask else np.zeros(32, dtype=bool)
    return found


def mask_of(lanes: Any) -> int:
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


class Join:
    """Where the parts of a split fiber meet: at `block`, once the lanes of `mask` have `arrived`."""

    __slots__ = ("arrived", "block", "mask", "parent")

    def __init__(self, block: int, mask: int, parent: Join | None) -> None:
        self.block, self.mask, self.parent, self.arrived = block, mask, parent, 0


class Fiber:
    """The lanes of `warp` in `mask`, next to run `block`; `blocked` says on what it waits."""

    __slots__ = ("block", "blocked", "join", "lanes", "mask", "since", "token", "warp")

    def __init__(self, warp: Warp, block: int, mask: int, join: Join | None) -> None:
        self.warp, self.block, self.mask, self.join = warp, block, mask, join
        self.lanes = lanes_of(mask)
        self.token: Any = None  # what an interrupted barrier.sync remembers
        self.blocked: tuple[str, int, Any] | None = None
        self.since = 0

    def split(self, predicate: Any, taken: int, other: int, join: int) -> int:
        """Branch of the lanes where `predicate` holds to block `taken`, of the rest to `other`; the next block."""
        chosen = mask_of(predicate) & self.mask
        if chosen == self.mask:
            return taken
        if not chosen:
            return other
        node = Join(join, self.mask, self.join)
        self.warp.machine.ready(Fiber(self.warp, taken, chosen, node))
        self.mask &= ~chosen
        self.lanes, self.join = lanes_of(self.mask), node
        return other

    def narrow(self, predicate: Any) -> int:
        """Keep the lanes where `predicate` holds, for one guarded instruction; the mask to `widen` to again."""
        before = self.mask
        self.mask &= mask_of(predicate)
        self.lanes = lanes_of(self.mask)
        return before

    def widen(self, mask: int) -> None:
        self.mask, self.lanes = mask, lanes_of(mask)

    def meet(self, block: int) -> bool:
        """At the start of `block`: True when this fiber goes on, with the lanes that it waited for."""
        while self.join is not None and self.join.block == block:
            node = self.join
            node.arrived |= self.mask
            if node.arrived != node.mask:
                return False
            self.mask, self.join = node.mask, node.parent
            self.lanes = lanes_of(self.mask)
        return True

    def leave(self) -> None:
        """Its lanes have returned: those that wait for them at a join must not."""
        node, revived = self.join, False
        while node is not None:
            node.mask &= ~self.mask
            if node.mask and node.arrived == node.mask and not revived:
                revived = True
                self.warp.machine.ready(Fiber(self.warp, node.block, node.mask, node.parent))
            node = node.parent
        self.warp.alive &= ~self.mask
        if not self.warp.alive:
            self.warp.finish()


class Warp:
    """Registers and knowledge of one warp. `u` holds uniform registers; `r32` and its siblings have a row of 32
    lanes for each varying one, seen through views of every type that instructions use."""

    def __init__(self, machine: Machine, cta: Cta, index: int, group: Warpgroup, rows: dict[int, Array]) -> None:
        self.machine, self.cta, self.index, self.group = machine, cta, index, group
        self.u: list[int] = [0] * machine.program.uniforms
        self.U16, self.U32, self.U64, self.P = rows[16], rows[32], rows[64], rows[1]
        self.S16, self.S32, self.S64 = self.U16.view(np.int16), self.U32.view(np.int32), self.U64.view(np.int64)
        self.F32, self.F64 = self.U32.view(np.float32), self.U64.view(np.float64)
        threads = machine.launch.threads
        first = 32 * index
        self.alive = FULL if first + 32 <= threads else (1 << (threads - first)) - 1
        x, y, _ = machine.launch.block
        flat = LANES + np.uint32(first)
        self.tid = (flat % x, flat // x % y, flat // (x * y))
        self.known = self.known_async = 0
        self.released = self.released_async = 0  # what a relaxed cluster arrive carries
        self.segment = self.inits = -1  # events: accesses since the last release, mbarrier.inits since the last fence
        self.clock = 0
        self.bulk: list[list[Any]] = [[]]  # groups of copies out of shared memory, the last one still open
        self.accumulators = group.views(index)
        self.committed = self.waited = self.issued = 0
        self.cluster_phase: int | None = None  # between barrier.cluster.arrive and wait
        self.registers: int | None = None  # after setmaxnreg
        self.register_changes: list[tuple[int, int]] = []
        self.done = False

    def __str__(self) -> str:
        role = self.machine.options.roles(self.index)
        return f"warp {self.index}{f' ({role})' if role else ''} of CTA {self.cta}"

    def event(self) -> int:
        """The event of the accesses that the warp makes now."""
        if self.segment < 0:
            self.segment = self.machine.order.event("", self, False)
            self.known |= 1 << self.segment
        return self.segment

    def learn(self, known: int, known_async: int) -> None:
        self.known |= known
        self.known_async |= known_async

    def finish(self) -> None:
        self.done = True
        machine, cta = self.machine, self.cta
        if any(self.bulk) and any(not copy.read_waited for group in self.bulk for copy in group):
            copy = next(c for g in self.bulk for c in g if not c.read_waited)
            machine.fault(
                "exit", self, copy.number, "the warp ends without cp.async.bulk.wait_group for this copy: its shared"
                " memory may be gone before it is read"
            )  # fmt: skip
        if self.issued > self.waited_operations():
            machine.fault("exit", self, self.group.ops[-1].number, "the warp ends with a wgmma that it never waited for")
        cta.cluster.barrier.warps -= 1
        cta.cluster.barrier.advance(machine)
        cta.exit_known |= self.known
        cta.running -= 1
        if not cta.running:
            cta.cluster.left -= 1
            if not cta.cluster.left:
                machine.retire(cta.cluster)

    def waited_operations(self) -> int:
        return self.group.boundaries[self.waited - 1] if self.waited else 0


class Cta:
    """Shared memory, barriers and warps of one thread block; offsets are from the start of its shared memory."""

    def __init__(self, machine: Machine, cluster: Cluster, rank: int, ctaid: tuple[int, int, int]) -> None:
        self.machine, self.cluster, self.rank, self.ctaid = machine, cluster, rank, ctaid
        self.base = rank << RANK_SHIFT
        self.cluster_ctaid = tuple(i % c for i, c in zip(ctaid, machine.launch.cluster, strict=True))
        self.cluster_id = tuple(i // c for i, c in zip(ctaid, machine.launch.cluster, strict=True))
        size = RESERVED + machine.program.static_bytes + machine.launch.shared_bytes
        self.size = size
        self.bytes: Array = np.zeros((size + CELL - 1) // CELL * CELL, dtype=np.uint8)
        self.bytes[:] = 0xFF  # NaN in every format: what is read before it is written shows
        self.chunks = self.bytes.view(np.complex128)
        self.words = {n: self.bytes.view(f"u{n}") for n in (1, 2, 4, 8)}
        self.shadow = Shadow(machine.order, len(self.chunks))
        self.mbarriers: dict[int, MBarrier] = {}
        self.named: dict[int, NamedBarrier] = {}
        self.exit_known = 0
        self.tma_clock = self.mma_clock = 0
        self.operands: dict[Any, Any] = {}  # matrix operands converted to float32, see wgmma
        self.warps: list[Warp] = []
        self.running = (machine.launch.threads + 31) // 32
        self.free_registers = 0  # in the CTA's pool, for setmaxnreg.inc
        self.wanting: list[Fiber] = []

    def __str__(self) -> str:
        return str(self.ctaid)


class Cluster:
    """CTAs that see each other's shared memory, by rank."""

    def __init__(self, number: int, barrier: ClusterBarrier) -> None:
        self.number, self.barrier = number, barrier
        self.ctas: list[Cta] = []
        self.left = 0


class Machine:
    """One launch: its state and its scheduler. `run` fills the report."""

    def __init__(self, program: Program, launch: Launch, maps: dict[int, TensorMap], memory: GlobalMemory, seed: int,
                 options: Options) -> None:  # fmt: skip
        self.program, self.launch, self.maps, self.memory, self.options = program, launch, maps, memory, options
        self.cluster_counts = tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
        self.rng = random.Random(seed)
        self.order = Order()
        self.report = Report(options.limit)
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
            pass
        return time.perf_counter() - began

    def _loop(self, exhausted: Callable[[Machine], None]) -> None:
        runnable, pending, draw = self.runnable, self.pending, self.rng.random
        functions, sizes, landing = self.program.functions, self.program.sizes, self.landing
        end, budget, slices = len(functions), self.options.budget, self.slices
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
                if block == end:
                    break
            warp.clock += count
            self.instructions += count
            fiber.block = block
            if following < 0 or block == end:
                runnable[at] = runnable[-1]
                runnable.pop()
                if following >= 0:
                    fiber.leave()
            if self.instructions > budget:
                exhausted(self)
                return

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

    def place(self, cta: Cta, offset: int) -> str:
        """Where `offset` of a CTA's shared memory is, in the words of the plan if the options know them."""
        dynamic = offset - RESERVED - self.program.static_bytes
        name = self.options.names(dynamic)
        return f"{name + ', ' if name else ''}offset {dynamic} of the shared memory of CTA {cta}"

    def check_order(self, bad: list[tuple[int, int]], cta: Cta, event: int, warp: Warp, number: int, write: bool,
                    asynchronous: bool) -> None:  # fmt: skip
        """Report what `Shadow.read` or `Shadow.write` returned."""
        for other, cell in bad:
            where = self.place(cta, cell * CELL)
            mine = f"{'async' if asynchronous else 'generic'} proxy {'write' if write else 'read'} by {warp}"
            if other == -2:
                text = f"{where} holds a live mbarrier\n  {mine}\n  {self.line(number)}"
                self.report.add("mbarrier", text, (self.program.instructions[number].line,))
                continue
            if other < 0:
                text = f"{where} is read but was never written\n  {mine}\n  {self.line(number)}"
                self.report.add("uninitialised-read", text, (self.program.instructions[number].line,))
                continue
            earlier = self.order.events[other]
            wrote = cell_writer = earlier.instruction(cell, writes_only=not write)
            if cell_writer is None:
                wrote = number
            lines = (self.program.instructions[number].line, self.program.instructions[wrote or 0].line)
            hint = self._remedy(earlier.asynchronous, asynchronous, warp.known >> other & 1)
            text = (
                f"{where}\n  {mine}\n    {self.line(number)}\n  is not ordered after the {earlier.proxy} proxy access by"
                f" {earlier.actor}\n    {self.line(wrote or 0)}\n  {hint}"
            )
            self.report.add("race", text, lines, False, offset=cell * CELL, cta=cta.ctaid)

    @staticmethod
    def _remedy(earlier_async: bool, later_async: bool, known: int) -> str:
        if later_async and not earlier_async and known:
            return "what would order them: fence.proxy.async by the writer, before the barrier"
        if earlier_async:
            return "what would order them: waiting for the earlier operation's completion, then a barrier to this warp"
        return "what would order them: a barrier that the earlier warp arrives at and this one waits for"


def slice_or(cells: Array) -> Cells:
    """`cells`, as a slice where they are all the cells of a range (in any order)."""
    flat = cells.reshape(-1)
    low, high = int(flat.min()), int(flat.max())
    if high - low + 1 == len(flat) and len(np.unique(flat)) == len(flat):
        return slice(low, high + 1)
    return np.unique(flat)
