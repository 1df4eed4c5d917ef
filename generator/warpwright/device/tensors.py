"""Buffers for one launch: strided tensors that lie between guard bands, with every gap filled with a known pattern."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from warpwright.device.held import held_bytes, held_shape, held_strides, per_byte
from warpwright.device.problem import Problem, shape_of
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.plan.types import Argument

__all__ = [
    "GUARD_BYTES", "GuardedBuffer", "buffer_bytes", "fill", "fill_nan", "layout", "make_buffer", "quiet_nan",
    "random_values", "seed_of",
]  # fmt: skip

#: Guard band in front of and behind every buffer.
GUARD_BYTES = 64 * 1024
#: Larger inputs repeat a block, to save time and memory.
_LARGE = 1 << 28
#: Elements of a block, at most.
_BLOCK = 1 << 26
#: Units of padding that tell arguments apart: a prime beyond the letters of the alphabet.
_OWN = 29
#: Extents of a block along the longest mode: primes, so that no offset within a tile maps onto itself.
_PRIMES = (16777213, 1048573, 65521, 4093, 1021)


@dataclass(frozen=True)
class GuardedBuffer:
    """An allocation `raw` (bits) and the strided `view` of what is held of the argument; all else is guard pattern.

    Offsets and strides count what is held: elements, or bytes where several share one (device/held.py).
    """

    argument: Argument
    raw: Array
    view: Array
    start: int  # of the view in raw
    strides: tuple[int, ...]

    @property
    def pattern(self) -> int:
        return dtype(self.argument.dtype).poison

    def poison(self) -> None:
        self.raw[...] = self.pattern

    def unwritten(self, xp: Xp) -> int:
        """How many elements of the view still hold the guard pattern."""
        return xp.count(self.view, self.pattern)

    def trespasses(self, xp: Xp) -> int:
        """How many elements outside the view lost the guard pattern."""
        outside = xp.size(self.raw) - xp.size(self.view)
        return outside - (xp.count(self.raw, self.pattern) - self.unwritten(xp))

    def trespass_offset(self, xp: Xp) -> int:
        """Offset in elements, from the view's first, of the first guard element that was overwritten."""
        copy = self.raw + 0
        xp.strided(copy, self.start, tuple(self.view.shape), self.strides)[...] = self.pattern
        return xp.first(copy != self.pattern)[0] - self.start


def layout(argument: Argument, extents: Mapping[str, int], padding: int = 0, odd: bool = False) -> tuple[int, ...]:
    """Return the strides in elements: 1 for the contiguous mode, then outwards in reverse order of the modes.

    Every other stride is a multiple of the argument's alignment; with `padding`, it is so many units more than needed,
    and some more that follow from the argument's name: no two of a, b, c, d have the same strides then. With `odd`,
    modes of extent 1 get stride 3, which no rule allows.
    """
    unit = max(1, 8 * argument.alignment // dtype(argument.dtype).bits)
    own = dict(zip(argument.shape, shape_of(argument, extents), strict=True))
    inner = argument.contiguous or argument.shape[-1]
    strides = {inner: 1}
    reach = max(1, own[inner])
    padding += sum(argument.name.encode()) % _OWN if padding else 0
    for mode in reversed([mode for mode in argument.shape if mode != inner]):
        strides[mode] = (-(-reach // unit) + padding) * unit
        reach = strides[mode] * max(1, own[mode])
    return tuple(3 * per_byte(argument) if odd and own[mode] == 1 else strides[mode] for mode in argument.shape)


def buffer_bytes(argument: Argument, problem: Problem) -> int:
    """Bytes that `make_buffer` will allocate."""
    return _held(argument, *_placed(argument, problem)) * held_bytes(argument)


def make_buffer(xp: Xp, argument: Argument, problem: Problem, aligned: bool = False) -> GuardedBuffer:
    """Allocate a tensor or vector argument, filled with the guard pattern throughout.

    The base has the argument's alignment and no more, or with `aligned` that of the allocator, for timing.
    """
    size, (shape, strides) = held_bytes(argument), _placed(argument, problem)
    raw = xp.allocate(_held(argument, shape, strides), size)
    start = _front(argument) if not aligned else GUARD_BYTES // size
    buffer = GuardedBuffer(argument, raw, xp.strided(raw, start, shape, strides), start, strides)
    buffer.poison()
    return buffer


def random_values(xp: Xp, argument: Argument, problem: Problem, seed: int) -> Array:
    """Draw an input's numbers in float32, dense, in the shape of its modes, as the problem's fill says.

    Where that is `nonfinite` they are integers: which of them become NaN or infinite is the family's choice.
    """
    shape = shape_of(argument, problem.extents)
    seed = seed_of(seed, problem.name, argument.name)
    return xp.normal(shape, seed) if problem.fill == "normal" else xp.integers(shape, -2, 2, seed)


def fill(buffer: GuardedBuffer, problem: Problem, draw: Callable[[Problem], Array]) -> None:
    """Write an input's values into its buffer; a large one repeats a block along its longest mode.

    `draw(problem)` gives the input's bits for a problem, dense.
    """
    argument, shape = buffer.argument, tuple(buffer.view.shape)
    if prod(shape) <= _LARGE:
        buffer.view[...] = draw(problem)
        return
    axis = max(range(len(shape)), key=lambda i: shape[i])
    rest = prod(shape) // shape[axis]
    extent = min(shape[axis], next((p for p in _PRIMES if p * rest <= _BLOCK), _PRIMES[-1]))
    mode = argument.shape[axis]
    extent_of_mode = extent * (per_byte(argument) if mode == argument.contiguous else 1)
    sizes = tuple((name, extent_of_mode if name == mode else size) for name, size in problem.sizes)
    values = draw(replace(problem, sizes=sizes))
    for first in range(0, shape[axis], extent):
        length = min(extent, shape[axis] - first)
        part, block = [slice(None)] * len(shape), [slice(None)] * len(shape)
        part[axis], block[axis] = slice(first, first + length), slice(length)
        buffer.view[tuple(part)] = values[tuple(block)]


def quiet_nan(argument: Argument) -> int:
    """Bits of a quiet NaN of an argument's dtype. Raises ValueError where it has none."""
    pattern = dtype(argument.dtype).nan
    if pattern is None:
        raise ValueError(f"{argument.name}: {argument.dtype} has no NaN to show that it is not read")
    return pattern


def fill_nan(buffer: GuardedBuffer) -> None:
    """Fill an input that must not be read with quiet NaNs."""
    buffer.view[...] = quiet_nan(buffer.argument)


def seed_of(*parts: object) -> int:
    """Derive a 32-bit seed from a run's seed and names, the same on every host."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")


def _front(argument: Argument) -> int:
    """What is held in front of the view: a guard band, and one unit so that the base has no alignment to spare."""
    return (GUARD_BYTES + argument.alignment) // held_bytes(argument)


def _placed(argument: Argument, problem: Problem) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides of what is held."""
    strides = layout(argument, problem.extents, problem.padding, problem.odd_strides)
    return held_shape(argument, shape_of(argument, problem.extents)), held_strides(argument, strides)


def _held(argument: Argument, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    reach = 0 if 0 in shape else 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    return _front(argument) + reach + GUARD_BYTES // held_bytes(argument)
