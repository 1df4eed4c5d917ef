"""What the inputs of a GEMM are drawn as, by dtype: numbers, packed numbers, and scales."""

from __future__ import annotations

from dataclasses import replace

from warpwright.device.held import packed, per_byte
from warpwright.device.problem import Case, Fill, Problem, shape_of
from warpwright.device.tensors import random_values, seed_of
from warpwright.device.xp import Array, Xp
from warpwright.families.gemm.workload import extreme, scales
from warpwright.plan.types import Argument, Plan

__all__ = ["drawn", "whole", "whole_case"]


def drawn(xp: Xp, argument: Argument, problem: Problem, seed: int) -> Array:
    """Draw an input as it is held: bits, dense."""
    if argument.block:
        return scales.drawn(xp, argument, problem, seed)
    values = _random(xp, argument, problem, seed)
    if xp.size(values):
        _strew(values, argument, problem.fill)
    return packed(xp, argument, xp.encode(values, argument.dtype))


def whole(plan: Plan, problem: Problem) -> Problem:
    """The problem, with an even K where two elements along it share a byte."""
    depth = problem.extents["K"]
    if depth % 2 == 0 or all(per_byte(argument) == 1 for argument in plan.arguments):
        return problem
    even = depth - 1 if depth > 1 else 2
    return replace(problem, sizes=tuple((mode, even if mode == "K" else size) for mode, size in problem.sizes))


def whole_case(plan: Plan, case: Case) -> Case:
    """The same for a case."""
    return replace(case, problem=whole(plan, case.problem))


def _random(xp: Xp, argument: Argument, problem: Problem, seed: int) -> Array:
    """Over all that a small format has: of integers every one, of e2m1 the larger numbers as often as others."""
    if problem.fill == "normal" and argument.dtype == "i8":
        return xp.integers(shape_of(argument, problem.extents), -128, 127, seed_of(seed, problem.name, argument.name))
    values = random_values(xp, argument, problem, seed)
    return 2.0 * values if problem.fill == "normal" and argument.dtype == "e2m1" else values


def _strew(values: Array, argument: Argument, fill: Fill) -> None:
    """Put the special numbers of a fill into small integers, in place; the range's ends where a format has none."""
    if fill == "extreme":
        extreme.strew(values, argument)
    if fill == "integer" and argument.dtype == "i8":  # one sum of a long K is beyond what float32 counts, and odd
        along = values.shape[-1 if argument.name == "a" else -2]
        if along * 127**2 > 1 << 24:
            values[(..., -1, slice(None)) if argument.name == "a" else (..., -1)] = 127.0
    if fill == "nonfinite" and argument.name == "a":
        rows, depth = values.shape[-2:]
        values[..., 0, depth // 2] = float("nan")
        values[..., rows // 2, 0] = float("inf")
        values[..., rows - 1, depth - 1] = float("-inf")
    extreme.within(values, argument)
