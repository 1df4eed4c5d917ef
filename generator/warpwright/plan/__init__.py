"""From a point to a plan: which kernel, by plain integers, without importing the DSL."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warpwright.canonical import canonical_json, digest
from warpwright.plan.types import Plan

if TYPE_CHECKING:
    from warpwright.plan.rule import Rule
    from warpwright.point import Point

__all__ = ["folder_name", "identified", "plan", "rules"]


def plan(point: Point) -> Plan:
    """Plan one point. An illegal point gives a plan whose `violations` say why."""
    from warpwright.families import target

    return identified(target(point.family, point.arch).plan(point))


def rules() -> dict[tuple[str, str], tuple[Rule[Any], ...]]:
    """Return every rule by (family, arch)."""
    from warpwright import families

    found = [families.family(name) for name in families.NAMES]
    return {(family.name, arch): target.rules for family in found for arch, target in family.targets.items()}


def identified(plan: Plan) -> Plan:
    """Return a plan with its identity: 12 hex digits, the head of the hash of what it computes, and how.

    The design is the resolved one: however a file spells a choice, and whatever the file is called, one kernel is one
    variant. The function is exported under the name that it has in the source, made unique by the identity, so that two
    variants' objects link into one library: the compiler derives every other global name from this one.
    """
    text = f"{plan.family} {plan.arch} {_kernel_text(plan.kernel)} {canonical_json(plan.design)}"
    identity = digest(text)[:12]
    symbol = f"{plan.entry}_{identity[:8]}" if plan.entry else ""
    return dataclasses.replace(plan, identity=identity, symbol=symbol)


def _kernel_text(kernel: Mapping[str, Any]) -> str:
    """The canonical JSON of a kernel, made once: the plans of a sweep share theirs."""
    known = _texts.get(id(kernel))
    if known is None:
        if len(_texts) > 1000:
            _texts.clear()
        known = _texts[id(kernel)] = kernel, canonical_json(kernel)
    return known[1]


_texts: dict[int, tuple[Mapping[str, Any], str]] = {}


def folder_name(plan: Plan) -> str:
    """Return the name of a variant's folder: its label, made unique by its identity."""
    return f"{plan.label}-{plan.identity[:8]}"
