"""Which problems a result must cover: those that its workload, or a configuration's own list, asks for.

What was not run was not seen. A run of a few problems is worth keeping, and is no verdict on its own. Of a
configuration's own list a plan has those that are within its limits: one file may hold designs for short and long rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from warpwright.device.held import per_byte
from warpwright.device.problem import Problem, listed, shape_of
from warpwright.dtypes import dtype
from warpwright.families import workload
from warpwright.plan.types import Plan

__all__ = [
    "STANDARD",
    "Asked",
    "asked_problems",
    "beyond",
    "checked",
    "compared_problems",
    "lacking",
    "left_out",
    "needed_bytes",
    "within",
]

#: The word for the workload's own validation problems, in a configuration and in a result.
STANDARD = "standard"
#: What a validation asks for: that word, or extents by the names of modes in lower case.
Asked = str | Sequence[Mapping[str, int]]
#: A check holds the reference and the comparison in float64 beside each element of an output.
_TEMPORARIES = 8 * 20


def asked_problems(plan: Plan, asked: Asked) -> list[Problem]:
    """Return the problems that a validation asks for. KeyError for extents that lack one of the family's modes."""
    family = workload(plan.family)
    return family.problems(plan) if isinstance(asked, str) else listed(within(plan, asked), family.modes)


def beyond(plan: Plan, problem: Mapping[str, int]) -> str:
    """Say which limit of a plan a problem exceeds, "" where it exceeds none; extents are by modes in lower case."""
    extents = {mode.upper(): extent for mode, extent in problem.items()}
    limit = plan.exceeded(extents)
    if limit is not None:
        return f"{limit.count(extents)} {limit.what}, at most {limit.most}"
    packed = [x for x in plan.arguments if per_byte(x) > 1]
    odd = (x for x in packed if extents[x.contiguous] % per_byte(x))
    return next((f"{x.contiguous} = {extents[x.contiguous]} is odd: two of {x.name} share a byte" for x in odd), "")


def within(plan: Plan, problems: Iterable[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """Return the problems that a plan's kernel can be launched on."""
    return [problem for problem in problems if not beyond(plan, problem)]


def left_out(plans: Iterable[tuple[str, Plan]], problems: Iterable[Mapping[str, int]]) -> list[str]:
    """Say in sentences which problems are beyond the limits of which plans, which have names."""
    plans, told = list(plans), []
    for problem in problems:
        found: dict[str, list[str]] = {}
        for name, plan in plans:
            found.setdefault(beyond(plan, problem), []).append(name)
        extents = "x".join(str(extent) for extent in problem.values())
        for why, names in found.items():
            others = f" and {len(names) - 1} more" if len(names) > 1 else ""
            told += [f"{extents} is beyond the limits of {names[0]}{others}, and left out ({why})"] if why else []
    return told


def compared_problems(plan: Plan) -> list[Problem]:
    """Return the problems on which the device is compared with the emulator."""
    return [case.problem for case in workload(plan.family).compared(plan)]


def lacking(problems: Iterable[Problem], seen: Iterable[str]) -> list[str]:
    """Return the names of those problems that are not among the names `seen`, in order."""
    known = set(seen)
    return [problem.name for problem in problems if problem.name not in known]


def needed_bytes(plan: Plan, problem: Problem) -> int:
    """Return about how much memory a check of the problem takes."""
    extents, compared = problem.extents, _compared(plan, problem)
    tensors = [argument for argument in plan.arguments if argument.kind != "scalar"]
    held = sum(prod(shape_of(each, extents)) * dtype(each.dtype).bits for each in tensors) // 8
    outputs = [argument for argument in tensors if argument.role == "output"]
    return held + sum(prod(shape_of(each, compared)) * _TEMPORARIES for each in outputs)


def checked(plan: Plan, problem: Problem, repeats: int = 0) -> dict[str, int]:
    """Return what a problem that was right is told with: the elements that were compared and, with `repeats`, the
    launches; a comparison with the emulator has one, and leaves no element out."""
    extents = _compared(plan, problem) if repeats else problem.extents
    outputs = [argument for argument in plan.arguments if argument.role == "output"]
    counts = {"elements": sum(prod(shape_of(each, extents)) for each in outputs)}
    return {**counts, "launches": min(repeats, problem.repeats or repeats)} if repeats else counts


def _compared(plan: Plan, problem: Problem) -> dict[str, int]:
    """The extents of what is compared: of a large output a sample."""
    sample = workload(plan.family).sample(plan, problem)
    return {**problem.extents, sample.mode: len(sample.indices)} if sample else problem.extents
