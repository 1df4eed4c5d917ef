"""Who does what in the kernel: barriers, roles of warps, copies and MMAs, as a plan lists them."""

from __future__ import annotations

import functools

from warpwright.archs import SM90A
from warpwright.families.gemm.parts.boxes import copy, subtile_swizzle
from warpwright.families.gemm.sm_90a.solution import Solution
from warpwright.families.gemm.sm_90a.tiles import MMA_M, WARPGROUP, WARPS
from warpwright.plan import types
from warpwright.plan.types import Barrier, Copy, Mma, Role

__all__ = [
    "C_ORDER_BARRIER_ID", "EPILOGUE_BARRIER_ID", "MMA_ORDER_BARRIER_ID", "barriers", "copies", "mma", "roles",
]  # fmt: skip

#: Named barriers: 0 is __syncthreads; one per consumer warpgroup orders its epilogue buffers, and in pingpong one
#: more per warpgroup hands over the tensor cores, and another one C.
EPILOGUE_BARRIER_ID = 1
MMA_ORDER_BARRIER_ID = 4
C_ORDER_BARRIER_ID = 6

# Points of one sweep have most of these in common.
_barrier = functools.lru_cache(maxsize=4096)(types.Barrier)
_role = functools.lru_cache(maxsize=4096)(types.Role)


def barriers(s: Solution) -> tuple[Barrier, ...]:
    """Return the barriers with their contracts."""
    a, t, o, w, r = s
    peers = a.cluster_m + a.cluster_n - 1  # CTAs that receive A or B from this one, itself included
    everyone = "one thread per consumer warpgroup" + (f" of {peers} CTAs" if peers > 1 else "")
    loads = "arrive.expect_tx, then TMA"
    found = [
        _barrier("ab_full", "mbarrier", r.stages, 1, r.stage_bytes, "consumer", f"producer: {loads}", (), "ab_full"),
        _barrier("ab_empty", "mbarrier", r.stages, t.sharing * peers, 0, "producer", everyone, (), "ab_empty"),
    ]
    read = s.computed.read
    if read:
        stage = MMA_M * o.subtile_n * read.bytes * t.sharing
        who = "one thread per consumer warp"
        found += [
            _barrier("c_full", "mbarrier", o.c_stages, 1, stage, "consumer", f"C loader: {loads}", (), "c_full"),
            _barrier("c_empty", "mbarrier", o.c_stages, WARPS * t.sharing, 0, "C loader", who, (), "c_empty"),
        ]
    if o.subtile_stages:
        ids, who = _ids(EPILOGUE_BARRIER_ID, t.consumers), f"the warpgroup's own {WARPGROUP} threads"
        found.append(_barrier("epilogue", "named", 1, WARPGROUP, 0, "consumer", who, ids))
    if a.pingpong:
        who = f"{WARPGROUP} that wait, {WARPGROUP} of the other warpgroup"
        for name, first in (("mma_order", MMA_ORDER_BARRIER_ID), *([("c_order", C_ORDER_BARRIER_ID)] if read else ())):
            found.append(_barrier(name, "named", 1, 2 * WARPGROUP, 0, "consumer", who, _ids(first, t.consumers)))
    size = a.cluster_m * a.cluster_n
    if size > 1:
        found.append(_barrier("cluster", "cluster", 1, w.threads * size, 0, "all", "all"))
    return tuple(found)


def _ids(first: int, number: int) -> tuple[int, ...]:
    return tuple(range(first, first + number))


def roles(s: Solution) -> tuple[Role, ...]:
    """Return the roles in the order of their warps."""
    a, t, _, w, _ = s
    producer, consumer = w.split or (None, None)
    first = WARPS * t.consumers
    duty = "computes alternate tiles" if a.pingpong else f"computes {t.warpgroup_m} rows"
    found = [_role(f"consumer {w}", WARPS * w, WARPS, consumer, duty) for w in range(t.consumers)]
    found.append(_role("producer", first, a.producer_warps, producer, "loads A and B into the ring"))
    if s.computed.tile_operands:
        found.append(_role("C loader", first + a.producer_warps, 1, producer, "loads C subtiles"))
    idle = w.threads // 32 - first - w.load_warps
    if idle:
        found.append(_role("idle", first + w.load_warps, idle, producer, "gives its registers up and exits"))
    return tuple(found)


def copies(s: Solution) -> tuple[Copy, ...]:
    """Return the TMA copies."""
    a, _, o, _, r = s
    c = s.computed
    found = [
        copy("a", True, c.a, a.tile_m, a.tile_k, r.a.swizzle, a.cluster_n, r.a.looped),
        copy("b", True, c.b, a.tile_n, a.tile_k, r.b.swizzle, a.cluster_m, r.b.looped),
    ]
    if c.read:
        found.append(copy("c", True, c.read, MMA_M, o.subtile_n, subtile_swizzle(c.read, MMA_M, o.subtile_n), 1, False))
    if o.subtile_stages:
        found.append(copy("d", False, c.d, MMA_M, o.subtile_n, subtile_swizzle(c.d, MMA_M, o.subtile_n), 1, False))
    return tuple(found)


def mma(s: Solution) -> Mma:
    """Return the MMA of the main loop."""
    a = s.asked
    return _mma(s.computed.a.dtype.ptx, a.tile_n, s.tiles.warpgroup_m, a.tile_k, s.computed.a.bytes)


@functools.lru_cache(maxsize=4096)
def _mma(ptx: str, n: int, rows: int, depth: int, element_bytes: int) -> Mma:
    k = SM90A.mma.k_bytes // element_bytes
    return Mma(
        instruction=f"wgmma.mma_async.sync.aligned.m{MMA_M}n{n}k{k}.f32.{ptx}.{ptx}",
        sass=f"HGMMA.{MMA_M}x{n}x{k}",
        m=MMA_M,
        n=n,
        k=k,
        per_stage=rows // MMA_M * (depth // k),
        # Added where accumulators are touched while MMAs are in flight, which serialises the MMAs (C7510, C7517).
        pairs=(("wgmma.fence", "WARPGROUP.ARRIVE"), ("wgmma.wait_group", "WARPGROUP.DEPBAR")),
    )
