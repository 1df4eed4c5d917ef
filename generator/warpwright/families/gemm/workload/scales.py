"""Scales of blocks: what they are drawn as, and what operands are with them.

A wrong scale must show. So each is drawn by itself: of two rows, two blocks of K, two batches or of A and B they differ
as a rule, and a kernel that ignores them, takes those of the other operand, of a neighbour, or reads an atom the wrong
way round is wrong almost everywhere. Those of rows that there are not are NaN.
"""

from __future__ import annotations

from warpwright.device.held import atoms, modes_of
from warpwright.device.problem import Problem
from warpwright.device.tensors import quiet_nan, seed_of
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.plan.types import Argument, extent_of

__all__ = ["drawn", "scaled"]

#: Codes of scales beside operands of every size: 2^-6 to 2^6, and from 2^-3 to 30 with three bits behind the first one.
_USUAL = {"ue8m0": (121, 133), "ue4m3": (0x20, 0x5F)}
#: Beside small integers, whose scaled sums then stay small integers: 1 to 8, and 1, 2, 3, 4.
_WHOLE = {"ue8m0": (1.0, 2.0, 4.0, 8.0), "ue4m3": (1.0, 2.0, 3.0, 4.0)}
#: Of blocks by turns: far apart in A, and as far the other way in B, so that no product leaves the range of float32.
_FAR = {"ue8m0": (0, 100, -100, 37), "ue4m3": (0, 5, -6, 2)}


def drawn(xp: Xp, argument: Argument, problem: Problem, seed: int) -> Array:
    """Draw the scales of an operand, as they are held: atoms of bits."""
    batches, rows, blocks = (extent_of(mode, problem.extents) for mode in modes_of(argument))
    shape, name = (batches, rows, blocks), argument.dtype
    seed = seed_of(seed, problem.name, argument.name)
    if problem.fill == "normal":
        bits = xp.signed8(xp.integers(shape, *_USUAL[name], seed))
    else:
        whole = xp.array(_WHOLE[name])[xp.index(xp.integers(shape, 0, 3 if problem.fill != "extreme" else 1, seed))]
        if problem.fill == "extreme":
            whole = whole * _far(xp, argument, blocks)
        bits = xp.encode(whole, name)
    if problem.fill in ("nonfinite", "extreme") and rows > 15 and blocks:
        bits[..., 1, 0] = quiet_nan(argument)  # of a row without other special numbers
    return atoms(xp, bits, dtype(name).poison)


def _far(xp: Xp, argument: Argument, blocks: int) -> Array:
    sign = 1 if argument.name == "sfa" else -1
    return xp.exp2(xp.array([sign * _FAR[argument.dtype][block % 4] for block in range(blocks)]))


def scaled(xp: Xp, a: Array, b: Array, sfa: Array, sfb: Array, block: int) -> tuple[Array, Array]:
    """Return A (L, R, K) and B (L, K, N) with their scales, of rows of A, and of columns of B, per block along K; more
    rows and blocks of scales than there are count nothing."""
    at = xp.index([k // block for k in range(a.shape[-1])])
    return a * sfa[:, : a.shape[1]][:, :, at], b * sfb[:, : b.shape[2]][:, :, at].swapaxes(1, 2)
