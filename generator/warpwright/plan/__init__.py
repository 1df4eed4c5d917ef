"""From a point to a plan: which kernel, by plain integers, without importing the DSL."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warpwright.canonical import canonical_json, digest
from warpwright.plan.types import Plan, Violation

if TYPE_CHECKING:
    from warpwright.plan.rule import Rule
    from warpwright.point import Point

__all__ = ["folder_name", "identified", "plan", "rules"]

#: Of a folder's name, which may have 255 bytes; files in work append some (`.NAME.RANDOM.old`).
_LONGEST_LABEL = 160


def plan(point: Point) -> Plan:
    """Plan one point. An illegal point gives a plan whose `violations` say why."""
    from warpwright.families import target

    found = identified(target(point.family, point.arch).plan(point))
    if found.legal:
        return found
    return dataclasses.replace(
        found, violations=tuple(_with_origin(violation, point) for violation in found.violations)
    )


def _with_origin(violation: Violation, point: Point) -> Violation:
    """Say of a value that nobody need have written where it is from: a default, or what `auto` became."""
    *parents, last = violation.field.split(".")
    node: Any = point
    for name in parents:
        node = getattr(node, name, None)
    field, written = getattr(type(node), "model_fields", {}).get(last), getattr(node, last, None)
    if field is None or (written != field.default and written != "auto"):
        return violation
    head = f"{violation.field} = {violation.value}"
    origin = "from auto" if written == "auto" else "the default"
    return dataclasses.replace(violation, message=violation.message.replace(head, f"{head}, {origin}", 1))


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
    """Return the name of a variant's folder: its label, made unique by its identity, within what file systems take."""
    return f"{plan.label[:_LONGEST_LABEL]}-{plan.identity[:8]}"
