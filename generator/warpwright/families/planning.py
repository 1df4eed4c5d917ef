"""What a kernel family is: everything that the chain must be told about a kind of kernel.

A family is one package, `families/<name>/`, with two faces. `family.FAMILY` speaks to the machine that plans and
renders: models, rules, plan, template words, prediction. `workload.WORKLOAD` speaks to whoever runs a kernel, emulated
or on a GPU: problems, inputs, reference, work, peer; it imports numpy at most, since it travels in bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from warpwright.archs import H200, Arch, Device
from warpwright.frozen import Frozen
from warpwright.plan.phases import Phases
from warpwright.plan.prediction import Prediction
from warpwright.plan.rule import Rule
from warpwright.plan.step import Step
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["Conflict", "Contrast", "Family", "Target", "always", "never"]


@dataclass(frozen=True)
class Conflict:
    """Two fields of a kernel that contradict each other: `field` (dotted) has `value`, and `nearest` would do.

    `predicate` is what `where` may say to drop such points of a sweep.
    """

    field: str
    value: str
    rule: str
    nearest: str
    predicate: str


class Predict(Protocol):
    """Predicts a legal plan's time for a problem's extents, by the names of modes ({"M": 4096, ...})."""

    def __call__(self, plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Prediction: ...


class SplitIntoPhases(Protocol):
    """Tells what loading and computing a stage take, in the terms of the same target's prediction; None of a plan whose
    warps all do the same."""

    def __call__(self, plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Phases | None: ...


def always(plan: Plan) -> bool:
    """Of every plan."""
    return True


def never(plan: Plan) -> bool:
    """Of no plan."""
    return False


@dataclass(frozen=True)
class Target:
    """A family on one arch.

    rules: in the order of evaluation. plan: of one point; an illegal one gives a plan whose `violations` say why.
    words: what the template needs beside the plan itself, read off the plan alone.
    resolved: what each choice that a design may leave to the plan (`auto`) became, by its path in a file
    (`design.stages`); of a subtree a mapping, or the word that stands for it.
    phases: what `advise` asks; without it, it knows of a kernel's time and nothing of its phases.
    instrumented: whether a plan's kernel can be rendered as an instrumented twin (lib/marks.py.j2).
    """

    arch: Arch
    template: str  # path below templates/
    rules: tuple[Rule[Any], ...]
    plan: Callable[[Point], Plan]
    words: Callable[[Plan], Mapping[str, object]]
    predict: Predict
    resolved: Callable[[Plan], Mapping[str, Any]]
    phases: SplitIntoPhases | None = None
    instrumented: Callable[[Plan], bool] = never

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", _once(self.plan))


#: As many as a sweep may have.
_KEPT = 10_000


def _once(plan: Callable[[Point], Plan]) -> Callable[[Point], Plan]:
    """Plan each point once: `where` asks what `auto` became, and then the exploration plans the same points."""
    known: dict[int, tuple[Point, Plan]] = {}  # a point that is kept here keeps its number

    def planned(point: Point) -> Plan:
        found = known.get(id(point))
        if found is None:
            if len(known) >= _KEPT:
                known.clear()
            found = known[id(point)] = point, plan(point)
        return found[1]

    return planned


def _no_conflict(kernel: Any) -> None:
    return None


@dataclass(frozen=True)
class Contrast:
    """The same work as two kernels on two streams, beside a family's own (`warpwright ladder --contrast`).

    reads: whether a plan is the kernel that is timed so. configuration: a shipped one with the kernel that makes what
    that reads; makes(plan, reader): whether a plan is it. argument: of the reader, what is made, cut along `mode` into
    chunks of multiples of unit(plan). scalars: the maker's, with which it only converts.
    """

    configuration: str
    reads: Callable[[Plan], bool]
    makes: Callable[[Plan, Plan], bool]
    argument: str
    mode: str
    unit: Callable[[Plan], int]
    scalars: Mapping[str, float] = field(default_factory=dict)


def _no_step(plan: Plan) -> Step | None:
    return None


@dataclass(frozen=True)
class Family:
    """A kind of kernel. The models are those of a YAML file; a problem's fields are the modes' names in lower case.

    conflict: why no arch could ever have a kernel, where its fields contradict each other: a mistake of the file.
    stands_on: other families of which this one uses parts: no further one may be imported.
    step: what a variant is, where a configuration is a sequence of steps; None where it is none.
    contrast: two kernels for the work of one, where that is shown beside the steps.
    known_as: what the family is called elsewhere, in lower case. elsewhere: keys of other tools, in lower case, and the
    field that they are here (`design.stages`), or a sentence that says why there is none. values: by the last key of a
    field, words of other tools that are no choice of it, in lower case, and a sentence that says what is.
    """

    name: str
    kernel: type[Frozen]
    design: type[Frozen]
    problem: type[Frozen]
    bench: tuple[Frozen, ...]  # problems that are timed where a file names none
    starter: str  # a commented YAML file that loads as it stands
    targets: Mapping[str, Target]
    conflict: Callable[[Any], Conflict | None] = _no_conflict
    stands_on: tuple[str, ...] = ()
    step: Callable[[Plan], Step | None] = _no_step
    contrast: Contrast | None = None
    known_as: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.bench or not self.targets:
            raise ValueError(f"the family {self.name} needs a problem to be timed, and a target")
