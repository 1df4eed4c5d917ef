"""A product in float64, as every family of products makes it, before its epilogue."""

from __future__ import annotations

from dataclasses import dataclass

from warpwright.device.xp import Array

__all__ = ["Product"]


@dataclass(frozen=True)
class Product:
    """A B in float64, shape (L, R, N) for R rows of M, and the bound on what the kernel makes of it.

    `exact`: every partial sum is one that float32 holds, such as a small integer, so that the bound is zero.
    """

    values: Array
    bound: Array
    exact: bool
