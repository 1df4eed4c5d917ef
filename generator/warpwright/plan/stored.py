"""Reads a plan back from plan.json, on any machine that has the families' workloads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from warpwright.families import workload
from warpwright.plan import identified
from warpwright.plan.typed import typed
from warpwright.plan.types import Plan

__all__ = ["PlanError", "plan_from_json"]


class PlanError(Exception):
    """What was stored is no plan of this version; the message says what is wrong and what to do."""


def plan_from_json(value: Mapping[str, Any]) -> Plan:
    """Rebuild a Plan from plan.json's object. Raises PlanError when it is not one.

    Every field is of its type, and the identity is that of what the plan says of its kernel and design.
    """
    try:
        plan = typed(Plan, value)
        if plan.legal:
            if not plan.kernels:
                raise ValueError("it is legal and has no kernels")
            design = workload(plan.family).designs[plan.arch]
            plan = dataclasses.replace(plan, design=typed(design, plan.design, "design"))
            if plan.identity and identified(plan).identity != plan.identity:
                raise ValueError(f"its identity {plan.identity} is not that of the kernel and design in it")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise PlanError(f"plan.json does not describe a plan of this version ({error}); plan it again") from None
    return plan
