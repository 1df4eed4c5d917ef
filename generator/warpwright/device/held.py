"""How an argument's elements lie in memory where an element is no whole byte, or lies elsewhere than its indices say.

Buffers are arrays of what is held: whole elements, or bytes of two along the contiguous mode; of scales the atoms. What
references compute with are numbers by the modes that they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from warpwright.dtypes import dtype
from warpwright.plan.types import Argument

if TYPE_CHECKING:  # tables of plans ask how much is held, without numpy
    from warpwright.device.xp import Array, Xp

__all__ = [
    "atoms",
    "elements_of",
    "held_bytes",
    "held_shape",
    "held_strides",
    "modes_of",
    "numbers",
    "packed",
    "per_byte",
]

_ROWS, _BLOCKS, _GROUP = 128, 4, 32  # of an atom of scales: rows, blocks along K, rows whose scales lie 16 bytes apart


def per_byte(argument: Argument) -> int:
    """Elements that share a byte: 1 for types of whole bytes."""
    return max(1, 8 // dtype(argument.dtype).bits)


def held_bytes(argument: Argument) -> int:
    """Bytes of what is held: of an element, or 1 where several share it."""
    return max(1, dtype(argument.dtype).bits // 8)


def _inner(argument: Argument) -> int:
    return argument.shape.index(argument.contiguous) if argument.contiguous else len(argument.shape) - 1


def held_shape(argument: Argument, shape: Sequence[int]) -> tuple[int, ...]:
    """Extents of what is held, from those in elements. Raises ValueError where a row is no whole bytes long."""
    each, inner = per_byte(argument), _inner(argument)
    if shape[inner] % each:
        raise ValueError(f"{argument.name}: {shape[inner]} elements of {argument.dtype} are no whole bytes")
    return tuple(extent // each if axis == inner else extent for axis, extent in enumerate(shape))


def elements_of(argument: Argument, shape: Sequence[int]) -> tuple[int, ...]:
    """Extents in elements, from those of what is held."""
    each, inner = per_byte(argument), _inner(argument)
    return tuple(int(extent) * (each if axis == inner else 1) for axis, extent in enumerate(shape))


def held_strides(argument: Argument, strides: Sequence[int]) -> tuple[int, ...]:
    """Strides in what is held, from those in elements."""
    each, inner = per_byte(argument), _inner(argument)
    return tuple(stride if axis == inner else stride // each for axis, stride in enumerate(strides))


def modes_of(argument: Argument) -> tuple[str, ...]:
    """The modes of an argument's numbers: of scales the rows and their blocks of K."""
    if not argument.block:
        return argument.shape
    return (argument.shape[0], argument.shape[1].partition("/")[0], f"K/{argument.block}")


def packed(xp: Xp, argument: Argument, bits: Array) -> Array:
    """Return an argument's codes, one an element, as they are held; two share a byte, the first one its low half."""
    if per_byte(argument) == 1:
        return bits
    low, high = (bits[_part(argument, start)] for start in (0, 1))
    return xp.signed8((low & 15) + 16 * (high & 15))


def _part(argument: Argument, start: int) -> tuple[slice, ...]:
    return (*[slice(None)] * _inner(argument), slice(start, None, 2))


def atoms(xp: Xp, scales: Array, fill: int) -> Array:
    """Put scales (L, R, blocks), as bits, into atoms: (L, R/128, blocks/4, 512). Rows that do not exist are filled with
    bits; blocks that do not are 0, which no MMA may take for NaN: it multiplies them with the zeros behind K."""
    batches, rows, blocks = scales.shape
    m, k = -(-rows // _ROWS), -(-blocks // _BLOCKS)
    whole = xp.allocate(batches * m * _ROWS * k * _BLOCKS, 1).reshape(batches, m * _ROWS, k * _BLOCKS)
    whole[...] = fill
    whole[:, :, blocks:] = 0
    whole[:, :rows, :blocks] = scales
    parts = whole.reshape(batches, m, _BLOCKS, _GROUP, k, _BLOCKS)
    return xp.permuted(parts, (0, 1, 4, 3, 2, 5)).reshape(batches, m, k, _ROWS * _BLOCKS)


def _rows(xp: Xp, held: Array) -> Array:
    """The scales of atoms by row and block, those of rows and blocks that do not exist included."""
    batches, m, k, _ = held.shape
    parts = held.reshape(batches, m, k, _GROUP, _BLOCKS, _BLOCKS)
    return xp.permuted(parts, (0, 1, 4, 3, 2, 5)).reshape(batches, m * _ROWS, k * _BLOCKS)


def numbers(xp: Xp, argument: Argument, held: Array, chosen: Mapping[str, Any] | None = None) -> Array:
    """Return the numbers of an argument, as `modes_of` says, in float64, of what is held of it (bits).

    chosen: by mode, the indices that are asked for (a slice, or of one mode a list); others are whole.
    """
    wanted = [(chosen or {}).get(mode, slice(None)) for mode in modes_of(argument)]
    if argument.block:
        held, rows = _atoms_of(held[wanted[0]], wanted[1])
        return xp.decode(_rows(xp, held)[:, rows, wanted[2]], argument.dtype)
    if per_byte(argument) == 1:
        return xp.decode(held[tuple(wanted)], argument.dtype)
    # What is asked for along other modes before anything is unpacked: the whole may be far too large.
    inner = _inner(argument)
    bits = held[tuple(slice(None) if axis == inner else at for axis, at in enumerate(wanted))]
    found = xp.zeros(tuple(2 * extent if axis == inner else extent for axis, extent in enumerate(bits.shape)))
    for start in (0, 1):
        found[_part(argument, start)] = xp.decode(bits >> 4 * start & 15, argument.dtype)
    return found[tuple(at if axis == inner else slice(None) for axis, at in enumerate(wanted))]


def _atoms_of(held: Array, rows: Any) -> tuple[Array, Any]:
    """Those atoms that have some of a range of rows, and the range within them; of single rows all."""
    if not isinstance(rows, slice) or rows.start is None or rows.stop is None:
        return held, rows
    first = rows.start // _ROWS
    return held[:, first : -(-rows.stop // _ROWS)], slice(rows.start - first * _ROWS, rows.stop - first * _ROWS)
