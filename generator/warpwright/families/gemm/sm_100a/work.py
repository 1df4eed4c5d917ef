"""Who does what in the kernel: hand-overs, roles of warps, copies, MMAs and tensor memory, as a plan lists them."""

from __future__ import annotations

from dataclasses import replace

from warpwright.families.gemm.parts.boxes import copy, subtile_swizzle
from warpwright.families.gemm.sm_100a.instruction import mma
from warpwright.families.gemm.sm_100a.ring import RESPONSE_BYTES, TILE_STAGES
from warpwright.families.gemm.sm_100a.scaled import ATOM_BYTES, ATOM_COLUMNS, MAPPED, scales
from warpwright.families.gemm.sm_100a.solution import Solution
from warpwright.families.gemm.sm_100a.tiles import LANES, MMA_M, WARPGROUP, WARPS
from warpwright.plan.types import ATOM, Barrier, Buffer, Copy, Mma, Role, TensorMemory

__all__ = ["EPILOGUE_BARRIER_ID", "barriers", "copies", "mmas", "readers", "roles", "tensor_buffers", "tensor_memory"]

#: By which pipeline state of the kernel each is waited for, and from which phase on: what is empty at the beginning is
#: waited for from phase 1 on, as if the phase before the first had ended.
_STATES = {
    "loaded": "consumer_state 0",
    "consumed": "producer_state 1",
    "accumulated": "drain_state 0",
    "drained": "into_state 1",
    "c_full": "c_consumer_state 0",
    "c_empty": "c_producer_state 1",
    "tile_ready": "tile_state 0",
    "tile_taken": "ask_state 1",
}
#: Named barriers: 0 is __syncthreads; one per warpgroup of the epilogue orders its buffers.
EPILOGUE_BARRIER_ID = 1


def barriers(s: Solution) -> tuple[Barrier, ...]:
    """Return the barriers with their contracts. Of a pair the leader's `loaded` and `drained` count for both CTAs."""
    a, t, o, w, r, _ = s
    pair = a.cta_group == 2
    whose = "leader's producer" if pair else "producer"
    of_both = " of both" if pair else ""
    each = f" of {s.sharing} {'pairs' if pair else 'CTAs'}" if s.sharing > 1 else ""
    accumulators = t.consumers * t.stages
    warps = WARPS * t.across * a.cta_group  # of the epilogue, that drain one accumulator
    loads = f"{whose}, by TMA{of_both}"
    found = [
        _mbarrier("loaded", r.stages, 1, a.cta_group * r.stage_bytes, "consumer", loads, pair),
        _mbarrier(
            "consumed",
            r.stages,
            t.consumers * s.sharing,
            0,
            "producer",
            f"commit of each consumer{each}" if t.consumers > 1 else f"commit of the consumer{each}",
        ),
        _mbarrier(
            "accumulated", accumulators, 1, 0, "epilogue", "commit of its consumer" + (", to both" if pair else "")
        ),
    ]
    if a.several_tiles:
        found.append(
            _mbarrier("drained", accumulators, warps, 0, "consumer", f"a thread per epilogue warp{of_both}", pair)
        )
    else:
        found[-1] = replace(found[-1], state="0")
    read = s.computed.read
    if read:
        stage = MMA_M * o.subtile_n * read.bytes * t.warpgroups
        who = "a thread per epilogue warp"
        found += [
            _mbarrier("c_full", o.c_stages, 1, stage, "epilogue", "C loader, by TMA"),
            _mbarrier("c_empty", o.c_stages, WARPS * t.warpgroups, 0, "C loader", who),
        ]
    size = a.cluster_m * a.cluster_n
    if a.scheduler == "dynamic":
        # In every CTA each warp reads the answer; the first CTA's scheduler asks again when all have.
        who = "scheduler, by launch control"
        found += [
            _mbarrier("tile_ready", TILE_STAGES, 1, RESPONSE_BYTES, "all", who),
            _mbarrier("tile_taken", TILE_STAGES, readers(s), 0, "scheduler", "a thread per warp of the cluster"),
        ]
    if o.subtile_stages:
        ids, who = (
            tuple(EPILOGUE_BARRIER_ID + g for g in range(t.warpgroups)),
            f"the warpgroup's own {WARPGROUP} threads",
        )
        found.append(Barrier("epilogue", "named", 1, WARPGROUP, 0, "epilogue", who, ids))
    if size > 1:
        found.append(Barrier("cluster", "cluster", 1, w.threads * size, 0, "all", "all"))
    return tuple(found)


