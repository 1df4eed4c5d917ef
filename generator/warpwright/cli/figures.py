"""What the evidence of each method comes to, a line or two of figures, for `show`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.cli.results import format_seconds
from warpwright.cli.terminal import count
from warpwright.device.problem import size_text
from warpwright.record import Evidence

__all__ = ["figure_lines"]


def figure_lines(evidence: Evidence, modes: Sequence[str]) -> list[str]:
    """Return what a result says in figures: what was run, and how near to the bound of the error it came.

    `modes` are those of the family's problems, in the order in which people name them.
    """
    figures = evidence.figures
    if evidence.method == "built":
        return [_built(figures)] if figures.get("registers") is not None else []
    if evidence.method == "emulated":
        problems = figures.get("problems", ())
        runs = f"{count(len(problems), 'problem')}, {count(figures.get('runs', 0), 'run')} over "
        return [runs + count(figures.get("seeds", 0), "schedule seed") + _worst(figures)]
    if evidence.method == "gpu-validated":
        skipped = figures.get("skipped")
        left_out = f" ({skipped if isinstance(skipped, int) else len(skipped)} skipped)" if skipped else ""
        repeats = figures.get("repeats")
        times = f", {count(repeats, 'repeat')} each" if isinstance(repeats, int) else ""
        return [count(figures.get("problems", 0), "problem") + left_out + times + _worst(figures)]
    if evidence.method == "compared":
        return [_comparison(name, case) for name, case in figures.get("cases", {}).items()]
    if evidence.method == "benchmarked":
        return [_timing(problem, modes) for problem in figures.get("problems", ())]
    return []


def _built(figures: Mapping[str, Any]) -> str:
    return f"{figures['registers']} registers, {figures.get('spill_bytes') or 0} B of spills"


def _worst(figures: Mapping[str, Any]) -> str:
    ratio = figures.get("ratio")
    return "" if ratio is None else f"; error at most {ratio} of its bound"


def _comparison(name: str, case: Mapping[str, Any]) -> str:
    if case["equal"] == 1:
        return f"{name}: equal to the emulator's output bit by bit"
    return (
        f"{name}: {case['equal']:.2%} equal to the emulator's output bit by bit, off by {case['difference']} at most: "
        f"{case['ulps']} ulp, {case['ratio']} of what the error bounds allow"
    )


def _timing(figures: Mapping[str, Any], modes: Sequence[str]) -> str:
    from warpwright.device.peers import peers_in

    cold, peers = figures["cold_us"], [peer for peer in peers_in(figures) if peer]
    against = "".join(f", {p['ratio']:.3f} of {p['name']}" + (" (a tie)" if p["tie"] else "") for p in peers)
    spread = ", ".join(f"{name} {format_seconds(cold[name] * 1e-6)}" for name in ("p5", "p95", "p99"))
    extents = size_text(figures["problem"], modes)
    median = format_seconds(cold["median"] * 1e-6)
    others = f"; not alone on the GPU: {figures['shared']}" if figures.get("shared") else ""
    return f"{extents}: {median} ({spread}), {figures['speed']} {figures['rate']}{against}{others}"
