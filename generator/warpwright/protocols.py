"""Versions of the methods: what a verdict means, by when it was obtained. It imports nothing, since it travels.

A version is raised whenever the problems, bounds, checks or figures of a method change what its verdicts mean.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LARGEST_RATIO", "PROTOCOLS", "current"]

#: The versions of each method whose results can be read, the oldest first; the last is the one that is written. Builds
#: have none: what a build's verdict means, its toolchain and the checks that are repeated with every build say.
PROTOCOLS: Mapping[str, tuple[int, ...]] = {
    "emulated": (1,),
    "compared": (1,),
    "gpu-validated": (1, 2),  # since 2 it names what judged, what it was asked for, and the problems that it covers
    "benchmarked": (2,),
}
#: An error within its bound, as a part of it; comparisons are in float64, and ratios of exactly 1 are common (ties).
LARGEST_RATIO = 1 + 1e-9


def current(method: str) -> int:
    """Return the version of a method that is written now."""
    return PROTOCOLS[method][-1]
