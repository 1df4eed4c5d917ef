"""From a point to a plan: which kernel, by plain integers, without importing the DSL.

A family and architecture is a module `warpwright.plan.<family>.<arch>` with `plan(point)` and `rules()`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from warpwright.canonical import digest
from warpwright.plan.explanation import explain
from warpwright.plan.prediction import Prediction, predict
from warpwright.plan.rule import Rule
from warpwright.plan.types import Plan

if TYPE_CHECKING:
    from warpwright.point import Point  # a pydantic model: GPU hosts, which read plans, need not have pydantic

__all__ = ["Prediction", "explain", "folder_name", "identity", "plan", "predict", "rules"]

FAMILIES: tuple[tuple[str, str], ...] = (("gemm", "sm_90a"),)


def _planner(family: str, arch: str) -> ModuleType:
    return importlib.import_module(f"warpwright.plan.{family}.{arch}")


def plan(point: Point) -> Plan:
    """Plan one point. An illegal point gives a plan whose `violations` say why."""
    result: Plan = _planner(point.kernel.family, point.kernel.arch).plan(point)
    return result


def rules() -> dict[tuple[str, str], tuple[Rule[Any], ...]]:
    """Return every rule by (family, architecture)."""
    return {key: _planner(*key).rules() for key in FAMILIES}


def identity(plan: Plan) -> str:
    """Return the 12 hex digits that identify a variant: the head of the hash of its plan."""
    return digest(plan)[:12]


def folder_name(plan: Plan) -> str:
    """Return the name of a variant's folder: its label, made unique by its identity."""
    return f"{plan.label}-{identity(plan)[:8]}"