def readers(s: Solution) -> int:
    """Warps of a cluster that walk over tiles: of a pair, the consumers of the leader alone."""
    size = s.asked.cluster_m * s.asked.cluster_n
    return s.warps.threads // LANES * size - s.accumulators.consumers * (size - size // s.asked.cta_group)


def _mbarrier(
    name: str, stages: int, arrivals: int, transaction_bytes: int, waits: str, arrives: str, pair: bool = False
) -> Barrier:
    state = _STATES[name]
    return Barrier(
        name, "mbarrier", stages, arrivals, transaction_bytes, waits, arrives, (), name, pair=pair, state=state
    )


def roles(s: Solution) -> tuple[Role, ...]:
    """Return the roles in the order of their warps."""
    a, t, _, w, _, _ = s
    found = []
    for group in range(t.warpgroups):
        part = "drains its columns of D" if t.across > 1 else "drains the accumulators"
        name = f"epilogue {group}" if t.warpgroups > 1 else "epilogue"
        found.append(Role(name, WARPS * group, WARPS, None, f"{part}, computes and stores D"))
    leads = ", in the leader for both CTAs" if a.cta_group == 2 else ""
    for consumer in range(t.consumers):
        name = f"consumer {consumer}" if t.consumers > 1 else "consumer"
        found.append(Role(name, w.consumer + consumer, 1, None, f"issues the MMAs of {MMA_M} rows{leads}"))
    loads = "loads A, B and their scales into the ring" if scales(a) else "loads A and B into the ring"
    found.append(Role("producer", w.producer, 1, None, loads))
    if w.c_loader is not None:
        found.append(Role("C loader", w.c_loader, 1, None, "loads C subtiles"))
    if w.scheduler is not None:
        found.append(Role("scheduler", w.scheduler, 1, None, "takes over tiles of clusters that have not started"))
    return tuple(found)


def copies(s: Solution) -> tuple[Copy, ...]:
    """Return the TMA copies."""
    a, _, o, _, r, _ = s
    c = s.computed
    found = [
        copy("a", True, c.a, a.tile_m, a.tile_k, r.a.swizzle, a.cluster_n, r.a.looped),
        copy("b", True, c.b, r.rows_b, a.tile_k, r.b.swizzle, a.cluster_m // a.cta_group, r.b.looped),
    ]
    if scaled := scales(a):
        for name, rows, atoms in (("sfa", "M", scaled.a), ("sfb", "N", scaled.b)):
            order = [(f"K/{4 * scaled.block}", scaled.deep), (f"{rows}/128", atoms)]
            if scaled.rows_first:
                order.reverse()
            modes, box = zip((ATOM, ATOM_BYTES // 2), *order, ("L", 1), strict=True)
            found.append(Copy(name, "load", MAPPED, box, "none", 1, 1, name, modes=modes))
    if c.read:
        swizzle = subtile_swizzle(c.read, MMA_M, o.subtile_n)
        found.append(copy("c", True, c.read, MMA_M, o.subtile_n, swizzle, 1, False))
    if o.subtile_stages:
        found.append(copy("d", False, c.d, MMA_M, o.subtile_n, subtile_swizzle(c.d, MMA_M, o.subtile_n), 1, False))
    return tuple(found)


def mmas(s: Solution) -> tuple[Mma, ...]:
    """Return the MMA of the main loop."""
    return (mma(s.asked, s.computed),)


def tensor_memory(s: Solution) -> TensorMemory:
    """Return what a CTA allocates of tensor memory."""
    name = "epilogue 0" if s.accumulators.warpgroups > 1 else "epilogue"
    return TensorMemory(s.accumulators.columns, s.asked.cta_group, name, name)


def tensor_buffers(s: Solution) -> tuple[Buffer, ...]:
    """Return the map of tensor memory: offsets and sizes in columns."""
    t, n, scaled = s.accumulators, s.asked.tile_n, scales(s.asked)
    shape = (MMA_M, n, t.consumers * t.stages)
    note = "accumulators" + (f", {t.stages} of each consumer" if t.consumers > 1 else "")
    end = n * t.consumers * t.stages
    found = [Buffer("accumulators", 0, end, 1, s.computed.accumulator.name, shape, "none", note, "tensor")]
    if scaled:
        for name, atoms in (("a_scales", scaled.a), ("b_scales", scaled.b)):
            columns, stages = ATOM_COLUMNS * scaled.deep * atoms, s.ring.stages
            what = f"scales of {name[0].upper()}, of each stage"
            found.append(
                Buffer(name, end, columns * stages, 4, "i32", (LANES, columns, stages), "none", what, "tensor")
            )
            end += columns * stages
    return tuple(found)
