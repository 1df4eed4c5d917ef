"""What producers and consumers of a normalisation do per row, in the prediction's own terms (prediction.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.norm_act.models import Design, Kernel
from warpwright.families.norm_act.sm_90a import prediction
from warpwright.families.norm_act.sm_90a.planner import plan as plan_of
from warpwright.families.norm_act.sm_90a.solution import LANES, OVERHEAD, WARPGROUP
from warpwright.families.norm_act.workload.design import NormDesign, chunk, loads_of_row, walks
from warpwright.plan.phases import Phases, Way
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["phases"]

#: CTAs on an SM, of which the fastest that fits is what a kernel without specialised warps is taken for.
_CTAS = (1, 2, 3, 4, 5, 6, 8)
#: CTAs that share a row.
_SHARED = (1, 2, 4, 8)
#: Rows of a group: where it has more than one, they are all on their way at once.
_ROWS = (1, 2, 3, 4)


def phases(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Phases | None:
    """Return the phases of a legal plan for M rows of N elements, None where all warps do the same.

    A stage is a row. With bulk copies loading takes L2, and the thread that issues them; where producers normalise, it
    takes them. Whoever has a row has it for so long: more warps, with more rows at once, are quicker, as far as the
    instructions of an SM allow. Raises ValueError for an illegal plan.
    """
    predicted = prediction.predict(plan, extents, device)
    d: NormDesign = plan.design
    if d.specialise == "none":
        return None
    m, n = extents["M"], extents["N"]
    x, y = (dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")
    read, written = n * x * (2 if plan.kernel["residual"] else 1), n * y
    rows, ctas, rounds = (predicted.counts[noun] for noun in ("row", "CTA", "round"))
    sharing = max(1, -(-ctas // device.sms))
    # Of a row that registers do not hold a stage is a chunk; it is loaded once, or for each walk over it.
    long, parts = d.long, max(1, loads_of_row(plan, n))
    clocks = {term: clocks / parts for term, clocks in predicted.clocks.items()}
    read_of_stage, moved_of_stage = read * walks(plan) / parts, (read * walks(plan) + written) / parts
    elements = chunk(plan)
    by_copies = d.specialise == "tma"
    side, work = ("groups", "issue of loads") if by_copies else ("consumers", "producers")
    loaders = d.producer_groups if by_copies else d.producer_warps  # of a warp that issues copies, one thread does
    load = {"L2": read_of_stage / device.l2_bytes_per_clock, work: clocks[work]}
    held, most = -(-n // elements) - 1 if d.row == "shared" else 0, max(1, rounds * parts)
    queued = prediction.CLOCK * moved_of_stage / prediction.LOADED_RATE
    latency = max(0.0, clocks["load latency"] - queued) * max(1, min(d.stages - held, most)) * sharing
    if not by_copies:  # a stage is there once a producer group has gone through its row, whose loads are its own
        load["load latency"] = clocks["load latency"]
        latency, queued = clocks[work] * d.producer_groups * sharing, 0.0
    hardware = {term: clocks[term] for term in ("L2", "special functions", "instructions")}
    return Phases(
        stage=f"a {'chunk' if long else 'row'} of {elements} of x" if by_copies else f"a normalised row of {d.columns}",
        stage_bytes=elements * (x * (2 if plan.kernel["residual"] else 1) if by_copies else 4),
        stages=d.stages,
        held=max(0, held),
        load=load,
        compute={"special functions": clocks["special functions"], side: clocks[side]},
        both={term: clocks[term] for term in ("L2", "instructions")},
        latency=latency,
        queued=queued,
        steps=rounds * sharing * parts,
        most=most if by_copies else None,
        resident=sharing,
        producer_warps=loaders,
        consumer_warps=d.groups * d.warps_per_row,
        producer_work=clocks[work] * loaders * sharing,
        consumer_work=clocks[side] * d.groups * d.warps_per_row * sharing,
        pace=max(hardware.values()),
        registers=min(255, _held(plan) + OVERHEAD),
        asked_bytes=m * (read * walks(plan) + written),
        read_bytes=m * read,
        written_bytes=m * written,
        dram_bytes_per_second=device.dram_bytes_per_second / (1 + prediction.LOST),
        pieces=rows,
        slots=device.sms * d.ctas_per_sm * d.groups,
        hertz=prediction.CLOCK,
        without=tuple(_without(plan, extents, device)),
    )


def _held(plan: Plan) -> int:
    """Registers of a consumer's part of a row in f32."""
    d: NormDesign = plan.design
    return -(-chunk(plan) // (LANES * d.warps_per_row))


def _points(plan: Plan) -> Iterator[Point]:
    """The same kernel where all warps do everything: persistent CTAs, whose groups have their next row on its way; or
    CTAs of a few rows for each group that come at once, of which several may share rows."""
    d: NormDesign = plan.design
    kernel = Kernel.model_validate({name: plan.kernel[name] for name in plan.kernel if name in Kernel.model_fields})
    for shared, ctas, rows, scales in product(_SHARED, _CTAS, _ROWS, ("registers", "shared")):
        least = max(1, d.warps_per_row // shared)
        for row_warps in (least, 2 * least):
            design = {
                "specialise": "none",
                "columns": d.columns,
                "warps_per_row": row_warps,
                "groups": 1 if d.long or shared > 1 else max(1, WARPGROUP // row_warps),
                "ctas_per_row": shared,
                "rows_per_group": rows,
                "persistent": rows == 1,
                "row": d.row if shared == 1 else "registers",
                "ctas_per_sm": ctas,
                "scales": scales,
                "access_bytes": d.access_bytes,
            }
            yield Point(plan.family, plan.arch, kernel, Design.model_validate(design))


def _without(plan: Plan, extents: Mapping[str, int], device: Device) -> Iterator[Way]:
    """The fastest legal one, if there is any: as many warps have a row, or twice as many."""
    found = []
    for point in _points(plan):
        other = plan_of(point)
        if other.legal:
            seconds = prediction.predict(other, extents, device).seconds
            ctas, rows = other.design.ctas_per_sm, other.design.rows_per_group
            found.append(Way(max(2, rows), seconds, ctas, other.main.shared_bytes))
    if found:
        yield min(found, key=lambda way: way.seconds)
