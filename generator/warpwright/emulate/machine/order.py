"""Happens-before: which accesses of memory are ordered, whatever order this run took them in.

Every stretch of a warp between two releases, and every asynchronous operation, is an *event* with a number.
What is known to have happened before a point of the program is a Python integer with one bit per event. A warp
carries two: `known` to its ordinary accesses, and the part of it `known_async` that is also visible to the
asynchronous proxy (copies and matrix products of the hardware); a proxy fence copies the first to the second.
Always known_async <= known.

An access is a race when the last writer of a byte (or, for a write, a reader since) is not in the mask of
the proxy that makes the access (`machine.shadow` knows who that is). So a read that a copy overwrites later needs a
proxy fence too: the PTX ISA's proxy-preserved causality makes no exception for reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.emulate.numbers.formats import Array

Cells = Any  # a slice, or an array of cell numbers


@dataclass(frozen=True)
class Source:
    """Whose accesses an event holds: `words` stand before the name of the warp in a report.

    remedy: what would order an access after one of these, of (the warp that began it, the warp that comes after).
    """

    words: str
    remedy: Callable[[Any, Any], str] | None = None

    @classmethod
    def completed_by(cls, words: str, instruction: str) -> Source:
        """An operation whose end the warp that began it learns by `instruction`, and others from that warp."""

        def remedy(began: Any, after: Any) -> str:
            told = "" if began is after else f", then a barrier at which it arrives and {after} waits"
            return f"{instruction} by {began}{told}"

        return cls(words, remedy)


WARP = Source("")  # a warp's own accesses


@dataclass(frozen=True)
class Bytes:
    """Offsets of single bytes, where an access is of parts of cells."""

    offsets: Array


@dataclass(frozen=True)
class Several:
    """What several instructions that follow each other access: `size` bytes at each of `offsets` (numbers, any)."""

    numbers: Sequence[int]
    offsets: Array
    size: int

    def last(self, offset: int) -> int | None:
        """The last instruction that accesses the byte at `offset`."""
        inside: Array = (self.offsets <= offset) & (offset < self.offsets + self.size)
        found: Array = np.flatnonzero(inside.any(axis=1))
        return self.numbers[int(found[-1])] if len(found) else None


#: (instruction number, what it accessed, whether it wrote)
Entry = tuple[int, Cells | Bytes | Several, bool]


@dataclass(slots=True)
class Event:
    """Accesses of a warp, or of an asynchronous operation of one, in the order of `log`."""

    source: Source
    warp: Any
    asynchronous: bool
    log: list[Entry] = field(default_factory=list)

    @property
    def actor(self) -> str:
        return f"{self.source.words}{self.warp}"

    @property
    def proxy(self) -> str:
        return "async" if self.asynchronous else "generic"

    def access(self, offset: int, writes_only: bool, size: int) -> tuple[int, bool] | None:
        """The last logged access to `offset`, of cells of `size`: the number of its instruction, whether it wrote."""
        cell = offset // size
        for number, place, written in reversed(self.log):
            if written or not writes_only:
                if isinstance(place, Several):
                    last = place.last(offset)
                    if last is not None:
                        return last, written
                    continue
                if isinstance(place, Bytes):
                    inside = bool((place.offsets == offset).any())
                elif isinstance(place, slice):
                    inside = place.start <= cell < place.stop
                else:
                    inside = bool((place == cell).any())
                if inside:
                    return number, written
        return None


class Order:
    """The events of one launch, and the interned sets of readers that the shadow cells point to."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.fenced_global = self.fenced_shared = 0  # events behind proxy fences, of global or only of shared memory
        self.readers: list[tuple[int, ...]] = [()]
        self.interned: dict[tuple[int, ...], int] = {(): 0}
        self.added: dict[tuple[int, int], int] = {}
        self.strong: dict[int, bool] = {}  # events of accesses that may meet each other (atomics): whether one writes

    def event(self, source: Source, warp: Any, asynchronous: bool) -> int:
        self.events.append(Event(source, warp, asynchronous))
        return len(self.events) - 1

    def with_reader(self, readers: int, event: int, known: int) -> int:
        """The set `readers` plus `event`, less those that the event is itself ordered after.

        `known`: as its proxy sees it. Who learns that a copy has read does not see the ordinary reads before it.
        """
        key = readers, event
        found = self.added.get(key)
        if found is None:
            kept = tuple(r for r in self.readers[readers] if r == event or not known >> r & 1)
            full = kept if event in kept else (*kept, event)
            found = self.interned.get(full)
            if found is None:
                found = self.interned[full] = len(self.readers)
                self.readers.append(full)
            self.added[key] = found
        return found

    def together(self, events: Iterable[int]) -> int:
        """The set of readers that holds `events` alone."""
        found = 0
        for event in events:
            found = self.with_reader(found, event, 0)
        return found
