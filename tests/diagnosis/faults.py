"""Faults planted in twins, as edits of their source, and what a diagnosis of each must name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.emulate.plans import gemm_plan
from tests.families.copy.points import legal
from warpwright.diagnosis.twin import twin_source
from warpwright.plan.types import Plan

__all__ = ["FAULTS", "RIGHT", "Fault", "planted"]

_SMALL: dict[str, Any] = {"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4}
_RELEASE = "                    if releases:\n                        cute.arch.mbarrier_arrive(ab_empty"
_LAST_RELEASE = "                if releases:\n                    cute.arch.mbarrier_arrive(ab_empty"
_ONE = "releases and consumer == 0"
_AGAIN = "cute.arch.mbarrier_wait({0}_empty + producer_state.index, 1 - producer_state.phase)\n"


@dataclass(frozen=True)
class Fault:
    """A plan, and edits (old, new) of its twin's source.

    status, verdict: what the diagnosis must say. cause: words of the sentence that explains most, in this order.
    """

    plan: Callable[[], Plan]
    edits: tuple[tuple[str, str], ...]
    status: str
    verdict: str = ""
    cause: tuple[str, ...] = ()


def _gemm() -> Plan:
    return gemm_plan(_SMALL)


def _cluster() -> Plan:
    return gemm_plan({**_SMALL, "design.cluster": {"m": 2, "n": 1}})


def _copy() -> Plan:
    return legal(store="tma", ctas_per_sm=1, stages=4)


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
    "copy": _copy,
    "copy-direct": lambda: legal("f16", "f32", store="direct", producer_warps=2, ctas_per_sm=1),
}


def planted(fault: Fault) -> tuple[Plan, str]:
    """Return the plan, and its twin's source with the fault in it."""
    plan = fault.plan()
    source = twin_source(plan)
    for old, new in fault.edits:
        assert old in source, f"the twin has no {old!r}"
        source = source.replace(old, new)
    return plan, source
