"""Where arrays lie in the emulated device's memory: far from each other, and aligned as cudaMalloc aligns.

On the host arrays lie wherever malloc has put them, often 16 bytes apart: what runs over the end of one would hit the
next, and be taken for a right access. So an array gets memory of its own with a wide gap around it, its *mirror*, and
the DSL is given its address there. While a compiled function runs the mirror has the values; before it they are
copied in, and afterwards what has changed is copied back.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ALIGNMENT", "Mirrors", "bytes_at", "with_gaps"]

Bytes = npt.NDArray[np.uint8]

ALIGNMENT = 256  # of what cudaMalloc returns
_GAP = 1 << 20  # on both sides; nobody touches it, so that it takes address space alone


def bytes_at(address: int, size: int) -> Bytes:
    """The process's memory there, as an array of bytes: nothing is copied, and nothing keeps it alive."""
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def with_gaps(size: int) -> tuple[Bytes, int]:
    """Fresh memory, and the aligned address of `size` bytes (any values) in its middle."""
    whole = np.empty(size + ALIGNMENT + 2 * _GAP, np.uint8)
    return whole, -(-(whole.ctypes.data + _GAP) // ALIGNMENT) * ALIGNMENT


@dataclass
class _Mirror:
    host: int
    bytes: int
    whole: Bytes
    address: int
    owner: Callable[[], object]
    holders: list[Callable[[], object]] = field(default_factory=list)

    def alive(self) -> object:
        """Someone who keeps the array, None where nobody does."""
        return next((kept for each in (self.owner, *self.holders) if (kept := each()) is not None), None)


class Mirrors:
    """The mirrors of all arrays, each of an array as a whole: its views keep their distances."""

    def __init__(self) -> None:
        self._mirrors: list[_Mirror] = []
        self._running = 0

    def moved(self, array: Any, address: int, size: int) -> int:
        """How far the bytes of an array at a host address lie from there in the device's memory."""
        start, whole, owner = _root(array, address, size)
        self._mirrors = [mirror for mirror in self._mirrors if mirror.alive() is not None]
        for mirror in self._mirrors:
            if mirror.host <= start and start + whole <= mirror.host + mirror.bytes:
                return mirror.address - mirror.host
        memory, at = with_gaps(whole)
        self._mirrors.append(_Mirror(start, whole, memory, at, _living(owner)))
        if self._running:  # an array that is handed over while a function runs
            bytes_at(at, whole)[...] = bytes_at(start, whole)
        return at - start

    def hold(self, address: int, owner: object) -> None:
        """Keep the mirror of that address as long as `owner` lives, who keeps the array by other ways than Python's."""
        for mirror in self._mirrors:
            if mirror.address <= address < mirror.address + mirror.bytes:
                mirror.holders = [each for each in mirror.holders if each() is not None] + [_living(owner)]

    @contextlib.contextmanager
    def filled(self) -> Iterator[None]:
        """Keep the values in the mirrors while in the context."""
        self._running += 1
        if self._running > 1:
            try:
                yield
            finally:
                self._running -= 1
            return
        before = [
            (m, m.alive(), bytes_at(m.host, m.bytes).copy()) for m in self._mirrors if m.alive() is not None and m.bytes
        ]
        for mirror, _, values in before:
            bytes_at(mirror.address, mirror.bytes)[...] = values
        try:
            yield
        finally:
            self._running = 0
            for mirror, _, values in before:
                now = bytes_at(mirror.address, mirror.bytes)
                changed = now != values
                if changed.any():
                    bytes_at(mirror.host, mirror.bytes)[changed] = now[changed]


def _root(array: Any, address: int, size: int) -> tuple[int, int, Any]:
    """Address and bytes of all that an array is a view of, and who owns it."""
    if isinstance(array, np.ndarray):
        while isinstance(array.base, np.ndarray):
            array = array.base
        reach = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)] if array.size else []
        low, high = (sum(way(0, each) for each in reach) for way in (min, max))
        found = array.ctypes.data + low, high - low + array.itemsize, array
    elif hasattr(array, "untyped_storage"):
        storage = array.untyped_storage()
        found = storage.data_ptr(), storage.nbytes(), storage
    else:
        found = address, size, array
    inside = found[0] <= address and address + size <= found[0] + found[1]
    return found if inside else (address, size, array)


def _living(owner: Any) -> Callable[[], object]:
    try:
        return weakref.ref(owner)
    except TypeError:  # no such reference to it: it is kept
        return lambda: owner
