"""Which ways the runs of a variant went, of those that its kernels have, and which no case took.

A way is one side of a fork: of a conditional branch, or of the guard of an instruction with an effect (a store, an
arrival). Loops that only wait for a barrier are no forks: a wait that has to wait suspends the warp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.emulate.machine.program import Program
from warpwright.emulate.ptx.syntax import Instruction

__all__ = ["Coverage", "Missed", "begin", "measure"]

#: What did not happen: that the condition held, that it did not.
_BRANCH = ("this branch is never taken", "this branch is always taken")
_GUARD = ("this guard never holds", "this guard always holds")


@dataclass(frozen=True)
class Missed:
    """A way that no case took: the fork's PTX line and text, and what never happened at it.

    behind: ways of instructions that can only be reached through it.
    """

    line: int
    instruction: str
    what: str
    behind: int

    def __str__(self) -> str:
        more = f"; {self.behind} ways lie behind it" if self.behind else ""
        return f"{self.what}{more}\n  PTX line {self.line}: {self.instruction}"


@dataclass(frozen=True)
class Coverage:
    """Ways taken, of all, in all kernels of a variant; each of the others is `missed`, or behind one that is."""

    taken: int
    total: int
    missed: tuple[Missed, ...]

    @property
    def figures(self) -> dict[str, Any]:
        """The same as JSON."""
        missed = [
            {"line": m.line, "instruction": m.instruction, "what": m.what, "behind": m.behind} for m in self.missed
        ]
        return {"taken": self.taken, "total": self.total, "missed": missed}


def begin(programs: Sequence[Program]) -> None:
    """Forget the runs so far."""
    for program in programs:
        program.ways[:] = bytes(len(program.ways))


def measure(programs: Sequence[Program]) -> Coverage:
    """Say what all runs since `begin` covered."""
    ways = [way for program in programs for fork in _forks(program) for way in fork.ways]
    return Coverage(sum(ways), len(ways), tuple(one for program in programs for one in _missed(program)))


@dataclass(frozen=True)
class _Fork:
    """`ways`: whether its condition held at some time, and whether it did not. targets: of a branch, in that order."""

    instruction: Instruction
    block: int
    ways: tuple[bool, bool]
    targets: tuple[int, ...]  # none of an instruction under a guard


def _forks(program: Program) -> list[_Fork]:
    found = []
    for at, (number, index) in enumerate(program.forks):
        instruction, block = program.instructions[number], program.blocks[index]
        held, not_held = program.ways[2 * at : 2 * at + 2]
        targets = block.successors if instruction is block.branch else ()
        if not (targets and block.spin):
            found.append(_Fork(instruction, index, (bool(held), bool(not_held)), targets))
    return found


def _missed(program: Program) -> list[Missed]:
    forks = _forks(program)
    # By block: where its branch never went.
    closed = {f.block: {t for t, way in zip(f.targets, f.ways, strict=True) if not way} for f in forks if f.targets}
    ran = _reached(program, closed)
    found = []
    for fork in forks:
        texts = _BRANCH if fork.targets else _GUARD
        for way in (0, 1):
            if not fork.ways[way] and fork.block in ran:
                beyond = set[int]()
                if fork.targets:
                    beyond = _reached(program, {}) - _reached(program, {fork.block: {fork.targets[way]}})
                behind = sum(len(other.ways) for other in forks if other.block in beyond)
                found.append(Missed(fork.instruction.line, fork.instruction.text, texts[way], behind))
    return found


def _reached(program: Program, closed: Mapping[int, set[int]]) -> set[int]:
    """Blocks that the entry reaches when nobody goes where it is `closed`."""
    found, waiting = set[int](), [0]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += set(program.blocks[block].successors) - closed.get(block, set())
    return found
