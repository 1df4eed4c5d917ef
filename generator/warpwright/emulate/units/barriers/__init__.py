"""Barriers: mbarriers, named barriers of a CTA, the cluster barrier, and the fences between them."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.barriers import fences, mbarriers, named, released, remedies, votes, waits
from warpwright.emulate.units.barriers.alter import alter
from warpwright.emulate.units.barriers.emit import OPCODES

UNIT = Unit(
    "barriers",
    OPCODES,
    (
        mbarriers.mbarrier_init, mbarriers.mbarrier_inval, waits.mbarrier_arrive, waits.mbarrier_expect,
        waits.mbarrier_wait, waits.mbarrier_test, waits.phase_parity,
        named.bar_sync, votes.bar_red, named.cluster_arrive, named.cluster_wait,
        fences.fence_proxy_async, fences.fence_mbarrier_init, fences.fence_thread, fences.warp_barrier,
    ),
    waits={"mbarrier": waits.explain, "named": named.explain_named, "cluster": named.explain_cluster},
    kinds={
        "mbarrier": Kind("a barrier object misused: not initialised, too many arrivals, bytes out of range", "hang"),
        "named-barrier": Kind("a named barrier misused: participants disagree, or lanes of a warp are missing", "hang"),
    },
    rules={
        named.TWICE: "a warp comes to a named barrier once in a phase; without, each arrival counts",
        released.PEERS: "who arrives at a peer keeps it by more than a relaxed cluster barrier; without, by that",
        released.LANES: "one lane's arrival hands on its own reads; without, those of its warp's other lanes too",
    },
    observes={
        "mbarriers": "{offset: {counts, arrivals, bytes, ranks in a pair of CTAs (sets over phases), phases}}",
        "named": "{barrier: thread counts}",
    },
    at_leave=named.leave,
    at_exit=released.ends,
    remedy=remedies.remedy,
    alter=alter,
)  # fmt: skip
