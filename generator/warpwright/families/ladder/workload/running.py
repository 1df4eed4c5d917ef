"""The ladder's workload: the GEMM's, but that the first rung is one CTA (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from warpwright.device.problem import Case, Problem
from warpwright.families.gemm.workload.running import Gemm
from warpwright.families.ladder.workload.design import LadderDesign, TensorLadderDesign
from warpwright.families.products.problems import multiplication
from warpwright.families.running import Launched, View, Workload
from warpwright.plan.types import Plan

__all__ = ["WORKLOAD"]

#: Cases of so many tiles that one CTA would take too long: it has a walk of its own.
_MANY = ("walk", "most_batches", "most_across", "most_along")
#: Tiles of that walk: more than a mask of 32 bits holds, and along each mode more than once.
_WALK = (5, 4, 2)
#: Elements that a thread loads at once, and columns of a subtile of D.
_VECTOR, _SUBTILE = 8, 32


class _Ladder(Gemm):
    designs: Mapping[str, type] = MappingProxyType({"sm_90a": LadderDesign, "sm_100a": TensorLadderDesign})

    def problems(self, plan: Plan) -> list[Problem]:
        found = super().problems(plan)
        return found if _loads(plan) else [*found, _short(plan.design)]

    def cases(self, plan: Plan) -> list[Case]:
        found = super().cases(plan)
        d: LadderDesign | TensorLadderDesign = plan.design
        if not _loads(plan):
            found += [*_guards(d), Case(_short(d), 4, 0, (1,))]
        if not _loads(plan) and isinstance(d, TensorLadderDesign):
            found += _columns(d)
        if not d.one_cta:
            return found
        m, n, batches = _WALK
        walk = multiplication("walk", m * d.tile_m - 7, n * d.tile_n - 5, d.tile_k + 1, batches, fill="integer")
        few = [case for case in found if case.problem.name not in _MANY]
        return [*(replace(case, clusters=1, resident=1, only=()) for case in few), Case(walk, 1, 1, (1,))]

    def units(self, plan: Plan, problem: Problem) -> int:
        return min(super().units(plan, problem), _clusters(plan, 2**31))

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        return super().share(plan, problem, _clusters(plan, clusters), only)

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        (found,) = super().launched(plan, problem, _clusters(plan, clusters))
        if _loads(plan):
            return [found]
        operands = (("a_mkl", View("a", ("M", "K", "L"))), ("b_nkl", View("b", ("N", "K", "L"))))
        return [replace(found, values=(*operands, *found.values))]


def _loads(plan: Plan) -> bool:
    """Whether anything is loaded asynchronously: else threads load, and ask of each element whether it exists."""
    return any(copy.direction == "load" for copy in plan.main.copies)


def _guards(d: LadderDesign | TensorLadderDesign) -> list[Case]:
    """Extents that end at every element of a thread's vector, in each of its rows, and at every one that it stores."""
    found = []
    for at in range(_VECTOR):
        m = d.tile_m + at * d.tile_m // _VECTOR + 3
        n = d.tile_n + _SUBTILE * at % d.tile_n + _VECTOR * (at // 2) + 2 * (at + 1) % _VECTOR + at % 2
        k = d.tile_k + _VECTOR * at % d.tile_k + at + 1
        problem = multiplication(f"guards_{at}", m, n, k, fill="integer", padding=at % 2)
        found.append(Case(problem, 4, 0, (1,)))
    return found


def _columns(d: TensorLadderDesign) -> list[Case]:
    """Extents that end at every column of a subtile, of which a thread has a whole row and stores it by itself; and a K
    of whole vectors that ends within a tile."""
    problems = [multiplication(f"columns_{n}", 3, n, 8, fill="integer", padding=1) for n in range(1, d.subtile_n)]
    m, n, k = d.tile_m - 3, d.tile_n - 3, d.tile_k + _VECTOR
    problems.append(multiplication("vectors", m, n, k, fill="integer", padding=1))
    return [Case(problem, 1, 0, (1,)) for problem in problems]


def _short(d: LadderDesign | TensorLadderDesign) -> Problem:
    """Each extent an element short of whole tiles: where a tile is just not one that needs no guard."""
    m, n, k = (2 * each - 1 for each in (d.tile_m, d.tile_n, d.tile_k))
    return multiplication("short", m, n, k, fill="integer", padding=1)


def _clusters(plan: Plan, clusters: int) -> int:
    return 1 if plan.design.one_cta else clusters


WORKLOAD: Workload = _Ladder()
