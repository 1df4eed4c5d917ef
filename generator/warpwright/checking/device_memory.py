"""Which bytes of the process a kernel may touch: what was allocated for the device, and arrays that were handed over.

Host memory stands in for device memory: what was allocated for the device at its own addresses, arrays in their
mirrors (`mirrors`). Memory that nobody has given a value holds a pattern: words that still hold it when they are read,
or when the program ends, were never written.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from warpwright.checking.mirrors import Bytes, Mirrors, bytes_at, with_gaps

__all__ = ["PATTERN", "Bytes", "DeviceMemory", "Range", "bytes_at", "fill_with_pattern"]

#: A word that no program is likely to write: NaN in every float format of 16 and 32 bits.
PATTERN = 0xFFB7FFB7


def fill_with_pattern(address: int, size: int) -> None:
    """Make memory that was just allocated what nobody has written (its whole words)."""
    if size >= 4:
        bytes_at(address, size // 4 * 4).view("u4")[...] = PATTERN


@dataclass
class Range:
    """Consecutive bytes that belong to one array or allocation; `alive` says whether they still do."""

    address: int
    bytes: int
    name: str
    alive: Callable[[], bool] = field(default=lambda: True, repr=False)

    @property
    def end(self) -> int:
        return self.address + self.bytes


class DeviceMemory:
    """All ranges that a launch may touch."""

    def __init__(self) -> None:
        self.ranges: dict[tuple[int, int], Range] = {}
        self._allocated: dict[int, tuple[Bytes, int]] = {}  # by address: with its gaps, bytes
        self.mirrors = Mirrors()
        self._kept: list[object] = []

    def note(self, address: int, size: int, name: str = "", owner: Any = None, keep: bool = False) -> None:
        """Add a range, as long as `owner` lives (for good where it is None); `keep` keeps it alive."""
        if not size:
            return
        if owner is not None:
            self.mirrors.hold(address, owner)
        known = self.ranges.get((address, size))
        if keep:
            self._kept.append(owner)
        if known is not None and known.alive():
            known.name = known.name or name
            if owner is None or keep:
                known.alive = _always
            elif known.alive is not _always:
                known.alive = _either(known.alive, owner)
            return
        alive = _always if owner is None or keep else _living(owner)
        self.ranges[address, size] = Range(address, size, name, alive)

    def name(self, address: int, name: str) -> None:
        """Give the ranges that begin at an address a name, for reports."""
        for each in self.ranges.values():
            if each.address == address:
                each.name = name

    def allocate(self, size: int, name: str = "") -> int:
        """Return the address of `size` fresh bytes that hold the pattern."""
        whole, address = with_gaps(max(size, 4) + 3)
        fill_with_pattern(address, max(size, 1) + 3)
        self._allocated[address] = whole, size
        self.note(address, size, name or f"allocation of {size} bytes")
        return address

    def moved(self, array: Any, address: int, size: int) -> int:
        """How far an array at a host address lies from there on the device; 0 for what is in device memory already."""
        if any(at <= address and address + size <= at + whole for at, (_, whole) in self._allocated.items()):
            return 0
        return self.mirrors.moved(array, address, size)

    def release(self, address: int) -> bool:
        """Free what `allocate` returned; False where it did not."""
        if self._allocated.pop(address, None) is None:
            return address == 0
        self.ranges = {key: each for key, each in self.ranges.items() if each.address != address}
        return True

    def merged(self) -> Iterator[Range]:
        """All living ranges; those that overlap (views of one array) as one, under all their names."""
        living = sorted((r for r in self.ranges.values() if r.alive()), key=lambda r: (r.address, -r.bytes))
        self.ranges = {(r.address, r.bytes): r for r in living}
        at = 0
        while at < len(living):
            first, end, names = living[at], living[at].end, dict.fromkeys([living[at].name])
            at += 1
            while at < len(living) and living[at].address < end:
                end = max(end, living[at].end)
                names[living[at].name] = None
                at += 1
            yield Range(first.address, end - first.address, "/".join(name for name in names if name))


def _always() -> bool:
    return True


def _living(owner: Any) -> Callable[[], bool]:
    reference = weakref.ref(owner)
    return lambda: reference() is not None


def _either(first: Callable[[], bool], owner: Any) -> Callable[[], bool]:
    second = _living(owner)
    return lambda: first() or second()
