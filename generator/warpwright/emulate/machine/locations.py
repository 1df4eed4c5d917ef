"""Release and acquire through memory: what a word carries from those that write it to those that read it.

A write with .release, or a relaxed one behind a fence, leaves at its address what its thread has released; a read with
.acquire learns that, and a relaxed one does behind a later fence (PTX ISA, "Release and Acquire Patterns"). An atomic
operation adds to what is there, any other write replaces it. Both must be in the scope of the other: a release at
.cta is none for another CTA.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from warpwright.emulate.machine.state import Cta, Warp

LEVELS = {"cta": 0, "cluster": 1, "gpu": 2, "gl": 2, "sys": 2}
Known = tuple[int, int]  # of the generic and of the async proxy


def _add(table: dict[Any, Known], key: Any, known: Known) -> None:
    before = table.get(key, (0, 0))
    table[key] = before[0] | known[0], before[1] | known[1]


def _reaches(by: Cta, level: int, to: Cta, other: int) -> bool:
    """Whether a release by a thread of `by` at scope `level`, and an acquire of `to` at `other`, hold each other."""
    apart = 0 if by is to else 1 if by.cluster is to.cluster else 2
    return min(level, other) >= apart


class Handed:
    """Of a warp: what its fences have released, by scope, and what its relaxed reads have seen since the last one."""

    def __init__(self, _warp: Warp) -> None:
        self.released: dict[int, Known] = {}
        self.seen: dict[tuple[Cta, int, int], Known] = {}


class Locations:
    """What was released at each address of a launch: {(CTA, scope): known}, by any key that stands for an address."""

    def __init__(self) -> None:
        self.at: dict[Any, dict[tuple[Cta, int], Known]] = {}

    def write(self, warp: Warp, key: Any, level: int, released: Known | None, atomic: bool) -> None:
        """A strong write; `released`: what it releases itself, None where it is relaxed."""
        found = self.at.get(key) if atomic else None
        if found is None:
            found = self.at[key] = {}
        if released is not None:
            _add(found, (warp.cta, level), released)
        fenced = warp.owned(Handed)
        for scope, known in fenced.released.items() if fenced else ():
            _add(found, (warp.cta, min(scope, level)), known)

    def read(self, warp: Warp, key: Any, level: int, acquire: bool) -> None:
        """A strong read."""
        for (cta, scope), known in self.at.get(key, {}).items():
            if _reaches(cta, scope, warp.cta, level):
                if acquire:
                    warp.learn(*known)
                else:
                    _add(warp.own(Handed).seen, (cta, scope, level), known)

    def forget(self, keys: Iterable[Any]) -> None:
        """Ordinary writes: nothing was released by them."""
        for key in keys:
            self.at.pop(key, None)

    def fence(self, warp: Warp, level: int, acquire: bool, released: Known | None) -> None:
        """A fence of `level`: `acquire` what relaxed reads have seen; later relaxed writes carry `released`."""
        handed = warp.own(Handed)
        if acquire:
            for (cta, scope, read), known in handed.seen.items():
                if _reaches(cta, scope, warp.cta, min(read, level)):
                    warp.learn(*known)
            handed.seen.clear()
        if released is not None:
            handed.released[level] = released
