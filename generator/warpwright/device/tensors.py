"""Buffers for one launch: strided tensors that lie between guard bands, with every gap filled with a known pattern."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.device.problems import Problem
from warpwright.device.xp import BYTES, POISON, Array, Xp
from warpwright.plan.types import Argument

__all__ = ["GUARD_BYTES", "NAN", "GuardedBuffer", "buffer_bytes", "layout", "make_buffer", "operand_values", "seed_of"]

#: A quiet NaN of each dtype, for operands that must not be read.
NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000}
#: Guard band in front of and behind every buffer.
GUARD_BYTES = 64 * 1024
#: Rows of fresh random values in a large tile operand, repeated: prime, so that no tile offset maps onto itself.
_BLOCK_ROWS = 1021
_LARGE = 1 << 28


@dataclass(frozen=True)
class GuardedBuffer:
    """An allocation `raw` (bits) and the strided `view` of the argument's shape in it; all else is guard pattern."""

    argument: Argument
    raw: Array
    view: Array
    start: int  # of the view in raw, in elements
    strides: tuple[int, ...]  # elements

    def poison(self) -> None:
        self.raw[...] = POISON[self.argument.dtype]

    def unwritten(self, xp: Xp) -> int:
        """How many elements of the view still hold the guard pattern."""
        return xp.count(self.view, POISON[self.argument.dtype])

    def trespasses(self, xp: Xp) -> int:
        """How many elements outside the view lost the guard pattern."""
        outside = xp.size(self.raw) - xp.size(self.view)
        return outside - (xp.count(self.raw, POISON[self.argument.dtype]) - self.unwritten(xp))

    def trespass_offset(self, xp: Xp) -> int:
        """Offset in elements, from the view's first, of the first guard element that was overwritten."""
        copy = self.raw + 0
        xp.strided(copy, self.start, tuple(self.view.shape), self.strides)[...] = POISON[self.argument.dtype]
        return xp.first(copy != POISON[self.argument.dtype])[0] - self.start


def layout(argument: Argument, extents: Mapping[str, int], padding: int = 0, odd: bool = False) -> tuple[int, ...]:
    """Return the strides in elements: 1 for the contiguous mode, then outwards in reverse order of the modes.

    Every other stride is a multiple of the argument's alignment, `padding` units more than needed; with `odd`, modes
    of extent 1 get stride 3, which no rule allows.
    """
    unit = max(1, argument.alignment // BYTES[argument.dtype])
    inner = argument.contiguous or argument.shape[-1]
    strides = {inner: 1}
    reach = max(1, extents[inner])
    for mode in reversed([mode for mode in argument.shape if mode != inner]):
        strides[mode] = (-(-reach // unit) + padding) * unit
        reach = strides[mode] * max(1, extents[mode])
    return tuple(3 if odd and extents[mode] == 1 else strides[mode] for mode in argument.shape)


def buffer_bytes(argument: Argument, problem: Problem) -> int:
    """Bytes that `make_buffer` will allocate."""
    extents = problem.extents()
    strides = layout(argument, extents, problem.padding, problem.odd_strides)
    return _elements(argument, tuple(extents[m] for m in argument.shape), strides) * BYTES[argument.dtype]


def make_buffer(xp: Xp, argument: Argument, problem: Problem, aligned: bool = False) -> GuardedBuffer:
    """Allocate a tensor or vector argument, filled with the guard pattern throughout.

    The base has the argument's alignment and no more, or with `aligned` that of the allocator, for timing.
    """
    extents = problem.extents()
    shape = tuple(extents[mode] for mode in argument.shape)
    strides = layout(argument, extents, problem.padding, problem.odd_strides)
    raw = xp.allocate(_elements(argument, shape, strides), BYTES[argument.dtype])
    start = _front(argument) if not aligned else GUARD_BYTES // BYTES[argument.dtype]
    buffer = GuardedBuffer(argument, raw, xp.strided(raw, start, shape, strides), start, strides)
    buffer.poison()
    return buffer


def operand_values(xp: Xp, argument: Argument, problem: Problem, seed: int) -> Array:
    """Return an input's bits, dense, in the shape of its modes: they depend on the seed, not on the layout."""
    extents = problem.extents()
    shape = tuple(extents[mode] for mode in argument.shape)
    seed = seed_of(seed, problem.name, argument.name)
    if problem.fill == "normal":
        values = xp.normal(shape, seed)
    else:
        values = xp.integers(shape, -2, 2, seed)
    if problem.fill == "nonfinite" and argument.name == "a" and xp.size(values):
        rows, depth = shape[-2], shape[-1]
        values[..., 0, depth // 2] = float("nan")
        values[..., rows // 2, 0] = float("inf")
        values[..., rows - 1, depth - 1] = float("-inf")
    return xp.encode(values, argument.dtype)


def fill(xp: Xp, buffer: GuardedBuffer, problem: Problem, seed: int) -> None:
    """Write an input's values into its buffer; a large tile repeats a block of rows, to save time and memory."""
    if xp.size(buffer.view) <= _LARGE:
        buffer.view[...] = operand_values(xp, buffer.argument, problem, seed)
        return
    rows = buffer.view.shape[-2]
    block = Problem(**{**problem.__dict__, "m": min(rows, _BLOCK_ROWS)})
    values = operand_values(xp, buffer.argument, block, seed)
    for first in range(0, rows, _BLOCK_ROWS):
        part = buffer.view[:, first : first + _BLOCK_ROWS]
        part[...] = values[:, : part.shape[1]]


def fill_nan(buffer: GuardedBuffer) -> None:
    """Fill an operand that must not be read with quiet NaNs."""
    buffer.view[...] = NAN[buffer.argument.dtype]


def seed_of(*parts: object) -> int:
    """Derive a 32-bit seed from a run's seed and names, the same on every host."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")


def _front(argument: Argument) -> int:
    """Elements in front of the view: a guard band, and one unit so that the base has no alignment to spare."""
    return (GUARD_BYTES + argument.alignment) // BYTES[argument.dtype]


def _elements(argument: Argument, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    reach = 0 if 0 in shape else 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    return _front(argument) + reach + GUARD_BYTES // BYTES[argument.dtype]
