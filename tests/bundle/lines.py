"""Lines of a results file as run.py writes them for a folder's build, made by the writers' own functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.device.plans import make_plan
from tests.record.figures import GPU
from warpwright.device import bench, compare, validate
from warpwright.device.coverage import STANDARD, Asked, asked_problems, checked, compared_problems
from warpwright.device.problem import Problem
from warpwright.pipeline.standards import standards_of
from warpwright.plan.stored import plan_from_json
from warpwright.plan.types import Limit, Plan
from warpwright.protocols import current
from warpwright.record import read_json

__all__ = ["compared", "counted_plan", "header", "result", "timed", "validated"]


def counted_plan() -> Plan:
    """A small plan that says, as a planner's does, how many of its tiles can be counted."""
    most = 2**31 - 1
    each = [Limit(f"along {mode}", ((mode, 1),), most) for mode in "MNK"]
    return replace(make_plan(), limits=(*each, Limit("tiles of 16 x 8", (("M", 16), ("N", 8), ("L", 1)), most)))


def stored(folder: Path, name: str) -> dict[str, Any]:
    return read_json(folder / name) or {}


def header(**changes: Any) -> dict[str, Any]:
    return {"kind": "header", "config": "demo", "gpu": GPU, **changes}


def result(folder: Path, method: str, status: str, parts: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """What every result says; `parts` are the method's own."""
    build = stored(folder, "build.json")
    return {
        **{key: build[key] for key in ("source_sha", "cubin_sha", "arch", "toolchain")},
        "library_sha": build["files"]["kernel.so"],
        "config": folder.parent.name,
        "variant": folder.name,
        "method": method,
        "protocol": current(method),
        "status": status,
        "diagnosis": "" if status == "correct" else "it was seen to fail",
        "gpu": dict(GPU),
        "time": "2026-11-29T12:00:00Z",
        **parts,
        **changes,
    }


def judge(folder: Path, method: str) -> str:
    return standards_of(stored(folder, "plan.json"))[method].code


def _checked(plan: Plan, problem: Problem, status: str, repeats: int) -> dict[str, Any]:
    if status == "skipped":
        return {**problem.figures(), "status": status, "faults": ["needs 40.0 GiB, the device has 22.0 GiB free"]}
    faults = ["launch 0: input a or its guard band was overwritten"] if status == "incorrect" else []
    ran = {**checked(plan, problem, repeats), "ratio": 0.75, "relative": 0.00125, "seconds": 0.0123}
    return {**problem.figures(), "status": status, "faults": faults, **ran}


def validated(
    folder: Path,
    status: str = "correct",
    asked: Asked = STANDARD,
    names: Sequence[str] | None = None,
    statuses: Mapping[str, str] = {},
    repeats: int = 3,
    **changes: Any,
) -> dict[str, Any]:
    """A verdict on those of the problems that are among `names`, all of them without; `statuses` of single ones."""
    plan = plan_from_json(stored(folder, "plan.json"))
    asked_for = asked_problems(plan, asked)
    names = [problem.name for problem in asked_for] if names is None else names
    if status == "incorrect" and not statuses:
        statuses = {names[0]: "incorrect"}
    problems = [_checked(plan, p, statuses.get(p.name, "correct"), repeats) for p in asked_for if p.name in names]
    parts = {
        "judged_by": judge(folder, validate.METHOD),
        "figures": validate.figures(problems, asked, repeats, 3772408819, 4.84),
        "problems": problems,
    }
    return result(folder, validate.METHOD, status, parts, **changes)


def compared(
    folder: Path, status: str = "correct", names: Sequence[str] | None = None, **changes: Any
) -> dict[str, Any]:
    """A comparison on those of the cases that are among `names`, all of them without."""
    plan = plan_from_json(stored(folder, "plan.json"))
    distances = dict.fromkeys(("relative", "ulps", "ratio", "device", "emulator"), 0.25)
    problems = [
        {
            **problem.figures(),
            "status": "correct" if number or status != "incorrect" else "incorrect",
            "faults": [] if number or status != "incorrect" else ["7 of 4355 elements differ"],
            **checked(plan, problem),
            "equal": 0.5,
            "difference": 0.125 + number,
            **distances,
        }
        for number, problem in enumerate(p for p in compared_problems(plan) if names is None or p.name in names)
    ]
    parts = {
        "emulator": judge(folder, compare.METHOD),
        "figures": compare.figures(problems, 0.46),
        "problems": problems,
    }
    return result(folder, compare.METHOD, status, parts, **changes)


def timed(
    folder: Path,
    status: str = "correct",
    m: int = 4096,
    cold: float = 190.0,
    peer: str = "torch.mm(out=)",
    copy: str = "",
    shared: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """A time of one problem."""
    plan, peers = plan_from_json(stored(folder, "plan.json")), [peer, *([copy] if copy else [])]
    problem = {"m": m, "n": 4096, "k": 4096, "l": 1}
    samples = {"cold_us": [round(cold + i / 8, 3) for i in range(50)], "sustained_us": [231.5, 230.25, 229.125]}
    if peer:
        samples |= {"peer_cold_us": [180.0 + i / 16 for i in range(50)], "peer_sustained_us": [209.5, 210.25]}
        samples["peer_again_us"] = [180.25 + i / 16 for i in range(50)]
    if copy:
        samples |= {"peer2_cold_us": [90.0 + i / 16 for i in range(50)], "peer2_sustained_us": [95.25, 95.5]}
        samples["peer2_again_us"] = [90.25 + i / 16 for i in range(50)]
    parts: dict[str, Any] = {"problem": problem, "samples": {}, "figures": {}}
    if status == "correct":
        parts |= {
            "samples": samples,
            "figures": bench.figures(plan, problem, samples, [{"clocks_sm": 1545.0}], peers, shared),
        }
    return result(folder, bench.METHOD, status, parts, **changes)
