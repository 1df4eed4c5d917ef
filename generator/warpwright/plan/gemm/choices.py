"""The first numbers of a gemm plan: what follows from the point by plain arithmetic, legal or not.

Everything is defined for every point, so that rules can speak of illegal ones without raising.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from warpwright.epilogue import registry
from warpwright.epilogue.chain import argument_names
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand
from warpwright.plan.arch import Arch, arch
from warpwright.plan.dtypes import Dtype, dtype
from warpwright.plan.memory import align_up, lay_out
from warpwright.plan.types import Buffer, Swizzle
from warpwright.point import EpilogueStep, Point

__all__ = ["SWIZZLE_BYTES", "Choices", "Step", "swizzle_of"]

SWIZZLE_BYTES: dict[Swizzle, int] = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
#: Registers that a consumer thread needs beside its accumulators: addresses, descriptors, states, the converted
#: subtile. 32 is what leaves M = 128, N = 208 legal at 240 registers, the largest split in use elsewhere; of some 600
#: kernels that were built at random, none that stores by TMA spilled in its consumers with it, and some did with 31.
CONSUMER_OVERHEAD = 32
#: Of those, what an operation of the chain may use; one that declares more needs the rest on top.
CHAIN_ALLOWANCE = 16
#: What addresses and bounds of direct stores need on top, at least: one in ten of those kernels spills a little yet.
DIRECT_OVERHEAD = 8
#: Registers of one wgmma beside its accumulators (ptxas: 142 for N = 232).
INSTRUCTION_OVERHEAD = 26
#: More stages than this hide no further latency: at 64 columns of K they cover over 1000 of K.
MAX_AUTO_STAGES = 16
PRODUCER_SPLITS = {2: (40, 232), 3: (32, 160)}  # consumer warpgroups -> (producer, consumer) registers
WIDE_SPLIT = (24, 240)  # two consumer warpgroups with 208 accumulators or more

#: Named barriers: 0 is __syncthreads; one per consumer warpgroup orders its epilogue buffers, and in pingpong one
#: more per warpgroup hands over the tensor cores, and another one C.
EPILOGUE_BARRIER = 1
ORDER_BARRIER = 4
C_ORDER_BARRIER = 6


def swizzle_of(span_bytes: int) -> Swizzle:
    """Return the widest swizzle whose span divides a contiguous extent of `span_bytes` bytes."""
    for name in ("128B", "64B", "32B"):
        if span_bytes % SWIZZLE_BYTES[name] == 0:
            return name
    return "none"


@dataclass(frozen=True)
class Step:
    """One operation of the chain with the argument names of its operands (unique within the kernel)."""

    step: EpilogueStep
    op: EpilogueOp
    arguments: tuple[tuple[EpilogueOperand, str], ...]
    scratch: str  # the buffer that holds its shared_bytes, or ""


@dataclass(frozen=True)
class Choices:
    """A point and its direct consequences. Lengths in elements unless a name ends in `_bytes`."""

    point: Point

    @cached_property
    def arch(self) -> Arch:
        return arch(self.point.kernel.arch)

    @cached_property
    def ab(self) -> Dtype:
        return dtype(self.point.kernel.a.dtype)

    @cached_property
    def d(self) -> Dtype:
        return dtype(self.point.kernel.d.dtype)

    @cached_property
    def c(self) -> Dtype | None:
        return dtype(self.point.kernel.c.dtype) if self.point.kernel.c else None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        chain = self.point.kernel.epilogue
        operations = tuple(registry.get(step.op) for step in chain)
        named = argument_names(operations)
        scratch = [f"scratch_{number}" if op.shared_bytes else "" for number, op in enumerate(operations, 1)]
        return tuple(Step(*parts) for parts in zip(chain, operations, named, scratch, strict=True))

    @cached_property
    def tile_operands(self) -> tuple[str, ...]:
        return tuple(name for s in self.steps for operand, name in s.arguments if operand.kind == "tile")

    # Warps -------------------------------------------------------------------------------------------------

    @cached_property
    def consumers(self) -> int:
        """Consumer warpgroups."""
        return max(1, self.point.design.consumer_warps // 4)

    @cached_property
    def sharing(self) -> int:
        """Consumer warpgroups that share one tile."""
        return 1 if self.point.design.schedule == "pingpong" else self.consumers

    @cached_property
    def warpgroup_m(self) -> int:
        """Rows of D that one consumer warpgroup computes per tile."""
        return self.point.design.tile.m // self.sharing

    @cached_property
    def load_warps(self) -> int:
        """Warps that issue TMA loads: the producers, and one for tile operands of the epilogue."""
        return self.point.design.producer_warps + (1 if self.tile_operands else 0)

    @cached_property
    def reallocates(self) -> bool:
        """Whether setmaxnreg moves registers from the producer to the consumers."""
        registers = self.point.design.registers
        # One consumer warpgroup: 256 threads start with 255 registers each, there is nothing to move.
        return registers not in ("none", "auto") or (registers == "auto" and self.consumers > 1)

    @cached_property
    def accumulators(self) -> int:
        """Accumulator registers per consumer thread."""
        return self.warpgroup_m * self.point.design.tile.n // 128

    @cached_property
    def threads(self) -> int:
        # setmaxnreg is executed by whole warpgroups: the producer's is filled up with idle warps.
        return 128 * self.consumers + (128 if self.reallocates else 32 * self.load_warps)

    @cached_property
    def split(self) -> tuple[int, int] | None:
        """(producer, consumer) registers after setmaxnreg, or None."""
        registers = self.point.design.registers
        if registers == "none" or not self.reallocates:
            return None
        if registers != "auto":
            return registers.producer, registers.consumer
        if self.consumers == 2 and self.accumulators >= 208:
            return WIDE_SPLIT
        return PRODUCER_SPLITS.get(self.consumers, (24, 24))

    @cached_property
    def entry_registers(self) -> int:
        """Registers per thread at launch: all of the SM's, in the steps of 8 in which they are granted.

        Warps are dealt out to the SM's four quarters, each with a fourth of the registers: 10 warps count as 12.
        """
        return min(self.arch.registers_per_thread, self.arch.registers // align_up(self.threads, 128) // 8 * 8)

    @cached_property
    def consumer_registers(self) -> int:
        return min(self.arch.registers_per_thread, self.split[1] if self.split else self.entry_registers)

    @cached_property
    def consumer_overhead(self) -> int:
        """Registers that a consumer thread needs beside its accumulators."""
        chain = max((s.op.registers(self.subtile_n // 2) for s in self.steps), default=0)
        addresses = DIRECT_OVERHEAD if self.point.design.store == "direct" else 0
        return CONSUMER_OVERHEAD + addresses + max(0, chain - CHAIN_ALLOWANCE)

    # Stages and epilogue -----------------------------------------------------------------------------------

    @cached_property
    def stage_bytes(self) -> int:
        """Bytes of A and B in one stage: what lands in a CTA per phase of its full barrier."""
        tile = self.point.design.tile
        return (tile.m + tile.n) * tile.k * self.ab.bytes

    @cached_property
    def subtile_n(self) -> int:
        """Columns of D in one epilogue subtile of 64 rows."""
        chosen = self.point.design.epilogue_n
        if chosen != "auto":
            return chosen
        return next((n for n in (32, 16) if self.point.design.tile.n % n == 0), 8)

    @cached_property
    def subtile_stages(self) -> int:
        """Buffers per warpgroup through which subtiles are stored; none where threads store directly."""
        if self.point.design.store == "direct":
            return 0
        chosen = self.point.design.epilogue_stages
        # Slots are dealt out statically, so a tile must end where the next one starts.
        return chosen if chosen != "auto" else 2 if self.subtiles % 2 == 0 else 1

    @cached_property
    def subtiles(self) -> int:
        """Subtiles of one warpgroup and tile."""
        return self.warpgroup_m // 64 * (self.point.design.tile.n // self.subtile_n)

    @cached_property
    def c_stages(self) -> int:
        """Stages of the ring of the tile operand."""
        return max(2, self.subtile_stages) if self.tile_operands else 0

    def swizzle(self, operand: str) -> Swizzle:
        """Return the shared-memory swizzle of "a", "b", "c" or "d": the widest that its contiguous extent allows."""
        kernel, tile = self.point.kernel, self.point.design.tile
        if operand in ("a", "b"):
            major = kernel.a.major if operand == "a" else kernel.b.major
            extent = tile.k if major == "k" else (tile.m if operand == "a" else tile.n)
            return swizzle_of(extent * self.ab.bytes)
        matrix, element = (kernel.d, self.d) if operand == "d" else (kernel.c, self.c)
        if matrix is None or element is None:
            raise ValueError(f"the kernel has no operand {operand!r}")
        return swizzle_of((self.subtile_n if matrix.major == "n" else 64) * element.bytes)

    def boxes(self, operand: str) -> int:
        """Return how many TMA boxes, each as wide as the swizzle, make one stage of "a" or "b"."""
        kernel, tile = self.point.kernel, self.point.design.tile
        major = kernel.a.major if operand == "a" else kernel.b.major
        extent = tile.k if major == "k" else (tile.m if operand == "a" else tile.n)
        return -(-extent * self.ab.bytes // SWIZZLE_BYTES[self.swizzle(operand)])

    def buffers(self, stages: int) -> tuple[tuple[Buffer, ...], int]:
        """Return the shared-memory map with a ring of `stages` stages, and its size in bytes."""
        tile = self.point.design.tile
        found = [
            Buffer("a", 0, tile.m * tile.k * self.ab.bytes * stages, 1024, self.ab.name,
                   (tile.m, tile.k, stages), self.swizzle("a"), "ring of A tiles"),
            Buffer("b", 0, tile.n * tile.k * self.ab.bytes * stages, 1024, self.ab.name,
                   (tile.n, tile.k, stages), self.swizzle("b"), "ring of B tiles"),
        ]  # fmt: skip
        if self.c is not None and self.tile_operands:
            slots = self.sharing * self.c_stages
            use = "ring of C subtiles" + (", one per warpgroup and stage" if self.sharing > 1 else "")
            found.append(
                Buffer("c", 0, 64 * self.subtile_n * self.c.bytes * slots, 1024, self.c.name,
                       (64, self.subtile_n, slots), self.swizzle("c"), use)
            )  # fmt: skip
        if self.subtile_stages:
            slots = self.consumers * self.subtile_stages
            found.append(
                Buffer("d", 0, 64 * self.subtile_n * self.d.bytes * slots, 1024, self.d.name,
                       (64, self.subtile_n, slots), self.swizzle("d"), "D subtiles on their way out, per warpgroup")
            )  # fmt: skip
        found += [
            Buffer(s.scratch, 0, s.op.shared_bytes, 16, "u8", (s.op.shared_bytes,), "none", f"scratch of {s.op.name}")
            for s in self.steps
            if s.scratch
        ]
        rings = [("ab", stages)] + ([("c", self.c_stages)] if self.tile_operands else [])
        found += [
            Buffer(f"{ring}_{side}", 0, 8 * count, 8, "i64", (count,), "none", f"mbarriers: {ring} stage is {side}")
            for ring, count in rings
            for side in ("full", "empty")
        ]
        return lay_out(found)

    @cached_property
    def fitting_stages(self) -> int:
        """The largest ring of A and B that fits; 0 where not even one stage does."""
        room = self.arch.shared_bytes // self.stage_bytes
        return next((s for s in range(room, 0, -1) if self.buffers(s)[1] <= self.arch.shared_bytes), 0)

    @cached_property
    def stages(self) -> int:
        chosen = self.point.design.stages
        return min(MAX_AUTO_STAGES, max(2, self.fitting_stages)) if chosen == "auto" else chosen
