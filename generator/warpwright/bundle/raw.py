"""What one line of a results file must be: the form of a result as run.py writes it, and that its parts agree.

`check_result` needs the line alone; `check_against` also the plan of the variant that it says it is for: the problems
that it names are those that were asked for, and its figures are what the writers' own functions make of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from warpwright.bundle.origin import Origin, check_names, check_time
from warpwright.device import bench, compare, validate
from warpwright.device.coverage import STANDARD, asked_problems, checked, compared_problems, needed_bytes
from warpwright.device.peers import peers_in, samples_of
from warpwright.device.problem import Problem
from warpwright.families import workload
from warpwright.frozen import Frozen
from warpwright.plan.types import Plan
from warpwright.protocols import LARGEST_RATIO, PROTOCOLS, current
from warpwright.record.forms import Count, Distances, Error, NotNegative, Positive, Some, Text, Timing, Validated
from warpwright.record.reading import ON_DEVICE
from warpwright.record.schema import check_figures, check_form, check_gpu, check_protocol
from warpwright.record.wrong import SchemaError

__all__ = ["NOT_RUN", "check_against", "check_header", "check_result", "is_older"]

#: The status of a result that says why there is no verdict.
NOT_RUN = "not_run"
#: Bytes that every GPU has: a problem that takes less is not skipped for want of memory, the one reason there is.
_ALWAYS_THERE = 2**28
_Head = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
_Extent = Annotated[int, Field(ge=0, lt=2**63)]


class _Raw(Origin):
    method: Text
    protocol: int
    status: Literal["correct", "incorrect", "launch_failed", "crash", "hang", "not_run"]
    diagnosis: str
    figures: dict[str, Any]
    gpu: dict[str, Any]
    time: str


class _Verdict(_Raw):
    problems: list[dict[str, Any]]
    judged_by: _Head | None = None


class _Comparison(_Raw):
    problems: list[dict[str, Any]]
    emulator: _Head


class _Timed(_Raw):
    problem: dict[Text, _Extent]
    samples: dict[Text, list[Positive]]


class _Header(Frozen):
    kind: Literal["header"]
    config: Text
    gpu: dict[str, Any]


class _Ran(Frozen):
    """One problem; its extents stand beside these, by the names of modes in lower case."""

    model_config = ConfigDict(extra="allow")

    name: Text
    fill: Text
    status: Literal["correct", "incorrect", "skipped"]
    faults: list[Text]

    def extents(self, path: str) -> dict[str, int]:
        return dict(check_form(_Extents, {"extents": self.model_extra}, path).extents)


class _Extents(Frozen):
    extents: dict[Annotated[str, Field(pattern="^[a-z]$")], _Extent]


class _Checked(_Ran):
    launches: Some
    elements: Count
    ratio: Error
    relative: Error
    seconds: NotNegative


class _Compared(_Ran, Distances):
    model_config = ConfigDict(extra="allow")

    elements: Count


_FORMS: Mapping[str, type[_Raw]] = {
    validate.METHOD: _Verdict,
    compare.METHOD: _Comparison,
    bench.METHOD: _Timed,
}
_PROBLEM_FORMS: Mapping[str, type[_Ran]] = {validate.METHOD: _Checked, compare.METHOD: _Compared}


def is_older(value: Mapping[str, Any]) -> bool:
    """Whether a result was written by an older version of its method than any that can be read: it says so itself."""
    method, protocol = value.get("method"), value.get("protocol")
    known = PROTOCOLS.get(method, ()) if isinstance(method, str) and method in ON_DEVICE else ()
    return bool(known) and type(protocol) is int and 1 <= protocol < min(known)


def check_header(value: Mapping[str, Any]) -> None:
    """Raise SchemaError unless `value` is the line with which a run of a bundle begins."""
    check_form(_Header, value, "")
    check_gpu(value["gpu"])


def check_result(value: Mapping[str, Any]) -> None:
    """Raise SchemaError unless `value` is a result as run.py writes it, whatever it is for."""
    method = value.get("method")
    if not isinstance(method, str) or method not in _FORMS:
        raise SchemaError("method", method, f"it is one of {', '.join(_FORMS)}")
    check_protocol(method, value.get("protocol"))
    found = check_form(_FORMS[method], value, "")
    check_names(value)
    check_gpu(value["gpu"], found.arch)
    check_time(found.time)
    if (found.status == "correct") != (found.diagnosis == ""):
        rule = f"there is one where, and only where, something failed: {found.status}"
        raise SchemaError("diagnosis", found.diagnosis, rule)
    if method == bench.METHOD:
        _check_timed(found)
        return
    if method == validate.METHOD and found.protocol == current(method) and not found.judged_by:
        raise SchemaError("judged_by", found.judged_by, "it must name the code that judged")
    if found.status != NOT_RUN:
        check_figures(method, found.status, value["figures"])
    _check_problems(method, found)


def _check_timed(found: Any) -> None:
    if found.status != "correct":
        for name in ("figures", "samples"):
            if getattr(found, name):
                raise SchemaError(name, getattr(found, name), f"what was not timed has none: {found.status}")
        return
    check_form(Timing, found.figures, "figures")
    check_figures(bench.METHOD, found.status, {"problems": [found.figures]})
    if found.figures["problem"] != found.problem:
        raise SchemaError("figures.problem", found.figures["problem"], f"the result is for {found.problem}")
    peers = [samples_of(number) for number, peer in enumerate(peers_in(found.figures)) if peer]
    known = {"cold_us", "sustained_us", *(name for names in peers for name in names)}
    if set(found.samples) != known:
        raise SchemaError("samples", sorted(found.samples), f"it has {', '.join(sorted(known))}")
    for name, samples in found.samples.items():
        if not samples and "sustained" not in name:
            raise SchemaError(f"samples.{name}", samples, "there is at least one")
    rounds = {name: len(samples) for name, samples in found.samples.items() if "sustained" not in name}
    few = min(rounds, key=lambda name: rounds[name])
    if rounds[few] != max(rounds.values()):
        rule = f"everything is launched once in each round, and some was {max(rounds.values())} times"
        raise SchemaError(f"samples.{few}", f"{rounds[few]} samples", rule)


def _check_problems(method: str, found: Any) -> None:
    """The parts are whole, each is told once, and together they come to the figures."""
    for number, problem in enumerate(found.problems):
        path = f"problems.{number}"
        skipped = problem.get("status") == "skipped"
        one = check_form(_Ran if skipped else _PROBLEM_FORMS[method], problem, path)
        one.extents(path)
        if (one.status == "correct") == bool(one.faults):
            raise SchemaError(f"{path}.faults", one.faults, f"there are some unless it is correct: {one.status}")
        if one.status == "correct" and (isinstance(one.ratio, str) or one.ratio > LARGEST_RATIO):
            raise SchemaError(f"{path}.ratio", one.ratio, "of what is correct no error exceeds its bound, 1")
        if any(other.get("name") == one.name for other in found.problems[:number]):
            raise SchemaError(f"{path}.name", one.name, "each problem is told once")
    if method == compare.METHOD:
        seconds = check_form(_Seconds, {"seconds": found.figures.get("seconds")}, "figures").seconds
        due = compare.figures(found.problems, seconds)
    else:
        told = check_form(Validated, found.figures, "figures")
        due = validate.figures(found.problems, told.asked or STANDARD, told.repeats, told.seed, told.seconds)
        if found.protocol < current(method):  # which did not name them
            due = {name: due[name] for name in due if name not in ("asked", "names")}
    _compare(found.figures, due, "figures", exact=True)


class _Seconds(Frozen):
    seconds: NotNegative


def check_against(value: Mapping[str, Any], plan: Plan, judges: Mapping[str, str]) -> None:
    """Raise SchemaError unless a result, which `check_result` let pass, can be one of this plan's.

    `judges` are the digests of the code that judges here now, by method: what other code asked for is not known here.
    """
    modes = {mode.lower() for mode in workload(plan.family).modes}
    method = value["method"]
    if method == bench.METHOD:
        if set(value["problem"]) != modes:
            raise SchemaError("problem", value["problem"], f"a problem has the extents {', '.join(sorted(modes))}")
        if value["status"] == "correct":
            _compare(value["figures"], _timing(value, plan), "figures")
        return
    judge, asked = _judge(value), value["figures"].get("asked")
    for number, wanted in enumerate(asked if isinstance(asked, list) else ()):
        if set(wanted) != modes:
            raise SchemaError(f"figures.asked.{number}", wanted, f"a problem has {', '.join(sorted(modes))}")
    known = _known(value, plan) if judge and judges.get(method) == judge else None
    for number, told in enumerate(value["problems"]):
        path = f"problems.{number}"
        extents = {name: each for name, each in told.items() if len(name) == 1}
        if set(extents) != modes:
            raise SchemaError(path, extents, f"a problem has the extents {', '.join(sorted(modes))}")
        if known is None:
            continue
        problem = known.get(told["name"])
        if problem is None:
            raise SchemaError(f"{path}.name", told["name"], "no problem that was asked for is called so")
        due = problem.figures()
        if due != {name: told[name] for name in due}:
            raise SchemaError(path, {name: told[name] for name in due}, f"of that name, this was asked for: {due}")
        counts = checked(plan, problem, method == validate.METHOD and value["figures"]["repeats"])
        for name in [each for each in counts if told["status"] == "correct" and told[each] != counts[each]]:
            raise SchemaError(f"{path}.{name}", told[name], f"of this problem, asked for so, it is {counts[name]}")
        if told["status"] == "skipped" and method == validate.METHOD and needed_bytes(plan, problem) < _ALWAYS_THERE:
            rule = f"a GPU's memory does not hold what is skipped; this takes {needed_bytes(plan, problem)} B"
            raise SchemaError(f"{path}.status", "skipped", rule)


def _judge(value: Mapping[str, Any]) -> Any:
    return value.get("judged_by" if value["method"] == validate.METHOD else "emulator")


def _known(value: Mapping[str, Any], plan: Plan) -> dict[str, Problem]:
    """The problems that a result can be of, by name."""
    compares, asked = value["method"] == compare.METHOD, value["figures"].get("asked", STANDARD)
    problems = compared_problems(plan) if compares else asked_problems(plan, asked)
    return {problem.name: problem for problem in problems}


def _timing(value: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """What the samples come to."""
    told, names = value["figures"], [peer["name"] if peer else "" for peer in peers_in(value["figures"])]
    return bench.figures(plan, value["problem"], value["samples"], told["clocks"], names, told.get("shared", ""))


def _compare(told: Any, due: Any, path: str, exact: bool = False) -> None:
    """Raise SchemaError where figures are not what they should come to; medians to the last digit that is written."""
    if isinstance(due, list) and isinstance(told, list) and all(isinstance(each, dict) for each in due):
        told, due = (dict(enumerate(each)) for each in (told, due))
    if isinstance(due, dict) and isinstance(told, dict):
        if set(told) != set(due):
            raise SchemaError(path, sorted(set(told) ^ set(due)), "these are told or due, and not both")
        for name in due:
            _compare(told[name], due[name], f"{path}.{name}", exact)
        return
    near = told == due
    if not exact and isinstance(due, float) and isinstance(told, (int, float)):
        near = math.isclose(told, due, rel_tol=1e-5, abs_tol=1.01e-3 if "_us." in path else 1.01e-4)
    if not near:
        raise SchemaError(path, told, f"the parts of the result come to {due!r}")
