"""What a launch consists of: CTAs, warps, and fibers, the groups of lanes that are scheduled.

A divergent branch splits a fiber; its parts meet again at the branch's immediate post-dominator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .formats import Array
from .order import CELL, Shadow

if TYPE_CHECKING:
    from .barriers import ClusterBarrier, NamedBarrier
    from .machine import Machine
    from .mbarriers import MBarrier
    from .tensor_memory import TensorMemory
    from .wgmma import Warpgroup

RESERVED = 1024  # bytes at the start of shared memory that the system keeps: dynamic shared memory starts above
RANK_SHIFT = 24
SHARED_WINDOW = 1 << 40  # generic addresses of shared memory and of kernel parameters, far from any buffer
PARAM_WINDOW = 1 << 41
FULL = 0xFFFFFFFF
WAIT, EXIT = -1, -2  # what the function of a block returns instead of the next block
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
        self.token: Any = None  # set when the barrier is complete that the fiber waits for: what that released
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
        self.unsynced = self.accessing = 0  # events since all lanes last met at a barrier, and the lanes that made them
        self.segment = self.inits = -1  # events: accesses since the last release, mbarrier.inits since the last fence
        self.clock = 0
        self.bulk: list[list[Any]] = [[]]  # groups of copies out of shared memory, the last one still open
        self.accumulators = group.views(index)
        self.committed = self.waited = self.issued = 0
        self.cluster_phase: int | None = None  # between barrier.cluster.arrive and wait
        self.registers: int | None = None  # after setmaxnreg
        self.loading: frozenset[str] = frozenset()  # registers that a tcgen05.ld still fills
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
            self.unsynced |= 1 << self.segment
        return self.segment

    def catch_up(self, clock: int, number: int, what: str, **facts: Any) -> None:
        """A wait is over that the modelled clock puts at `clock` (an event of the timeline)."""
        if self.machine.options.trace and clock > self.clock:
            self.machine.event("wait", self, number, self.clock, clock, what=what, **facts)
        self.clock = max(self.clock, clock)

    def synchronise(self) -> None:
        """All lanes have met at a barrier: each knows what the others did; later accesses are a new event."""
        self.segment = -1
        self.unsynced = self.accessing = 0

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
            text = "the warp ends with a wgmma that it never waited for"
            machine.fault("exit", self, self.group.ops[-1].number, text)
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
        self.tensor: TensorMemory | None = None  # from its first use

    def __str__(self) -> str:
        return str(self.ctaid)


class Cluster:
    """CTAs that see each other's shared memory, by rank."""

    def __init__(self, number: int, barrier: ClusterBarrier) -> None:
        self.number, self.barrier = number, barrier
        self.ctas: list[Cta] = []
        self.left = 0
