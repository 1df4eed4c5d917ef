"""The float64 reference: the product from the operands as stored, with the bound on a tensor core's error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpwright.device.xp import Array, Xp
from warpwright.families.gemm.workload import scales
from warpwright.families.gemm.workload.accumulation import accumulation_bound, conversion_bound
from warpwright.families.products.reference import Product
from warpwright.plan.types import Plan

__all__ = ["as_f32", "multiply", "product", "scalar_value"]


def product(xp: Xp, plan: Plan, exact: bool, stored: Callable[[str], Array]) -> Product:
    """Multiply A (L, R, K) by B (L, K, N) as they are stored, with their scales where they have some.

    `exact` when they hold small integers (NaN and Inf allowed). Sums of integers always are.
    """
    a, b = stored("a"), stored("b")
    block = next((argument.block for argument in plan.arguments if argument.block), 0)
    if block:
        a, b = scales.scaled(xp, a, b, stored("sfa"), stored("sfb"), block)
    integers = plan.kernel.get("accumulator") == "i32"
    made = multiply(xp, a, b, exact or integers)
    return Product(made.values, made.bound, exact) if integers else made


def multiply(xp: Xp, a: Array, b: Array, exact: bool) -> Product:
    """Multiply (L, R, K) by (L, K, N), both float64; `exact` when they hold small integers (NaN and Inf allowed)."""
    values = xp.matmul(a, b)
    if exact:
        return Product(values, xp.zeros(tuple(values.shape)), True)
    return Product(values, accumulation_bound(xp, xp.matmul(xp.abs(a), xp.abs(b)), a.shape[-1]), False)


def as_f32(xp: Xp, plan: Plan, made: Product) -> Array:
    """The bound on a product as the epilogue gets it: integers that D does not hold as such become float32."""
    converted = plan.kernel.get("accumulator") == "i32" and plan.kernel["d"]["dtype"] != "i32"
    return made.bound + conversion_bound(xp, made.values) if converted else made.bound


def scalar_value(name: str, fill: str, zero: tuple[str, ...], special: tuple[str, ...], switch: bool) -> float:
    """Return a scalar operand's value: an integer where the problem's operands are, zero where the problem says so.

    Beside one that is zero the others are 1. One that is `special` is infinite. If it is the `switch` that turns an
    operand off it is what is not zero, though it looks so: NaN, or among extreme numbers one whose square is zero.
    """
    if name in zero:
        return 0.0
    if name in special:
        if not switch:
            return float("-inf")
        return 2.0**-80 if fill == "extreme" else float("nan")
    if zero:
        return 1.0
    if fill == "extreme" and not switch:
        return 1.0  # twice a sum may be infinite in float32, and is not inside a fused multiply-add
    # Of the random ones no 16-bit dtype holds any.
    table = {"alpha": 0.1, "beta": -1.3} if fill == "normal" else {"alpha": 2.0, "beta": -3.0}
    return float(np.float32(table.get(name, 1.3 if fill == "normal" else 2.0)))
