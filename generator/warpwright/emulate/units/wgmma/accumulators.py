"""Registers of wgmma: where accumulators lie and the two forms that their values have, and who reads fragments of A."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.rows import POISON
from warpwright.emulate.machine.state import Warp
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.ptx.flow import registers
from warpwright.emulate.ptx.syntax import Vector
from warpwright.emulate.units.lanes.registers import Holding

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.translator import Translator
    from warpwright.emulate.translate.writer import BlockWriter


#: A rule that can be left out: a `mov` is an access like any other. Optimised PTX has such moves behind the fence (the
#: phi nodes of a loop), which the assembler turns into no instruction at all.
MOVES = "wgmma-moves"


@dataclass
class Arranged:
    """The accumulators of a kernel. `sets`: (first row, columns) of each. `of`: register -> its set. `lists`: the
    registers of each fragment of A -> its number; `fragments`: a register of A -> the fragments that it is in."""

    sets: list[tuple[int, int]] = field(default_factory=list)
    of: dict[str, int] = field(default_factory=dict)
    lists: dict[tuple[str, ...], int] = field(default_factory=dict)
    fragments: dict[str, tuple[int, ...]] = field(default_factory=dict)


class Accumulator:
    """One warp's view of a set of accumulator registers.

    fenced: a wgmma.fence has followed the last access by ordinary instructions. stale: the matrix is newer than
    the registers; fresh: the registers are newer than the matrix; at first neither holds anything. last: how many
    wgmmas of the warp used it.
    """

    __slots__ = ("fenced", "fresh", "last", "registers", "stale")

    def __init__(self, held: Array) -> None:
        self.registers = held
        self.fenced = self.stale = self.fresh = False
        self.last = 0

    def spread(self, part: Array) -> None:
        """Registers from 16 rows of the matrix: PTX ISA, "Matrix fragments for wgmma", D."""
        self.registers.reshape(-1, 2, 2, 8, 4)[...] = part.reshape(2, 8, -1, 4, 2).transpose(2, 0, 4, 1, 3)

    def unset(self) -> bool:
        """Whether some of the registers hold what registers begin with."""
        return bool((self.registers.view(np.uint32) == POISON[32]).any())

    def gathered(self) -> Array:
        """16 rows of the matrix from registers."""
        rows: Array = self.registers.reshape(-1, 2, 2, 8, 4).transpose(1, 3, 0, 4, 2).reshape(16, -1)
        return rows


class Accumulators:
    """Those of a warp; and of each fragment of A how many wgmmas of the warp had been issued with the last that reads
    it, and whether it was written after the last wgmma.fence."""

    def __init__(self, warp: Warp) -> None:
        arranged: Arranged = warp.machine.program.arranged["wgmma"]
        table = arranged.sets
        self.readers = [0] * len(arranged.lists)
        self.unfenced = [True] * len(arranged.lists)
        rows = warp.U32.view(np.float32)
        self.sets = [Accumulator(rows[row : row + columns // 2]) for row, columns in table]


def check_held(warp: Warp, flying: list[Accumulator], number: int, columns: int) -> None:
    """The sums of the wgmmas in flight, and of one of `columns` more, lie in registers, which the warp must hold: the
    least that it can need."""
    needed = columns // 2 + sum(len(each.registers) for each in flying)
    held = warp.own(Holding).registers
    if needed > held:
        text = (
            f"the wgmmas in flight keep their sums in {needed} registers of each thread, and the warp holds {held}\n"
            "  what would mend it: setmaxnreg.inc before them, or a smaller tile"
        )
        warp.machine.fault("setmaxnreg", warp, number, text)


def arrange(owner: Translator, prepared: list[list[Node]]) -> Arranged:
    """Accumulator registers take the first rows, in the order of the instruction's list."""
    found = Arranged()
    for node in _with("wgmma.mma_async", prepared):
        names = list(registers(node.instruction.operands[0]))
        known = {found.of.get(name, -1) for name in names}
        if known == {-1}:
            found.sets.append((owner.row(names[0], 32), 2 * len(names)))
            found.of.update(dict.fromkeys(names, len(found.sets) - 1))
        rows = [owner.row(name, 32) for name in names]
        if len(known) > 1 or rows != list(range(rows[0], rows[0] + len(rows))):
            raise UnsupportedInstruction(f"{node.instruction.where}: accumulators overlap another list's")
        source = node.instruction.operands[1]
        names = list(registers(source)) if isinstance(source, Vector) else []
        if names:
            which = found.lists.setdefault(tuple(names), len(found.lists))
            for name in names:
                found.fragments[name] = tuple(dict.fromkeys((*found.fragments.get(name, ()), which)))
    every = list(dict.fromkeys((*found.of, *found.fragments)))
    for node in _with("wgmma.fence", prepared):  # no access of them moves across
        node.uses += every
        node.defs += every
    return found


def _with(opcode: str, prepared: list[list[Node]]) -> Iterator[Node]:
    return (n for nodes in prepared for n in nodes if n.instruction.opcode.startswith(opcode))


def _moves(nodes: list[Node]) -> bool:
    return all(node.instruction.parts[0] == "mov" for node in nodes)


def before(w: BlockWriter, group: list[Node], arranged: Arranged) -> None:
    """Accumulators must be in their registers before ordinary instructions use them; fragments of A are written."""
    if not arranged.of:
        return
    if group[0].instruction.parts[0] == "wgmma":
        operands = group[0].instruction.operands
        held = registers(operands[1]) if operands[1:] and isinstance(operands[1], Vector) else ()
        for which in sorted({arranged.of[n] for n in held if n in arranged.of}):
            w.lines.append(f"wgmma_touch(w, {which}, {group[0].number}, False)")  # sums that become A
        return
    written = {which for node in group for name in node.defs for which in arranged.fragments.get(name, ())}
    if written:
        own = [n for n in group if any(name in arranged.fragments for name in n.defs)]
        w.lines.append(f"wgmma_overwrite(w, {tuple(sorted(written))}, {group[0].number}, {_moves(own)})")
    for which in sorted({arranged.of[n] for node in group for n in (*node.uses, *node.defs) if n in arranged.of}):
        write = any(arranged.of.get(n) == which for node in group for n in node.defs)
        w.heads["accumulators"] = "w.own(Accumulators).sets"
        w.lines.append(f"a = accumulators[{which}]")
        own = [n for n in group if any(arranged.of.get(name) == which for name in (*n.uses, *n.defs))]
        test = "a.fenced or not a.fresh" if write else "a.fenced"
        w.lines.append(f"if {test}: wgmma_touch(w, {which}, {group[0].number}, {write}, {_moves(own)})")
