"""Faults planted in twins, as edits of their source, and what a diagnosis of each must name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.emulate.plans import gemm_plan
from tests.families.copy.points import legal
from tests.families.ladder.points import legal as rung
from tests.families.norm_act.points import SMALL
from tests.families.norm_act.points import legal as norm
from tests.families.sgemm.points import legal as sgemm
from warpwright.diagnosis.twin import twin_source
from warpwright.plan.types import Plan

__all__ = ["FAULTS", "IN_TURN", "QUICK", "RIGHT", "UNTIMED", "Fault", "planted"]

_SMALL: dict[str, Any] = {"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4}
_RELEASE = "                    if releases:\n                        cute.arch.mbarrier_arrive(ab_empty"
_LAST_RELEASE = "                if releases:\n                    cute.arch.mbarrier_arrive(ab_empty"
_ONE = "releases and consumer == 0"
_ARRIVE = "cute.arch.barrier_arrive(barrier_id="
_AGAIN = "cute.arch.mbarrier_wait({0}_empty + producer_state.index, 1 - producer_state.phase)\n"


@dataclass(frozen=True)
class Fault:
    """A plan, and edits (old, new) of its twin's source.

    status, verdict: what the diagnosis must say. cause: words of the sentence that explains most, in this order.
    problem: the one that shows it, where the family's largest case takes long.
    """

    plan: Callable[[], Plan]
    edits: tuple[tuple[str, str], ...]
    status: str
    verdict: str = ""
    cause: tuple[str, ...] = ()
    problem: str = ""


def _gemm() -> Plan:
    return gemm_plan(_SMALL)


def _cluster() -> Plan:
    return gemm_plan({**_SMALL, "design.cluster": {"m": 2, "n": 1}})


def _copy() -> Plan:
    return legal(store="tma", ctas_per_sm=1, stages=4)


def _sgemm() -> Plan:
    return sgemm(warps={"m": 2, "n": 2}, thread={"m": 8, "n": 8}, tile_k=8, stages=3)


def _all_load() -> Plan:
    return sgemm(specialise="none", warps={"m": 2, "n": 2}, thread={"m": 8, "n": 8}, tile_k=8, stages=3)


def _norm(kind: str) -> Callable[[], Plan]:
    return lambda: norm(**SMALL[kind])


FAULTS = {
    "arrival-count": Fault(
        _gemm, (("EMPTY_ARRIVALS = CONSUMERS ", "EMPTY_ARRIVALS = CONSUMERS + 1 "),), "hang",
        cause=("producer (warp 8) waits for ab_empty[0], phase 0", "consumer 0 (warps 0..3), consumer 1 (warps 4..7)",
               "have released round 0", "more arrivals than come; planned: 2 arrivals"),
    ),
    "full-cta-barrier": Fault(
        _gemm, ((_RELEASE, f"                    cute.arch.sync_threads()\n{_RELEASE}"),), "hang",
        cause=("consumer 0 (warps 0..3) is past ab_full[1] (round 1)", "named barrier 0 (of all threads)",
               "32 of 288 threads have not come"),
    ),
    "one-stage": Fault(
        _gemm, (("STAGES = 4 ", "STAGES = 1 "),), "hang",
        cause=("producer (warp 8) waits for ab_empty[0], phase 0 (round 1", "consumer 0", "consumer 1",
               "a ring of 1 stage has no room"),
    ),
    "one-stage-copy": Fault(_copy, (("STAGES = 4", "STAGES = 1"),), "ended", "lock-step"),
    "waits-for-all": Fault(
        _gemm, (("                producer_state.advance()\n",
                 f"                {_AGAIN.format('ab')}                producer_state.advance()\n"),), "hang",
        cause=("producer (warp 8) is past ab_empty[0] (round 0)", "waits for ab_empty[0], phase 0 (parity 0)"),
    ),
    "waits-for-all-copy": Fault(
        _copy, (("            producer_state.advance()\n",
                 f"            {_AGAIN.format('x')}            producer_state.advance()\n"),), "ended", "lock-step",
    ),
    "phase-producer": Fault(
        _gemm, (("producer_state = make_pipeline_state(PipelineUserType.Producer",
                 "producer_state = make_pipeline_state(PipelineUserType.Consumer"),), "hang",
        cause=("producer (warp 8) waits for ab_empty[0]", "parity 0, where 1 is right", "phase starts wrong"),
    ),
    "phase-consumer": Fault(
        _gemm, (("        consumer_state = make_pipeline_state(PipelineUserType.Consumer",
                 "        consumer_state = make_pipeline_state(PipelineUserType.Producer"),), "wrong",
        cause=("consumer 0 (warps 0..3) waits for ab_full[", "where", "is right: its phase starts wrong"),
    ),
    "never-releases": Fault(
        _gemm, ((_RELEASE, _RELEASE.replace("releases", _ONE, 1)),
                (_LAST_RELEASE, _LAST_RELEASE.replace("releases", _ONE, 1))), "hang",
        cause=("producer (warp 8) waits for ab_empty[0], phase 0", "consumer 1 (warps 4..7) has taken round 0 and not",
               "released it; consumer 0 (warps 0..3) has"),
    ),
    "never-releases-cluster": Fault(
        _cluster, ((_RELEASE, _RELEASE.replace("releases", _ONE, 1)),), "hang",
        cause=("producer (warp 8) waits for ab_empty[0], phase 0", "consumer 1 (warps 4..7), consumer 1 (warps 4..7)",
               "of CTA 1 have taken round 0 and not released it", "planned: 4 arrivals"),
    ),
    "never-releases-peer": Fault(
        _cluster, ((_RELEASE, _RELEASE.replace("releases", "releases and (consumer == 0 or cta_m == 0)", 1)),), "hang",
        cause=("producer (warp 8) waits for ab_empty[0], phase 0", "consumer 1 (warps 4..7) of CTA 1 has taken round 0",
               "not released it; consumer 0 (warps 0..3), consumer 1 (warps 4..7), consumer 0 (warps 0..3) of CTA 1 h"),
    ),
    "more-bytes": Fault(
        _gemm, (("STAGE_BYTES = (", "STAGE_BYTES = 16 + ("),), "hang",
        cause=("consumer 0 (warps 0..3) waits for ab_full[0], phase 0", "producer (warp 8) has issued the loads",
               "fewer bytes land than are announced", "24576 bytes"),
    ),
    "across-never-releases-peer": Fault(
        lambda: gemm_plan({**_SMALL, "design.cluster": {"m": 1, "n": 2}}),
        ((_RELEASE, _RELEASE.replace("releases", "releases and (consumer == 0 or cta_n == 0)", 1)),), "hang",
        cause=("producer (warp 8) waits for ab_empty[0], phase 0", "consumer 1 (warps 4..7) of CTA 1 has taken round 0",
               "not released it"),
    ),
    "two-producers": Fault(
        lambda: gemm_plan({**_SMALL, "design.producer_warps": 2}),
        (("if turn == 0:", "if turn == 0 and k_tile != 3:"),),
        "hang", cause=("waits for ab_full[3], phase 0", "producer (warp 9) has ended and not loaded round 3"),
    ),
    "one-role-bytes": Fault(
        lambda: rung(4), (("STAGE_BYTES = ", "STAGE_BYTES = 16 + "),), "hang", problem="128x128x128",
        cause=("all (warps 0..3) waits for ab_full[0], phase 0 (round 0", "all (warps 0..3) has issued the loads",
               "fewer bytes land"),
    ),
    "one-role-no-load": Fault(
        lambda: rung(3), (("if is_load_warp:\n", "if is_load_warp and k_tile != 2:\n"),), "hang", problem="128x128x320",
        cause=("all (warps 0..3) waits for ab_full[0], phase 2 (round 2", "has not come to load round 2"),
    ),
    "not-all-synchronise": Fault(
        lambda: rung(2),
        (("        mark(notes, stamps, LOADS_WAIT, ", "        if thread < 96:\n            cute.arch.sync_threads()\n"
          "        mark(notes, stamps, LOADS_WAIT, "),), "hang", problem="128x128x128",
        cause=("all (warp 3) is past the wait of round 0 and waits for a barrier (wgmma)",),
    ),
    "warp-never-releases": Fault(
        _sgemm, (("cute.arch.mbarrier_arrive(ab_empty", "if warp_idx != 2: cute.arch.mbarrier_arrive(ab_empty"),
                 ("mark_here(notes, stamps, AB_REL", "if warp_idx != 2: mark_here(notes, stamps, AB_REL")), "hang",
        cause=("producer (warp 4) waits for ab_empty[0], phase 0", "consumer (warp 2) has taken round 0 and not",
               "released it; consumer (warps 0, 1, 3) has; planned: 4 arrivals"),
    ),
    "a-group-never-releases": Fault(
        _norm("tma"), (("cute.arch.mbarrier_arrive(row_empty", "if group != 1: cute.arch.mbarrier_arrive(row_empty"),
                       ("mark_here(notes, stamps, ROW_REL", "if group != 1: mark_here(notes, stamps, ROW_REL")), "hang",
        cause=("waits for row_empty[1], phase 0 (round 5", "consumer (warps 2..3) has taken round 1 and not",
               "released it"),
    ),
    "a-group-does-not-fill": Fault(
        _norm("preprocess"),
        (("cute.arch.mbarrier_arrive(row_full", "if group != 1: cute.arch.mbarrier_arrive(row_full"),), "hang",
        cause=("consumer (warp 1) waits for row_full[1], phase 0 (round 1", "has issued the loads",
               "fewer warps arrive"),
    ),
    "named-group-does-not-fill": Fault(
        _norm("named"), ((f"{_ARRIVE}ROW_FULL_ID", f"if group != 1: {_ARRIVE}ROW_FULL_ID"),), "hang",
        cause=("consumer (warp 1) waits for row_full[1], phase 0 (round 1", "has issued the loads",
               "counts other threads than come", "planned: 96 threads a phase, with those that wait"),
    ),
    "named-group-never-releases": Fault(
        _norm("named"), ((f"{_ARRIVE}ROW_EMPTY_ID", f"if group != 1: {_ARRIVE}ROW_EMPTY_ID"),
                         ("mark(notes, stamps, ROW_REL", "if group != 1: mark(notes, stamps, ROW_REL")), "hang",
        cause=("waits for row_empty[1], phase 0 (round 5", "consumer (warp 1) has taken round 1 and not released it"),
    ),
    "named-count": Fault(
        _norm("named"), (("RING_THREADS = LANES", "RING_THREADS = LANES + LANES"),), "hang",
        cause=("consumer (warp 0) waits for row_full[0], phase 0", "has issued the loads, and the phase has not ended",
               "counts other threads than come"),
    ),
    "rows-ahead-bytes": Fault(
        _norm("ahead"), (("expect_tx(full, 2 * row_bytes)", "expect_tx(full, 2 * row_bytes + 16)"),), "hang",
        cause=("waits for row_full[0], phase 0 (round 0", "issued the loads", "fewer bytes land"),
    ),
    "a-kept-row-is-never-released": Fault(
        _norm("held"), (("cute.arch.mbarrier_arrive(row_empty", "if row < 0: cute.arch.mbarrier_arrive(row_empty"),
                        ("mark_here(notes, stamps, ROW_REL", "if row < 0: mark_here(notes, stamps, ROW_REL")), "hang",
        cause=("producer (warp 1) waits for row_empty[0], phase 0 (round 5", "consumer (warp 0) has taken round 0 and",
               "not released it"),
    ),
    "a-walk-too-few": Fault(
        _norm("streamed"), (("for _ in cutlass.range(2, unroll=1):", "for _ in cutlass.range(1, unroll=1):"),), "hang",
        cause=("consumer (warp 0) waits for row_full[", "producer (warp 1) has ended and not loaded round"),
    ),
    "long-row-sum-count": Fault(
        _norm("walked"), (("number_of_threads=ROW_THREADS", "number_of_threads=ROW_THREADS + 32"),), "hang",
        cause=("is past the wait of round 3 and waits for named barrier", "32 of 96 threads have not come"),
    ),
    "a-cluster-tells-fewer-bytes": Fault(
        _norm("cluster"), (("ROW_PARTS * TOLD_BYTES)", "ROW_PARTS * TOLD_BYTES + 16)"),), "hang",
        cause=("all (warp 0) is past row_full[0] (round 0) and waits for row_told[0], phase 0",),
    ),
    "row-sum-count": Fault(
        _norm("none"), (("number_of_threads=ROW_THREADS", "number_of_threads=ROW_THREADS + 32"),), "hang",
        cause=("named barrier", "32 of 96 threads have not come"),
    ),
}  # fmt: skip

#: Kernels that nothing is planted in: every way in which the templates mark.
RIGHT: dict[str, Callable[[], Plan]] = {
    "cluster": _cluster,
    "pingpong-c": lambda: gemm_plan(
        {
            "design.tile": {"m": 64, "n": 32, "k": 64},
            "design.schedule": "pingpong",
            "kernel.epilogue": ["beta_c", "relu"],
            "kernel.c": {"dtype": "f16", "major": "n"},
        }
    ),
    "not-persistent": lambda: gemm_plan({**_SMALL, "design.scheduler": {"kind": "one_tile"}}),
    "across": lambda: gemm_plan({**_SMALL, "design.cluster": {"m": 1, "n": 2}}),
    "sgemm": _sgemm,
    "sgemm-along-k": lambda: sgemm(
        "k", "k", tile_k=32, producer_warps=2, warps={"m": 1, "n": 1}, thread={"m": 8, "n": 8}
    ),
    "sgemm-all-load": _all_load,
    "norm-tma": _norm("tma"),
    "norm-preprocess": _norm("preprocess"),
    "norm-cluster": lambda: norm(**SMALL["cluster"] | {"rows_per_group": 3}),
    "norm-named": _norm("named"),
    "norm-held": _norm("held"),
    "norm-streamed": _norm("streamed"),
    "norm-walked": _norm("walked"),
    "norm-walked-streamed": lambda: norm(**SMALL["walked"] | {"row": "streamed"}),
    "norm-none": _norm("none"),
    "norm-ahead": _norm("ahead"),
    "norm-once": lambda: norm(specialise="none", columns=512, warps_per_row=1, persistent=False),
    "serial": lambda: rung(1),
    "grid": lambda: rung(2),
    "tma": lambda: rung(3),
    "ring": lambda: rung(4),
    "copy": _copy,
    "copy-direct": lambda: legal("f16", "f32", store="direct", producer_warps=2, ctas_per_sm=1),
}


#: Those that load and compute in turn by design.
IN_TURN = ("serial", "grid", "tma")
#: Those whose loads are ordinary ones, or cp.async: the emulator's clock knows no time of them.
UNTIMED = (
    *("sgemm-all-load", "serial", "grid", "norm-preprocess", "norm-named", "norm-walked", "norm-walked-streamed"),
    *("norm-none", "norm-once"),
)
#: A small problem, where the largest case takes long.
QUICK = {"serial": "128x256x320", "grid": "128x128x512", "tma": "128x128x512", "ring": "128x128x1024"}


def planted(fault: Fault) -> tuple[Plan, str]:
    """Return the plan, and its twin's source with the fault in it."""
    plan = fault.plan()
    source = twin_source(plan)
    for old, new in fault.edits:
        assert old in source, f"the twin has no {old!r}"
        source = source.replace(old, new)
    return plan, source
