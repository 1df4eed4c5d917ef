"""The numbers of a call: any real number is taken that the kernel's dtype can hold."""

from __future__ import annotations

import struct
from numbers import Integral, Real
from typing import Any

from warpwright.dtypes import dtype
from warpwright.plan.types import Argument

__all__ = ["ScalarError", "scalar", "shown"]

_LARGEST = 3.4028234663852886e38  # of float32
_SHOWN = 60  # characters of a value in a message


class ScalarError(ValueError):
    """What was given is no number of the argument's dtype; `value` and `rule` are also in the message."""

    def __init__(self, value: str, rule: str) -> None:
        super().__init__(f"{value}; {rule}")
        self.value, self.rule = value, rule


def scalar(argument: Argument, given: Any) -> int | float:
    """Return a scalar as the kernel gets it, in f32 rounded to nearest: what is too small becomes 0 or subnormal.

    Takes int, float, Fraction, numpy's numbers, and arrays without modes that lie on the CPU. NaN and infinities are
    taken as they are. Raises ScalarError for what is no number, and for a finite one that the dtype does not hold.
    """
    value = _number(given)
    if dtype(argument.dtype).integral:
        bits = dtype(argument.dtype).bits
        if not isinstance(value, Integral):
            raise ScalarError(shown(given), "must be an integer")
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ScalarError(shown(given), f"must be within {bits} bits: from -2^{bits - 1} to 2^{bits - 1} - 1")
        return int(value)
    if not isinstance(value, Real):
        raise ScalarError(shown(given), "must be a number (int or float)")
    try:
        wide = float(value)
        return float(struct.unpack("<f", struct.pack("<f", wide))[0])
    except OverflowError:
        raise ScalarError(shown(given), f"must be finite in float32: at most {_LARGEST!r} in magnitude") from None


def _number(given: Any) -> Any:
    """The Python number of an array's only element; whatever else it is, as it is."""
    if isinstance(given, (bool, complex)):
        return None
    if isinstance(given, Real):
        return given
    # Of an array without modes. One on the device would be waited for: the caller has to say so, by .item().
    if getattr(given, "shape", None) == () and str(getattr(given, "device", "cpu")) == "cpu" and hasattr(given, "item"):
        value = given.item()
        return None if isinstance(value, bool) else value
    return None


def shown(given: Any) -> str:
    """A value in a message, which may be of any length; with its type where that is no number's."""
    try:
        text = " ".join(repr(given).split())
    except Exception as error:  # an int of more digits than Python prints, or an object that has no repr
        text = f"{given:#x}" if isinstance(given, int) else f"what has no repr ({type(error).__name__})"
    if len(text) > _SHOWN:
        text = f"{text[:_SHOWN]}... ({len(text)} characters)"
    plain = isinstance(given, (int, float)) and not isinstance(given, bool)
    return text if plain else f"{text} of type {type(given).__name__}"
