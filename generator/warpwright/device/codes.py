"""Numbers of 8 bits and fewer as tables: the value of every code, and between which values each begins.

numpy has no such types and torch cannot convert to all of them; a table serves both, and says at once what a format can
hold.
"""

from __future__ import annotations

import functools
import itertools
import math

from warpwright.dtypes import Dtype, Format, dtype

__all__ = ["TABLED", "above", "midpoints", "values"]

#: Floating-point types that are coded by table.
TABLED = ("e4m3", "e5m2", "e2m1", "ue8m0", "ue4m3")


def _form(found: Dtype) -> Format:
    if found.format is None:
        raise ValueError(f"{found.name} has no floating-point format")
    return found.format


def _magnitude(form: Format, code: int) -> float:
    exponent, fraction = divmod(code, 1 << form.mantissa)
    if form.smallest == -127:  # ue8m0 has no zero and nothing subnormal
        return 2.0 ** (code + form.smallest)
    lead = 1.0 if exponent else 0.0
    return float((lead + fraction / (1 << form.mantissa)) * 2.0 ** (max(exponent, 1) - 1 + form.smallest))


@functools.cache
def _magnitudes(name: str) -> tuple[float, ...]:
    """The finite numbers from 0 on, by code."""
    form = _form(dtype(name))
    found: list[float] = []
    while not found or found[-1] < form.largest:
        found.append(_magnitude(form, len(found)))
    return tuple(found)


@functools.cache
def values(name: str) -> tuple[float, ...]:
    """What each of a type's codes means; those beyond the finite numbers are infinity, where there is one, and NaN."""
    found, finite = dtype(name), _magnitudes(name)
    signed = not name.startswith("u")
    half = 1 << found.bits - signed
    infinite = [math.inf] * (name == "e5m2")
    upper = [*finite, *infinite, *[math.nan] * half][:half]
    return (*upper, *(-value for value in upper)) if signed else tuple(upper)


@functools.cache
def midpoints(name: str) -> tuple[float, ...]:
    """Between each code from 0 on and the next one, up to where a number is beyond the finite ones."""
    form, finite = _form(dtype(name)), _magnitudes(name)
    between = [(low + high) / 2 for low, high in itertools.pairwise(finite)]
    return (*between, form.overflow if above(name) is not None else math.inf)


def above(name: str) -> int | None:
    """The code of what is beyond the finite numbers: infinity or NaN; None where the largest one stands for it."""
    return None if name == "e2m1" else len(_magnitudes(name))
