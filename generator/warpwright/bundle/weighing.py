"""What the runs of one method say together about a variant's present build.

Of the runs for the present source, cubin and arch that the newest version of the method obtained and the code at hand
judged, the worst verdict counts, and of equal ones the latest: a race that showed once is a race, however often the
kernel was right before or after. `correct` moreover takes runs that together cover every problem that was asked for;
until they do, they are kept, and the status says that it is none: partial. Timings are the latest of each problem that
were alone on their GPU, where there are such. What stands together is of one model of GPU, whose name stands above it:
of timings that which has most problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from warpwright.canonical import canonical_json
from warpwright.device import bench, compare, validate
from warpwright.device.coverage import STANDARD, Asked, asked_problems, compared_problems, lacking
from warpwright.plan.types import Plan
from warpwright.record import STATUSES
from warpwright.record.wrong import PARTIAL

__all__ = ["weigh"]

#: What of a run stands at the top of the file beside status and figures.
_TOP = (
    "method", "protocol", "source_sha", "cubin_sha", "arch", "toolchain", "gpu", "time", "diagnosis", "emulator",
    "judged_by",
)  # fmt: skip
_SUBJECT = ("source_sha", "cubin_sha", "arch")
#: Names that a message lists.
_LISTED = 5
Run = Mapping[str, Any]


def weigh(runs: Sequence[Run], build: Mapping[str, Any], plan: Plan, judge: str) -> dict[str, Any]:
    """Return status, figures and origin, as they stand at the top of a method's file.

    `runs` are of one method, in the order of time, at least one of them for the present build; `judge` is the digest
    of the code that judges now. Where it judged none of them, those count that the code of the latest judged.
    """
    present = [run for run in runs if all(run.get(key) == build.get(key) for key in _SUBJECT)]
    newest = max(run["protocol"] for run in present)
    present = [run for run in present if run["protocol"] == newest]
    mine = [run for run in present if _judge(run) == judge]
    present = mine or [run for run in present if _judge(run) == _judge(present[-1])]
    if present[0]["method"] == bench.METHOD:
        # What was not alone on its GPU first, so that it gives way; otherwise by time.
        runs = sorted(present, key=lambda run: not run["figures"].get("shared"))
        latest, others = _latest(runs)
        worst = _worst([*others, *latest])
        top = worst if worst["status"] != "correct" else latest[-1]
        return _top(top, {"problems": [run["figures"] for run in latest if run["figures"]]})
    worst, number = _worst(present), {"runs": len(present)}
    if worst["status"] != "correct":
        return _top(worst, {**worst["figures"], **number})
    for run in reversed(present):
        if not _missing(run, [run], plan):
            return _top(run, {**run["figures"], **number})
    for run in reversed(present):
        if not _missing(run, _alike(run, present), plan):
            return _top(run, {**_together(run, _alike(run, present)), **number})
    # The standard problems are what most people mean: what is missing of these is told, where anyone asked for them.
    partial = next((run for run in reversed(present) if _asked(run) == STANDARD), present[-1])
    missing = _missing(partial, _alike(partial, present), plan)
    names = ", ".join(missing[:_LISTED]) + (f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else "")
    told = _top(partial, {**_together(partial, _alike(partial, present)), **number})
    return {**told, "status": PARTIAL, "diagnosis": f"of the problems asked for, {len(missing)} were not run: {names}"}


def _alike(run: Run, runs: Iterable[Run]) -> list[Run]:
    """Those of the runs that are of the same model of GPU."""
    return [each for each in runs if each["gpu"]["gpu"] == run["gpu"]["gpu"]]


def _latest(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The last of each problem, of the model of GPU that has most problems, and of equal ones has the last run; and
    those of the other models."""
    found: dict[str, dict[str, Run]] = {}
    for run in runs:
        found.setdefault(run["gpu"]["gpu"], {})[canonical_json(run["problem"])] = run
    last = {run["gpu"]["gpu"]: number for number, run in enumerate(runs)}
    chosen = max(found, key=lambda gpu: (len(found[gpu]), last[gpu]))
    return list(found.pop(chosen).values()), [run for each in found.values() for run in each.values()]


def _missing(run: Run, runs: Iterable[Run], plan: Plan) -> list[str]:
    """What of the problems that `run` was asked for none of `runs` has found right, or could not hold in memory."""
    problems = compared_problems(plan) if run["method"] == compare.METHOD else asked_problems(plan, _asked(run))
    return lacking(problems, (problem["name"] for each in runs for problem in each["problems"]))


def _together(run: Run, runs: Iterable[Run]) -> dict[str, Any]:
    """Figures of the latest of each problem, as if one run had had them all, with as many repeats as the one that had
    fewest; a problem that was right stays so."""
    latest: dict[str, Mapping[str, Any]] = {}
    repeats: dict[str, int] = {}
    seconds = 0.0
    for each in runs:
        seconds += each["figures"]["seconds"]
        for problem in each["problems"]:
            if problem["status"] == "correct" or problem["name"] not in latest:
                latest[problem["name"]] = problem
                repeats[problem["name"]] = each["figures"].get("repeats", 0)
    if run["method"] == compare.METHOD:
        return compare.figures(list(latest.values()), seconds)
    told = run["figures"]
    return validate.figures(list(latest.values()), _asked(run), min(repeats.values(), default=1), told["seed"], seconds)


def _asked(run: Run) -> Asked:
    asked: Asked = run["figures"].get("asked", STANDARD)
    return asked


def _judge(run: Run) -> Any:
    """The digest of the code that judged; times are judged by none."""
    return run.get("judged_by") if run["method"] == validate.METHOD else run.get("emulator")


def _worst(runs: Sequence[Run]) -> Run:
    return min(reversed(runs), key=lambda run: STATUSES.index(run["status"]))


def _top(run: Run, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": run["status"], **{key: run[key] for key in _TOP if key in run}, "figures": dict(figures)}
