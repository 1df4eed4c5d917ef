"""A plan's epilogue in float64: the chain of its operations' own references and error bounds.

Imports only its siblings and numpy: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from warpwright.epilogue import registry
from warpwright.epilogue.chain import argument_names
from warpwright.plan.types import Plan

__all__ = ["Chain"]

#: Integers up to here are exact in float32, whatever the order of the sum.
_EXACT_INTEGERS = float(1 << 24)
#: From here on, rounding to float32 gives infinity.
_F32_OVERFLOW = (2 - 2.0**-24) * 2.0**127


class Chain:
    """The operations of a plan's `kernel["epilogue"]` in order, and which arguments of the plan are their operands.

    Raises OpError for an unknown operation, LookupError when an operand is not among the plan's arguments.
    """

    def __init__(self, plan: Plan) -> None:
        self.steps = tuple(registry.get(step["op"]) for step in plan.kernel.get("epilogue", ()))
        self.operands = argument_names(self.steps)
        names = {argument.name for argument in plan.arguments}
        for step, operands in zip(self.steps, self.operands, strict=True):
            for _, name in operands:
                if name not in names:
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
        xp: Any,
        values: Any,
        error: Any,
        exact: bool,
        scalars: Mapping[str, float],
        stored: Callable[[str], Any],
    ) -> tuple[Any, Any]:
        """Return what becomes of (L, M, N) values that are known to within `error`, and its bound.

        `exact`: the values are integers without error. `stored(name)` gives a vector or tile operand as stored, in
        float64: (M,), (N,) or (L, M, N).
        """
        with np.errstate(invalid="ignore", over="ignore"):
            x, error = _settled(xp, values, error)
            for step, named in zip(self.steps, self.operands, strict=True):
                operands = {o.name: self._operand(xp, name, o.kind, scalars, stored) for o, name in named}
                error = step.error(xp, x, error, operands)
                x, error = _settled(xp, step.reference(xp, x, operands), error)
                # An operation that maps these integers to integers within float32's exact range has computed them
                # exactly: sums, products and selections do; a transcendental function does not return only integers.
                exact = exact and _integers(xp, x)
                if exact:
                    error = xp.zeros(tuple(x.shape))
        return x, error

    def _operand(
        self, xp: Any, name: str, kind: str, scalars: Mapping[str, float], stored: Callable[[str], Any]
    ) -> Any:
        if kind == "scalar":
            return xp.array(scalars[name])
        if kind == "vector_m":
            return stored(name)[:, None]
        if name in self.skips and scalars[self.skips[name]] == 0:
            return xp.zeros((1, 1, 1))  # where the scalar is zero the tile does not exist, whatever it holds
        return stored(name)


def _settled(xp: Any, x: Any, error: Any) -> tuple[Any, Any]:
    """Return values as float32 can hold them: those beyond its largest are infinite; what is not finite has no error.

    Infinities and NaN come out of float32 as they come out of the exact arithmetic, so nothing is uncertain there, and
    an operation that makes a number of them (relu of -inf) gives exactly that number.
    """
    x = xp.where(xp.abs(x) >= _F32_OVERFLOW, xp.sign(x) * xp.array(math.inf), x)
    return x, xp.where(xp.isnan(x) | xp.isinf(x), xp.array(0.0), error)


def _integers(xp: Any, x: Any) -> bool:
    finite = ~(xp.isnan(x) | xp.isinf(x))
    found: bool = xp.all(~finite | ((x == xp.rint(x)) & (xp.abs(x) < _EXACT_INTEGERS)))
    return found
