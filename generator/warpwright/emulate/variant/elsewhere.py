"""A part of a grid that wrote nothing wrong but elsewhere than planned: is that another walk, or a wrong one?

Where clusters of a grid compute other tiles than the plan says, the kernel is right as long as every tile is computed
once. A case that runs a few clusters of many cannot see that by itself. But a tile that they computed in place of their
own has an owner by the plan: where the owner computes it as well, two clusters do. Where none of the owners does, and
each of them computes as many tiles as it has to, the kernel walks over its tiles in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from warpwright.device.problem import Case
from warpwright.emulate.variant.case import Outcome, Prepared
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.operands import Operand
from warpwright.families import workload
from warpwright.plan.types import Plan

__all__ = ["walked_otherwise"]

_BY_PLACE = {"unwritten", "wrong-result"}
_CLUSTERS = 1 << 18  # of a grid, at most, whose tiles are looked through


def walked_otherwise(
    plan: Plan, prepared: Prepared, outcome: Outcome, again: Callable[[Case], Outcome]
) -> Difference | None:
    """What is other than planned, if all that is wrong with an outcome is that other tiles were computed; else None.

    `again` runs the prepared operands with a case that has other clusters.
    """
    case, kinds = prepared.case, {finding.kind for finding in outcome.findings}
    if not case.only or not outcome.complete or "unwritten" not in kinds or kinds - _BY_PLACE:
        return None
    grids = [prod(call.launch.grid) // prod(call.launch.cluster) for call in prepared.calls]
    if len(grids) != 1 or grids[0] > _CLUSTERS:
        return None
    family = workload(plan.family)
    shares = {number: family.share(plan, case.problem, case.clusters, [number]) for number in range(grids[0])}
    outs, ran = prepared.operands.of_role("output"), set(case.only)
    found = [_written(prepared, out, shares, ran) for out in outs]
    owners = set[int]().union(*(each or () for each in found))
    if None in found or owners <= ran:
        return None
    both = again(replace(case, only=tuple(sorted(owners | ran))))
    wrong = {finding.kind for finding in both.findings} - _BY_PLACE
    if wrong or not both.complete or None in [_written(prepared, out, shares, owners | ran) for out in outs]:
        return None
    numbers = ", ".join(map(str, case.only))
    return Difference("the walk over the tiles", f"the plan's tiles in cluster {numbers}", "others, none of them twice")


def _written(
    prepared: Prepared, out: Operand, shares: Mapping[int, Sequence[Mapping[str, slice]]], ran: Collection[int]
) -> set[int] | None:
    """By the plan, the owners of the tiles that were written, which are forgotten then; None where they are not as many
    as the clusters that `ran` have to compute."""
    writes = prepared.operands.writes(out)
    count, owners = 0, set[int]()
    for number, boxes in shares.items():
        for box in boxes:
            if writes[tuple(each.start or 0 for each in _place(out, box))].any():
                writes[_place(out, box)] = 0
                owners.add(number)
                count += 1
    return owners if count == sum(len(shares[number]) for number in ran) else None


def _place(out: Operand, box: Mapping[str, slice]) -> tuple[slice, ...]:
    return tuple(box.get(mode, slice(None)) for mode in out.argument.shape)
