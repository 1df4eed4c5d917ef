"""Barriers: mbarriers, named barriers of a CTA, the cluster barrier, and the fences between them."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.barriers import fences, mbarriers, named
from warpwright.emulate.units.barriers.alter import alter
from warpwright.emulate.units.barriers.emit import OPCODES

UNIT = Unit(
    "barriers",
    OPCODES,
    (
        mbarriers.mbarrier_init, mbarriers.mbarrier_inval, mbarriers.mbarrier_arrive, mbarriers.mbarrier_expect,
        mbarriers.mbarrier_wait, mbarriers.mbarrier_test, named.bar_sync, named.cluster_arrive, named.cluster_wait,
        fences.fence_proxy_async, fences.fence_mbarrier_init, fences.fence_thread, fences.fence_scope,
        fences.warp_barrier,
    ),
    waits={"mbarrier": mbarriers.explain, "named": named.explain_named, "cluster": named.explain_cluster},
    kinds={
        "mbarrier": Kind("a barrier object misused: not initialised, too many arrivals, bytes out of range", "hang"),
        "named-barrier": Kind("a named barrier misused: participants disagree, or lanes of a warp are missing", "hang"),
    },
    observes={
        "mbarriers": "{offset: {counts, arrivals, bytes (sets over phases), phases}}",
        "named": "{barrier: thread counts}",
    },
    at_exit=named.leave,
    alter=alter,
)  # fmt: skip
