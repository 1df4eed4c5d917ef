"""Finds where an operation's error bound would let wrong results pass: where it is not small beside the value."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from warpwright.epilogue.op import EpilogueOp

__all__ = ["idle"]

#: A result that is off by this part of itself must be outside the bound: 0.984 and 1.016 of it are wrong.
_PART = 2.0**-6
#: Where a value is this much smaller than others of inputs no larger, float32 may have cancelled all of it.
_CANCELLED = 2.0**-16
#: How far off an inexact input is, of itself.
_OFF = 2.0**-8
#: Inputs: the magnitudes that sums of small integers and of random numbers have.
_MAGNITUDES = tuple(m * 10.0**e for e in range(-6, 4) for m in (1.0, 1.8, 3.0, 5.5)) + (1e4,)


def idle(op: EpilogueOp) -> str:
    """Say at which input the operation's bound is too large to prove anything, and how large; "" where it is of use.

    Every operand is 1. An exact input: the bound exceeds a 64th of the value. One that is off by a 256th: it exceeds
    the value and four times what becomes of that error. What the operation raises is told as well.
    """
    import numpy as np

    erf = np.frompyfunc(math.erf, 1, 1)
    xp: Any = SimpleNamespace(
        **{name: getattr(np, name) for name in ("abs", "exp", "tanh", "where", "maximum", "sign")},
        erf=lambda x: np.asarray(erf(x), np.float64),
        array=lambda x: np.asarray(x, np.float64),
    )
    x = np.array([sign * size for size in _MAGNITUDES for sign in (1.0, -1.0)]).reshape(1, 1, -1)
    off = np.abs(x) * _OFF
    shapes = {"tile": (1, 1, 1), "vector_m": (1, 1), "vector_n": (1,), "scalar": ()}
    operands = {o.name: np.ones(shapes[o.kind]) for o in op.operands}
    try:
        with np.errstate(all="ignore"):
            value, low, high = (_plain(np, op.reference(xp, y, operands), x) for y in (x, x - off, x + off))
            exact, moved = (_plain(np, op.error(xp, x, e, operands), x) for e in (0.0 * x, off))
            size = np.where(np.isfinite(value), np.abs(value), 0.0)
            largest = np.maximum.accumulate(np.maximum(size[0::2], size[1::2])).repeat(2)
            counts = np.isfinite(value) & (size > _CANCELLED * largest)
            change = np.maximum(np.abs(low - value), np.abs(high - value))
            for bound, limit, within, way in (
                (exact, _PART * size, "exact", "make it a few round-offs of the value"),
                (moved, size + 4 * change, "off by a 256th", "multiply the input's error by the slope that is there"),
            ):
                found = counts & ~(bound <= limit)
                if found.any():
                    share = np.where(found, np.where(np.isnan(bound), np.inf, bound / size), -1.0)
                    at = int(np.argmax(share))
                    return (
                        f"error is no bound of use at x = {x.ravel()[at]:g}, {within}: {bound[at]:.3g} beside a value "
                        f"of {value[at]:.3g} (with every operand 1), so a wrong result passes; {way}"
                    )
    except Exception as error:
        return f"reference or error raises {type(error).__name__}: {error}"
    return ""


def _plain(np: Any, found: Any, like: Any) -> Any:
    """What an operation returned, which may be smaller than its input, as one number for each of the inputs."""
    return np.broadcast_to(np.asarray(found, np.float64), like.shape).ravel()
