"""Reads a plan back from plan.json, on any machine that has the families' workloads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from warpwright.families import workload
from warpwright.plan import types
from warpwright.plan.types import Plan

__all__ = ["PlanError", "plan_from_json"]

_PARTS: Mapping[str, type] = {
    "arguments": types.Argument,
    "barriers": types.Barrier,
    "buffers": types.Buffer,
    "constants": types.Constant,
    "copies": types.Copy,
    "kernels": types.KernelPlan,
    "limits": types.Limit,
    "mmas": types.Mma,
    "roles": types.Role,
    "violations": types.Violation,
}


class PlanError(Exception):
    """What was stored is no plan of this version; the message says what is wrong and what to do."""


def plan_from_json(value: Mapping[str, Any]) -> Plan:
    """Rebuild a Plan from plan.json's object. Raises PlanError when it is not one."""
    try:
        plan: Plan = _part(Plan, value)
        if plan.legal:
            plan = dataclasses.replace(plan, design=workload(plan.family).design(**plan.design))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PlanError(f"plan.json does not describe a plan of this version ({error}); plan it again") from None
    return plan


def _part(kind: type, value: Mapping[str, Any]) -> Any:
    fields = {name: _field(name, inner) for name, inner in value.items()}
    return kind(**fields)


def _field(name: str, value: Any) -> Any:
    if name in _PARTS:
        return tuple(_part(_PARTS[name], item) for item in value)
    return _tuples(value) if isinstance(value, list) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
