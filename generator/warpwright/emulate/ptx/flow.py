"""Control flow of one kernel: basic blocks, immediate post-dominators, and what may differ between lanes.

A block starts at every instruction that may suspend a warp, so that it can be run again from its start once
the warp is woken. A register is *uniform* when all lanes of a warp must agree on it: then it is one Python
integer; a block is *divergent* when some lanes of a warp may be elsewhere: then its writes are masked.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from warpwright.emulate.ptx.graph import depths, post_dominators
from warpwright.emulate.ptx.syntax import (
    MALFORMED,
    Immediate,
    Instruction,
    Kernel,
    Memory,
    Operand,
    Pair,
    PtxError,
    Register,
    Special,
    Symbol,
    Vector,
    misread,
)  # fmt: skip
from warpwright.emulate.ptx.traits import Traits

_VARYING_SPECIAL = ("%tid", "%laneid", "%lanemask")


@dataclass
class Block:
    """`successors`: the taken target first where `branch` is conditional; none after `ret`."""

    index: int
    instructions: list[Instruction] = field(default_factory=list)
    branch: Instruction | None = None
    successors: tuple[int, ...] = ()
    spin: bool = False  # a loop that does nothing but test whether it may go on: the test suspends the warp


def registers(operand: Operand) -> tuple[str, ...]:
    """Names of the registers that `operand` mentions."""
    if isinstance(operand, Register):
        return (operand.name,)
    if isinstance(operand, Vector):
        return tuple(name for item in operand.items for name in registers(item))
    if isinstance(operand, Pair):
        return registers(operand.first) + registers(operand.second)
    if isinstance(operand, Memory):
        return registers(operand.base) + tuple(name for item in operand.coordinates for name in registers(item))
    return ()


class Flow:
    """The control-flow graph of `kernel`. Raises `PtxError` for a branch that it cannot follow.

    `traits` gives those of each opcode.
    """

    def __init__(self, kernel: Kernel, traits: Callable[[str], Traits]) -> None:
        self.kernel, self.traits = kernel, traits
        self._defs = {id(i): self._written(i) for i in kernel.body}
        self._uses = {id(i): self._read(i) for i in kernel.body}
        self.blocks = self._split()
        self._mark_spins()
        self.ipdom = post_dominators([block.successors for block in self.blocks])
        self.local = self._block_local()
        self.thread_index = self._copies_of("%tid.x") if not kernel.reqntid or kernel.reqntid[1:] == (1, 1) else set()
        self.varying: set[str] = set()
        self.divergent: set[int] = set()
        self._spread()
        self.joins = {
            self.ipdom[b.index] for b in self.blocks if b.branch and b.branch.guard and self.is_varying(b.branch.guard)
        }
        self.joins.discard(len(self.blocks) - 1)  # who returns is gone at once, and waits for nobody

    def is_varying(self, operand: Operand) -> bool:
        if isinstance(operand, Register):
            return operand.name in self.varying
        return not self.varying.isdisjoint(registers(operand))

    def defs(self, instruction: Instruction) -> list[str]:
        """Registers written."""
        return self._defs[id(instruction)]

    def uses(self, instruction: Instruction) -> list[str]:
        """Registers read, what a guard may leave alone among them."""
        return self._uses[id(instruction)]

    def _written(self, instruction: Instruction) -> list[str]:
        operands = instruction.operands
        if not operands or isinstance(operands[0], Memory | Immediate) or not self.traits(instruction.opcode).result:
            return []
        return list(registers(operands[0]))

    def _read(self, instruction: Instruction) -> list[str]:
        defs = self.defs(instruction)
        skip = bool(defs) and not self.traits(instruction.opcode).reads_result
        found = [name for operand in instruction.operands[1 if skip else 0 :] for name in registers(operand)]
        if instruction.guard:
            found += [instruction.guard.name, *defs]
        return found

    def _split(self) -> list[Block]:
        body = self.kernel.body
        leaders = {0, *self.kernel.labels.values()}
        for i, instruction in enumerate(body):
            if instruction.parts[0] in ("bra", "ret", "exit"):
                leaders.add(i + 1)
            elif self.traits(instruction.opcode).suspends:
                leaders.add(i)
        starts = sorted(i for i in leaders if i < len(body))
        at = {start: n for n, start in enumerate(starts)}
        end = len(starts)  # the synthetic block that guarded returns jump to, and the post-dominator of all
        blocks = []
        for n, start in enumerate(starts):
            stop = starts[n + 1] if n + 1 < len(starts) else len(body)
            block = Block(n, body[start:stop])
            last = block.instructions[-1]
            following = n + 1
            if last.parts[0] in ("bra", "ret", "exit"):
                target = end
                if last.parts[0] == "bra":
                    label = last.operands[0]
                    assert isinstance(label, Symbol)
                    target = at.get(self.kernel.labels[label.name], end)
                block.branch = block.instructions.pop()
                block.successors = (target, following) if last.guard else (target,)
                if last.guard and following == end and stop == len(body):
                    raise PtxError(f"{last.where}: control runs off the end of the kernel")
            else:
                block.successors = (following,)
            blocks.append(block)
        return [*blocks, Block(end)]

    def _mark_spins(self) -> None:
        for block in self.blocks:
            waits = [i for i in block.instructions if self.traits(i.opcode).spins]
            effects = [i for i in block.instructions if self.traits(i.opcode).effect]
            if len(waits) == 1 and effects == waits and any(self._leads_to(n, block.index) for n in block.successors):
                block.spin = True

    def _leads_to(self, n: int, target: int) -> bool:
        """Whether block `n` is `target`, or holds nothing but the way there."""
        return n == target or (not self.blocks[n].instructions and self.blocks[n].successors == (target,))

    def _block_local(self) -> set[str]:
        """Registers that live in one block only, written there before they are read."""
        home: dict[str, int] = {}
        escaping: set[str] = set()
        for block in self.blocks:
            for instruction in [*block.instructions, *([block.branch] if block.branch else [])]:
                for name in self.uses(instruction):
                    if home.get(name) != block.index:
                        escaping.add(name)
                for name in self.defs(instruction):
                    if home.setdefault(name, block.index) != block.index:
                        escaping.add(name)
        return set(home) - escaping

    def _copies_of(self, special: str) -> set[str]:
        written: dict[str, list[Instruction]] = {}
        for instruction in self.kernel.body:
            for name in self.defs(instruction):
                written.setdefault(name, []).append(instruction)
        return {n for n, by in written.items() if all(i.operands[1:] == (Special(special),) for i in by)}

    def warp_index_shift(self, instruction: Instruction) -> int | None:
        """The shift of `shr.u32 d, tid.x, s` with s >= 5: the same in all lanes, though the thread index is not."""
        if instruction.opcode not in ("shr.u32", "shr.s32", "shr.b32") or instruction.guard:
            return None
        source, shift = instruction.operands[1:]
        if isinstance(source, Register) and source.name in self.thread_index and isinstance(shift, Immediate):
            return shift.value if 5 <= shift.value < 32 else None
        return None

    def _varying_results(self, instruction: Instruction) -> list[str]:
        try:
            return self._found_varying(instruction)
        except MALFORMED as error:
            raise misread(instruction.where, "not the operands that this instruction has", error) from error

    def _found_varying(self, instruction: Instruction) -> list[str]:
        written = self.defs(instruction)
        if self.warp_index_shift(instruction) is not None:
            return []
        if instruction.guard and self.is_varying(instruction.guard):
            return written
        varies = self.traits(instruction.opcode).varies
        if callable(varies):
            return varies(instruction, self.is_varying)
        if varies != "operands":
            return written if varies == "always" else []
        sources = instruction.operands[1:]
        if any(isinstance(o, Special) and o.name.startswith(_VARYING_SPECIAL) for o in sources):
            return written
        return written if any(self.is_varying(o) for o in sources) else []

    def _spread(self) -> None:
        """Find what varies, and where lanes may be elsewhere: what varies makes branches diverge, and what is written
        there varies. Each register, instruction and block is looked at again only when something that it rests on
        has changed."""
        users: dict[str, list[Instruction]] = {}
        guarded: dict[str, list[Block]] = {}  # the blocks that end with a branch on it
        for instruction in self.kernel.body:
            for operand in (*instruction.operands, *([instruction.guard] if instruction.guard else ())):
                for name in registers(operand):
                    users.setdefault(name, []).append(instruction)
        for block in self.blocks:
            if block.branch and block.branch.guard:
                guarded.setdefault(block.branch.guard.name, []).append(block)
        fresh: list[str] = []  # registers that have begun to vary, and nobody has asked yet what that means

        def vary(names: Iterable[str]) -> None:
            for name in names:
                if name not in self.varying:
                    self.varying.add(name)
                    fresh.append(name)

        for block in self.blocks:
            for instruction in block.instructions:
                vary(self._varying_results(instruction))
        regions = _Regions(self.blocks, self.ipdom)
        while fresh:
            branching: list[Block] = []
            while fresh:
                name = fresh.pop()
                for instruction in users.get(name, ()):
                    if not self.varying.issuperset(self.defs(instruction)):
                        vary(self._varying_results(instruction))
                branching += guarded.get(name, ())
            for n in regions.add(branching):
                self.divergent.add(n)
                for instruction in self.blocks[n].instructions:
                    vary(n for n in self.defs(instruction) if n not in self.local)


class _Regions:
    """Where lanes may be apart: from each divergent branch up to its immediate post-dominator, where they meet.

    That post-dominates all of the region. Of several regions around a block the one that ends last holds what is
    reached from it in the others, so each block keeps that end alone, by its depth in the tree of post-dominators.
    """

    def __init__(self, blocks: Sequence[Block], ipdom: Sequence[int]) -> None:
        self.blocks, self.ipdom = blocks, ipdom
        self.depth = depths(ipdom, len(blocks) - 1)
        self.end = [len(blocks)] * len(blocks)  # the depth of a block's last end so far

    def add(self, branching: Iterable[Block]) -> set[int]:
        """The blocks of the regions of some branches that were in no region yet."""
        found = set()
        pending = [(self.depth[self.ipdom[b.index]], s) for b in branching for s in b.successors]
        heapq.heapify(pending)  # the regions that end last come first, so that few blocks are seen twice
        while pending:
            end, n = heapq.heappop(pending)
            if self.depth[n] > end and self.end[n] > end:
                if self.end[n] == len(self.blocks):
                    found.add(n)
                self.end[n] = end
                for successor in self.blocks[n].successors:
                    heapq.heappush(pending, (end, successor))
        return found
