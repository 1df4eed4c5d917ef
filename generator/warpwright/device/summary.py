"""What a run of a bundle says at its end: a line per variant, and what was timed side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from warpwright.device import times
from warpwright.device.problem import size_text
from warpwright.device.variant import Variant
from warpwright.families import workload

__all__ = ["summary", "timed"]


def summary(
    variants: Sequence[Variant], verdicts: Sequence[Mapping[str, Any]], timings: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """One line per variant: verdict, largest error as a part of its bound, and per problem speed and ratio."""
    by_name = {result["variant"]: result for result in verdicts}
    width = max(len(v.name) for v in variants)
    yield f"\n{'variant':{width}}  status         error/bound  relative  " + "speed (x vendor)"
    for variant in variants:
        verdict = by_name.get(variant.name, {"status": "", "figures": {"ratio": "", "relative": ""}})
        error, relative = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in _pair(verdict["figures"]))
        own = [result for result in timings if result["variant"] == variant.name]
        yield f"{variant.name:{width}}  {verdict['status']:13}  {error:>11}  {relative:>8}  " + "  ".join(
            _timing(result, workload(variant.plan.family).modes) for result in own
        )


def timed(variants: Sequence[Variant], timings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Median, p95 and p99 of every variant and of what it was timed beside, and how each stands to every other."""
    by_name = {variant.name: variant for variant in variants}
    found = [times.Timed(r["variant"], by_name[r["variant"]].plan, r["figures"]) for r in timings if r["figures"]]
    for table in times.tables(found, workload(variants[0].plan.family).modes):
        yield "\n".join(["", table.problem, *table.lines()])


def _pair(figures: Mapping[str, Any]) -> tuple[Any, Any]:
    return figures["ratio"], figures["relative"]


def _timing(result: Mapping[str, Any], modes: Sequence[str]) -> str:
    extents = size_text(result["problem"], modes)
    figures = result["figures"]
    if not figures:
        return f"{extents}: {result['status']}"
    peer = f" ({figures['peer']['ratio']:.3f})" if "peer" in figures else ""
    return f"{extents}: {figures['speed']} {figures['rate']}{peer}{' shared' if figures.get('shared') else ''}"
