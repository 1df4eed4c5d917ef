"""Kernels that no arch could have, since their dtypes contradict each other: a mistake of the file."""

from __future__ import annotations

from warpwright.dtypes import SCALED
from warpwright.families.gemm.models import Kernel
from warpwright.families.planning import Conflict

__all__ = ["conflict"]

#: Formats of which tensor cores multiply any two.
_MIXED = (("e4m3", "e5m2"), ("mxf8_e4m3", "mxf8_e5m2"))
#: Packed formats: only rows along K have whole bytes in the order in which tensor cores read them.
_ALONG_K = ("mxf4", "nvf4")


def conflict(kernel: Kernel) -> Conflict | None:
    """The first contradiction between dtypes, majors, accumulator and epilogue; None where there is none."""
    return _pair(kernel) or _majors(kernel) or _accumulator(kernel) or _integers(kernel)


def _pair(kernel: Kernel) -> Conflict | None:
    a, b = kernel.a.dtype, kernel.b.dtype
    if a == b or any(a in mixed and b in mixed for mixed in _MIXED):
        return None
    others = next((f" or {other}" for mixed in _MIXED if a in mixed for other in mixed if other != a), "")
    rule = f"A and B have one dtype, and kernel.a.dtype = {a}"
    if others:
        rule = f"beside kernel.a.dtype = {a}, B is {a}{others}"
    return Conflict("kernel.b.dtype", b, rule, a, "a.dtype == b.dtype")


def _majors(kernel: Kernel) -> Conflict | None:
    for name in ("a", "b"):
        operand = getattr(kernel, name)
        if operand.dtype in _ALONG_K and operand.major != "k":
            rule = f"two elements of {operand.dtype} share a byte, and tensor cores take them contiguous along K alone"
            predicate = f'{name}.major == "k" or {name}.dtype not in ["mxf4", "nvf4"]'
            return Conflict(f"kernel.{name}.major", operand.major, rule, "k", predicate)
    return None


def _accumulator(kernel: Kernel) -> Conflict | None:
    a, wanted = kernel.a.dtype, "i32" if kernel.a.dtype == "i8" else "f32"
    if kernel.accumulator == wanted:
        return None
    rule = f"products of {'blocks of ' if a in SCALED else ''}{a} are summed in {wanted}"
    predicate = '(a.dtype == "i8") == (accumulator == "i32")'
    return Conflict("kernel.accumulator", kernel.accumulator, rule, wanted, predicate)


def _integers(kernel: Kernel) -> Conflict | None:
    if kernel.d.dtype != "i32":
        return None
    if kernel.accumulator != "i32":
        rule = f"only sums of integers are integers, and kernel.a.dtype = {kernel.a.dtype}"
    elif kernel.epilogue:
        rule = "an epilogue computes in f32: D of i32 holds the sums themselves, with `epilogue: []`"
    else:
        return None
    return Conflict("kernel.d.dtype", "i32", rule, "f32", 'd.dtype != "i32"')
