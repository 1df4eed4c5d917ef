"""What is advised of one plan, as the plain text that `warpwright advise VARIANT` prints."""

from __future__ import annotations

from warpwright import archs
from warpwright.archs import Device
from warpwright.device.problem import size_text
from warpwright.families import workload
from warpwright.plan import tables
from warpwright.plan.advice import Advice
from warpwright.plan.phases import Phases
from warpwright.plan.prediction import time_text
from warpwright.plan.types import Plan

__all__ = ["advice_text"]


def advice_text(plan: Plan, advice: Advice, device: Device | None = None) -> str:
    """Return the verdict, its reasons, the phases of a stage and the alternatives, as plain text."""
    device = device or archs.device(plan.arch)
    modes = workload(plan.family).modes
    size = size_text({mode.lower(): extent for mode, extent in advice.extents.items()}, modes)
    size = f"{modes[0]} = {size}" if len(modes) == 1 else size
    sections = [f"{advice.label}, {size}, {device.described}", advice.verdict[:1].upper() + advice.verdict[1:]]
    if advice.reasons:
        sections.append("Reasons\n" + "\n".join(f"    {reason}" for reason in advice.reasons))
    if advice.phases is not None:
        clock = advice.phases.clock(device) / 1e9
        stage = f"Phases of one stage ({advice.phases.stage}), in clocks of an SM at {clock:.3g} GHz"
        sections.append(f"{stage}\n{_phases(advice, advice.phases, device)}")
        sections.append(f"Alternatives, as predicted\n{_alternatives(advice, advice.phases)}")
    return "\n\n".join(sections) + "\n"


def _phases(advice: Advice, phases: Phases, device: Device) -> str:
    rows = [("clocks", "phase", "term")]
    rows += [(f"{clocks:.0f}", "load", term) for term, clocks in advice.load.items()]
    rows += [(f"{clocks:.0f}", "compute", term) for term, clocks in advice.compute.items()]
    rows += [(f"{clocks:.0f}", "both", term) for term, clocks in phases.both_terms(device).items()]
    waiting = phases.waiting(phases.stages, phases.resident)
    rows.append((f"{waiting:.0f}", "load", f"latency, of {phases.latency:.0f}, with all stages on their way"))
    return tables.text_table(rows)


def _alternatives(advice: Advice, phases: Phases) -> str:
    rows = [("time", "gain", "CTAs per SM", "shared memory", "what")]
    planned = f"as planned: {phases.stages} stages"
    rows.append((time_text(advice.predicted.seconds), "", str(phases.resident), f"{advice.shared_bytes:,} B", planned))
    for way in advice.alternatives:
        gain = f"{way.gain:+.1%}"
        rows.append((time_text(way.seconds), gain, str(way.resident), f"{way.shared_bytes:,} B", way.name))
    return tables.text_table(rows)
