"""What a part of the hardware brings to the emulator: its instructions, what they do, and what is checked of them.

The core (numbers, ptx, machine, translate) knows no unit. It is given a tuple of them, asks them what follows, and
nothing else: a new instruction is a row in its unit's `opcodes`, a new unit a line in `units/__init__.py`.
What a unit keeps of a warp, warpgroup, CTA or cluster is a class of its own, made of that object by `own` (see
`machine.state.Owner`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpwright.emulate.machine.findings import KINDS, Kind
from warpwright.emulate.machine.program import Explain, Hooks, nothing
from warpwright.emulate.ptx.traits import ARITHMETIC, CORE, Prefixes, Traits

if TYPE_CHECKING:
    from warpwright.build.ptx_values import Statement
    from warpwright.emulate.machine.order import Event
    from warpwright.emulate.machine.state import Cta, Warp
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.translator import Translator
    from warpwright.emulate.translate.writer import BlockWriter

Handler = Callable[["BlockWriter", "Node"], None]
#: An alteration: its kind, the opcode and line it is at, and the new text of lines.
Alteration = tuple[str, str, int, list[tuple[int, str]]]


@dataclass(frozen=True)
class Count:
    """The last operand of an instruction, as something that must be right: mutants change it by each of `steps`.

    operands: how many there are at least where there is a count. what: the word for one of them.
    """

    what: str
    steps: tuple[int, ...] = (1, -1)
    operands: int = 2


@dataclass(frozen=True)
class Gather:
    """How instructions that follow each other, none of which depends on another, are done by one call.

    alike: what must be equal between them, None for one that stays alone. emit: appends the code of several.
    """

    alike: Callable[[BlockWriter, Node], Hashable]
    emit: Callable[[BlockWriter, list[Node]], None]


@dataclass(frozen=True)
class Opcode(Traits):
    """One instruction. `emit` appends its code to the writer of its block.

    gather: how several are done at once. deleted: mutants delete it, since a kernel without it is wrong.
    count: see `Count`.
    """

    emit: Handler = field(kw_only=True)
    gather: Gather | None = None
    deleted: bool = False
    count: Count | None = None


def hint(_writer: BlockWriter, _node: Node) -> None:
    """An instruction that changes nothing that is modelled."""


@dataclass(frozen=True)
class Unit:
    """A part of the hardware.

    opcodes: by prefix, in whole parts. calls: the functions that generated code may use, by their own names.
    waits: how to explain what the instructions that suspend wait for, by the word they give `Machine.block`.
    kinds: the kinds of finding that are its own. observes: what its instructions note of a run, name -> meaning.
    rules: what `Options.without` may name, name -> meaning.
    arrange: before registers get their rows: claims rows, ties nodes that must keep their order; its value is kept as
    `Program.arranged[name]`. before: code ahead of a group of nodes, by that value.
    at_leave: when lanes of a warp end, or all of it (it is `done` then).
    at_exit: a check when a warp ends. at_end: one of each CTA when the launch is over.
    remedy: what would order an access of a warp before another one, in words; one unit has it (see `Hooks`).
    alter: mutants that are more than a deletion or a changed count, of (statements, lines of the text).
    """

    name: str
    opcodes: Mapping[str, Opcode]
    calls: tuple[Callable[..., Any], ...]
    waits: Mapping[str, Explain] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    observes: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    arrange: Callable[[Translator, list[list[Node]]], Any] | None = None
    before: Callable[[BlockWriter, list[Node], Any], None] | None = None
    at_leave: Callable[[Warp], None] | None = None
    at_exit: Callable[[Warp], None] | None = None
    at_end: Callable[[Cta], None] | None = None
    remedy: Callable[[Event, int, str, Warp, bool], str] | None = None
    alter: Callable[[list[Statement], list[str]], Iterator[Alteration]] | None = None


@dataclass(frozen=True)
class Units:
    """Several units together. Raises ValueError where two of them claim one name."""

    units: tuple[Unit, ...]

    def __post_init__(self) -> None:
        _ = self.opcodes, self.calls, self.kinds, self.hooks  # each raises where a name is claimed twice

    def __iter__(self) -> Iterator[Unit]:
        return iter(self.units)

    @functools.cached_property
    def opcodes(self) -> Prefixes[Traits]:
        return Prefixes(_merged("opcode", CORE, *(unit.opcodes for unit in self.units)))

    @functools.cached_property
    def calls(self) -> Mapping[str, Callable[..., Any]]:
        return _merged("function", *({call.__name__: call for call in unit.calls} for unit in self.units))

    @functools.cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return _merged("kind of finding", KINDS, *(unit.kinds for unit in self.units))

    @functools.cached_property
    def hooks(self) -> Hooks:
        return Hooks(
            waits=_merged("wait", *(unit.waits for unit in self.units)),
            at_leave=tuple(unit.at_leave for unit in self.units if unit.at_leave),
            at_exit=tuple(unit.at_exit for unit in self.units if unit.at_exit),
            at_end=tuple(unit.at_end for unit in self.units if unit.at_end),
            remedy=next((unit.remedy for unit in self.units if unit.remedy), nothing),
            observes=tuple(_merged("observation", *(unit.observes for unit in self.units))),
            rules=frozenset(_merged("rule", *(unit.rules for unit in self.units))),
        )

    def traits(self, opcode: str) -> Traits:
        """Those of its unit; an opcode that is nobody's is taken for arithmetic."""
        return self.opcodes.find(opcode) or ARITHMETIC

    def find(self, opcode: str) -> Opcode | None:
        """The unit's entry for an opcode, None where it is no unit's."""
        found = self.opcodes.find(opcode)
        return found if isinstance(found, Opcode) else None


def _merged(what: str, *tables: Mapping[str, Any]) -> dict[str, Any]:
    """All entries of `tables`."""
    merged: dict[str, Any] = {}
    for table in tables:
        twice = merged.keys() & table.keys()
        if twice:
            raise ValueError(f"{what} {', '.join(sorted(twice))}: two units bring it; each name has one owner")
        merged.update(table)
    return merged


def table(entry: Opcode, *opcodes: str) -> dict[str, Opcode]:
    """The same entry for several opcodes."""
    return dict.fromkeys(opcodes, entry)


__all__ = ["Alteration", "Count", "Gather", "Handler", "Opcode", "Unit", "Units", "hint", "table"]
