"""A timeline of one CTA as Chrome trace JSON (chrome://tracing, ui.perfetto.dev): the pipeline filling and draining.

Times are modelled clocks, shown as microseconds (one clock is 1 us there). The model knows the latency and rate of
TMA and the rate of the tensor cores, and counts an instruction of a warp as a clock: it shows who waits for whom and
which stage is full when, not how long a kernel takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.canonical import canonical_json
from warpwright.device.problem import Case
from warpwright.emulate import program
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.variant import coverage
from warpwright.emulate.variant.harness import Subject
from warpwright.emulate.variant.names import offset_names, role_names
from warpwright.emulate.variant.tensor_maps import mapped
from warpwright.emulate.variant.verdict import Verdict, weigh
from warpwright.families import workload as family_workload
from warpwright.plan.types import KernelPlan, Plan
from warpwright.record.atomic import write_text

__all__ = ["Traced", "chrome_trace", "write_trace"]

_WARPS, _TENSOR_CORES, _STAGES = 1, 2, 3
#: What every event of a timeline has.
_COMMON = ("kind", "cta", "warp", "line", "start", "end")
_GROUPS = {_WARPS: "warps", _TENSOR_CORES: "tensor cores", _STAGES: "shared memory"}


@dataclass(frozen=True)
class Traced:
    """What was run for a timeline, how many events of each kind are in it, and what this one run says of the kernel."""

    case: str
    events: Mapping[str, int]
    verdict: Verdict


def write_trace(subject: Subject, path: Path, case_name: str = "") -> Traced:
    """Run one case of a variant once, by default that of most work, and write the main kernel's first CTA's timeline.

    A run that came to no end has a timeline up to there. Raises EmulatorError where the kernel cannot be emulated,
    OSError where `path` cannot be written.
    """
    workload, cases = family_workload(subject.plan.family), subject.cases()

    def work(case: Case) -> tuple[int, int]:
        found = workload.work(subject.plan, case.problem.extents)
        return found.flop, found.bytes

    # Where only some clusters run, what they do is a small part of the problem's work.
    chosen = [case for case in cases if (case_name == "" and not case.only) or case.problem.name == case_name]
    case = max(chosen, key=work)
    programs = [program(subject.module, entry.name) for entry in subject.entries]
    coverage.begin(programs)
    prepared = subject.prepare(case)
    outcome = prepared.run(subject.module, case.seeds[0], subject.options_for(case, trace=True))
    main = outcome.results[0].timeline if outcome.results else ()
    timeline = [event for event in main if tuple(event["cta"]) == (0, 0, 0)]
    write_text(path, canonical_json(chrome_trace(subject.plan, timeline, subject.entries[0].maps)) + "\n")
    events = {kind: sum(e["kind"] == kind for e in timeline) for kind in ("wait", "load", "mma", "store")}
    verdict = weigh([outcome], sorted(set(prepared.differences)), coverage.measure(programs), 0.0)
    return Traced(case.problem.name, events, verdict)


def chrome_trace(plan: Plan, timeline: Iterable[dict[str, Any]], parameters: Sequence[int]) -> dict[str, Any]:
    """Return the trace: one track per warp, per consumer's tensor-core work, and per stage that TMA fills or drains.

    `parameters` are the kernel parameters that are tensor maps, in the order of the plan's copies.
    """
    name_of, role_of = offset_names(plan.main), role_names(plan.main)
    tensors = dict(zip(parameters, mapped(plan.main), strict=True))
    tracks: dict[tuple[int, str], list[dict[str, Any]]] = {}

    def add(
        group: int, track: str, title: str, event: dict[str, Any], length: int, facts: Mapping[str, object]
    ) -> None:
        args = {"PTX line": event["line"], **{key: str(value) for key, value in facts.items()}}
        tracks.setdefault((group, track), []).append(
            {"name": title, "cat": event["kind"], "ph": "X", "ts": event["start"], "dur": length, "args": args}
        )

    for each in timeline:
        length = max(each["end"] - each["start"], 0)
        warp = f"warp {each['warp']}: {role_of(each['warp']) or 'no role'}"
        if each["kind"] == "wait":
            phase = {"phase": each["phase"]} if "phase" in each else {}
            add(_WARPS, warp, f"wait {_awaited(plan.main, each)}", each, length, phase)
        elif each["kind"] == "mma":
            facts = {key: value for key, value in each.items() if key not in _COMMON}
            add(_TENSOR_CORES, role_of(each["warp"]), "mma", each, length, facts)
        else:
            what = tensors[each["parameter"]].tensor if "parameter" in each else f"{each['bytes']} bytes"
            title, facts = f"{each['kind']} {what}", {key: each[key] for key in ("coordinates",) if key in each}
            add(_WARPS, warp, f"issue {title}", each, 1, facts)
            add(_STAGES, name_of(each["offset"] - RESERVED), title, each, length, facts)
    events = []
    for group, title in _GROUPS.items():
        events.append({"name": "process_name", "ph": "M", "pid": group, "args": {"name": title}})
    for number, (group, track) in enumerate(sorted(tracks, key=_natural)):
        place = {"pid": group, "tid": number}
        events.append({"name": "thread_name", "ph": "M", **place, "args": {"name": track}})
        events.append({"name": "thread_sort_index", "ph": "M", **place, "args": {"sort_index": number}})
        slices = sorted(tracks[group, track], key=lambda event: event["ts"])
        for event, after in zip(slices, [*slices[1:], None], strict=True):
            # Slices of a track must not overlap; a store has read its stage long before it has arrived.
            length = event["dur"] if after is None else min(event["dur"], after["ts"] - event["ts"])
            events.append({**event, **place, "dur": length})
    return {"traceEvents": events, "otherData": {"kernel": plan.label, "unit": "1 us is one modelled clock"}}


def _awaited(kernel: KernelPlan, wait: dict[str, Any]) -> str:
    """What a warp waited for, in the plan's words."""
    if wait["what"] == "mbarrier":
        return offset_names(kernel)(wait["offset"] - RESERVED)
    if wait["what"] == "named":
        named = [barrier.name for barrier in kernel.barriers if wait["barrier"] in barrier.ids]
        return f"{named[0] if named else 'barrier'} {wait['barrier']}"
    return str(wait["what"])


def _natural(track: tuple[int, str]) -> tuple[int, list[tuple[int, str]]]:
    """Order by group, then by name with its numbers as numbers."""
    return track[0], [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", track[1])]
