"""Constants that the kernels of every arch have, each as a person would write it."""

from __future__ import annotations

import functools

from warpwright.families.gemm.parts.computed import Matrix
from warpwright.families.gemm.parts.limits import Cut, largest_extents, most_tiles
from warpwright.plan import types
from warpwright.plan.types import Constant

__all__ = ["constant", "edge", "largest", "times"]

#: Points of one sweep have most of these in common.
constant = functools.lru_cache(maxsize=16384)(types.Constant)

_WARPGROUP = 128  # threads


def edge(d: Matrix, tma_alignment: int, subtile_m: int, subtile_n: int) -> list[Constant]:
    """The end of D along its contiguous mode, where fewer elements are left than TMA stores; subtile_m is MMA_M."""
    alignment = tma_alignment // d.bytes
    lines, name, what = (subtile_m, "MMA_M", "row") if d.major == "n" else (subtile_n, "SUBTILE_N", "column")
    width = _WARPGROUP // lines
    steps = -(-alignment // width)
    found = [
        constant("D_BYTES", d.bytes, "of an element of D"),
        constant("D_ALIGNMENT", alignment, "in elements", "TMA_ALIGNMENT // D_BYTES"),
    ]
    if steps > 1:
        found += [
            constant("EDGE_WIDTH", width, f"threads for each of a subtile's {what}s", f"WARPGROUP // {name}"),
            constant("EDGE_STEPS", steps, "that store an edge", "-(-D_ALIGNMENT // EDGE_WIDTH)"),
        ]
    return found


def largest(a: Cut) -> list[Constant]:
    """What 32 bits count; the checked call names the limit, the function's launch fails beyond it."""
    divisor = max(a.walk, a.cluster_m)
    beyond = {1: "", 2: ", and a step of the walk beyond", 3: ", and two steps of the walk beyond"}[a.walk]
    note, last = f"cluster tiles that 32 bits count{beyond}", "2**31 - 1"
    found = [constant("MAX_TILES", most_tiles(a), note, f"({last}) // {divisor}" if divisor > 1 else last)]
    for mode, most in largest_extents(a).items():
        clustered = (a.cluster_m if mode == "M" else a.cluster_n) > 1
        unit = f"(TILE_{mode} * CLUSTER_{mode})" if clustered else f"TILE_{mode}"
        found.append(constant(f"MAX_{mode}", most, "of whole tiles", f"({last}) // {unit} * {unit}"))
    return found


def times(*factors: str) -> str:
    """A product of what is not 1, written out."""
    return " * ".join(factor for factor in factors if factor) or "1"
