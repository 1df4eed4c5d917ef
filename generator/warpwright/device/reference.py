"""The float64 reference: the product from the operands as stored, then the epilogue chain by its operations' own
references and error bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.device.tolerance import accumulation_bound
from warpwright.device.xp import Array, Xp
from warpwright.epilogue.chain import argument_names
from warpwright.epilogue.op import EpilogueOp
from warpwright.plan.types import Argument, Plan

__all__ = ["Chain", "Expected", "Product", "multiply", "sample_rows", "scalar_value"]

#: Integers up to here are exact in float32, whatever the order of the sum.
_EXACT_INTEGERS = float(1 << 24)


@dataclass(frozen=True)
class Product:
    """A B in float64, shape (L, R, N) for R rows of M, and the bound on what the tensor core may make of it.

    `exact`: every partial sum is an integer that float32 holds, so that the bound is zero.
    """

    values: Array
    bound: Array
    exact: bool


@dataclass(frozen=True)
class Expected:
    """What the output must be, before it is rounded to its dtype: float64 values and the bound on their error."""

    values: Array
    error: Array


def multiply(xp: Xp, a: Array, b: Array, exact: bool) -> Product:
    """Multiply (L, R, K) by (L, K, N), both float64; `exact` when they hold small integers (NaN and Inf allowed)."""
    values = xp.matmul(a, b)
    if exact:
        return Product(values, xp.zeros(tuple(values.shape)), True)
    return Product(values, accumulation_bound(xp, xp.matmul(xp.abs(a), xp.abs(b)), a.shape[-1]), False)


def scalar_value(name: str, fill: str, zero: tuple[str, ...]) -> float:
    """Return a scalar operand's value: an integer where the problem's operands are, zero where the problem says so."""
    if name in zero:
        return 0.0
    table = {"alpha": 0.8125, "beta": -1.3} if fill == "normal" else {"alpha": 2.0, "beta": -3.0}
    return float(np.float32(table.get(name, 1.25 if fill == "normal" else 2.0)))


def sample_rows(m: int, stride: int = 61) -> list[int]:
    """Rows that touch every tile of 64 rows or more: every 61st (prime: all offsets in a tile occur) and the last."""
    return sorted({*range(0, m, stride), *range(max(0, m - 3), m)})


class Chain:
    """A plan's epilogue: its operations in order, and which arguments of the plan are their operands.

    Raises LookupError when an operand is not among the plan's arguments.
    """

    def __init__(self, plan: Plan, operation: Callable[[str], EpilogueOp]) -> None:
        kernel: Any = plan.point["kernel"]
        self.steps = tuple(operation(step["op"]) for step in kernel.get("epilogue", ()))
        self.operands = argument_names(self.steps)
        self.arguments: Mapping[str, Argument] = {argument.name: argument for argument in plan.arguments}
        for step, operands in zip(self.steps, self.operands, strict=True):
            for _, name in operands:
                if name not in self.arguments:
                    raise LookupError(f"operand {name!r} of {step.name!r} is not among the plan's arguments")

    @property
    def skips(self) -> dict[str, str]:
        """Which scalar, being zero, means that a tile operand must not be read: {tile: scalar}."""
        found: dict[str, str] = {}
        for operands in self.operands:
            names = {operand.name: name for operand, name in operands}
            found |= {names[o.name]: names[o.skip_if_zero] for o, _ in operands if o.skip_if_zero}
        return found

    def apply(
        self,
        xp: Xp,
        product: Product,
        scalars: Mapping[str, float],
        stored: Callable[[str], Array],
        rows: Array | None = None,
    ) -> Expected:
        """Return the expected output for the product's rows.

        `stored(name)` gives a vector or tile operand as stored, in float64: (M,), (N,) or (L, M, N).
        """
        x, error, exact = product.values, product.bound, product.exact
        with np.errstate(invalid="ignore", over="ignore"):
            for step, named in zip(self.steps, self.operands, strict=True):
                operands = {o.name: self._operand(xp, name, o.kind, scalars, stored, rows) for o, name in named}
                error = step.error(xp, x, error, operands)
                x = step.reference(xp, x, operands)
                # An operation that maps these integers to integers within float32's exact range has computed them
                # exactly: sums, products and selections do; a transcendental function does not return only integers.
                exact = exact and _integers(xp, x)
                if exact:
                    error = xp.zeros(tuple(x.shape))
        return Expected(x, error)

    def _operand(
        self,
        xp: Xp,
        name: str,
        kind: str,
        scalars: Mapping[str, float],
        stored: Callable[[str], Array],
        rows: Array | None,
    ) -> Array:
        if kind == "scalar":
            return xp.array(scalars[name])
        if kind == "vector_n":
            return stored(name)
        if kind == "vector_m":
            vector = stored(name)
            return (vector if rows is None else vector[rows])[:, None]
        if name in self.skips and scalars[self.skips[name]] == 0:
            return xp.zeros((1, 1, 1))  # where the scalar is zero the tile does not exist, whatever it holds
        return stored(name)


def _finite(xp: Xp, x: Array) -> Array:
    return ~(xp.isnan(x) | xp.isinf(x))


def _integers(xp: Xp, x: Array) -> bool:
    finite = _finite(xp, x)
    return xp.all(~finite | ((x == xp.rint(x)) & (xp.abs(x) < _EXACT_INTEGERS)))
