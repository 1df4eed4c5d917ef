"""The constants block of a rendered gemm: every number as a person would write it, with what it is."""

from __future__ import annotations

from warpwright.archs import TMA_STRIDES
from warpwright.families.gemm.parts.boxes import ALIGNMENT
from warpwright.families.gemm.parts.constants import edge, largest, times
from warpwright.families.gemm.sm_100a.instruction import depth
from warpwright.families.gemm.sm_100a.ring import RESPONSE_BYTES, TILE_STAGES
from warpwright.families.gemm.sm_100a.scaled import ATOM_BLOCKS, ATOM_BYTES, ATOM_COLUMNS, ATOM_ROWS, scales
from warpwright.families.gemm.sm_100a.solution import Solution
from warpwright.families.gemm.sm_100a.tiles import LANES, MMA_M, WARPGROUP, WARPS
from warpwright.families.gemm.sm_100a.work import EPILOGUE_BARRIER_ID, readers
from warpwright.plan.types import Constant

__all__ = ["constants"]


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them; a count of one has no name."""
    parts = _machine, _tile, _warps, _subtiles, _stages, _multicast, _tensor, _edge
    return (*(constant for part in parts for constant in part(s)), *largest(s.asked))


def _machine(s: Solution) -> list[Constant]:
    # Of one warpgroup that stores by itself nobody asks how large it is.
    sized = [Constant("WARPGROUP", WARPGROUP, "threads", "WARPS_PER_WARPGROUP * LANES")]
    return [
        Constant("LANES", LANES, "threads of a warp"),
        Constant("WARPS_PER_WARPGROUP", WARPS, "a quarter of tensor memory's lanes each"),
        *(sized if s.output.subtile_stages or s.accumulators.warpgroups > 1 else []),
        Constant("MMA_M", MMA_M, "rows of one MMA in a CTA, and of an epilogue subtile: lanes of tensor memory"),
        Constant("MMA_K", depth(s.asked, s.computed), "depth of one MMA"),
        Constant("SMEM_ALIGNMENT", ALIGNMENT, "bytes: where the pattern of the widest swizzle begins anew"),
        Constant("TMA_ALIGNMENT", s.asked.arch.tma_alignment, "bytes: strides of tensors are multiples of it"),
        Constant("MAX_STRIDE", TMA_STRIDES, "bytes: TMA takes strides of tensors below it", "2**40"),
    ]


def _tile(s: Solution) -> list[Constant]:
    a = s.asked
    pair = a.cta_group == 2
    rank = "; rank = m + CLUSTER_M * n" if a.cluster_n > 1 else ""
    found = [
        Constant("TILE_M", a.tile_m, "rows of D per CTA tile"),
        Constant("TILE_N", a.tile_n, "columns of D per CTA tile"),
        Constant("TILE_K", a.tile_k, "depth of one stage"),
    ]
    if pair:
        found += [
            Constant("CTA_GROUP", 2, "CTAs of one MMA: a pair, whose leader is the CTA of even rank"),
            Constant("PAIR_M", 2 * MMA_M, "rows of one MMA in both CTAs", "CTA_GROUP * MMA_M"),
            Constant("LOAD_N", s.ring.rows_b, "columns of B that a CTA loads; its peer loads the others",
                     "TILE_N // CTA_GROUP"),
        ]  # fmt: skip
    if a.cluster_m > 1:
        what = "CTAs along M: a pair" if pair and a.cluster_m == 2 else "CTAs along M: they share tiles of B"
        found.append(Constant("CLUSTER_M", a.cluster_m, what + rank))
        if pair and a.cluster_m > 2:
            found.append(Constant("PAIRS", a.cluster_m // 2, "of CTAs along M", "CLUSTER_M // CTA_GROUP"))
    if a.cluster_n > 1:
        found.append(
            Constant(
                "CLUSTER_N", a.cluster_n, "CTAs along N: they share tiles of A" + ("" if a.cluster_m > 1 else rank)
            )
        )
    if a.group > 1:
        found.append(Constant("GROUP", a.group, "clusters of one band of the raster, which share A and B in L2"))
    if a.tile_k // depth(a, s.computed) > 1:
        found.append(Constant("K_BLOCKS", a.tile_k // depth(a, s.computed), "MMAs along one stage", "TILE_K // MMA_K"))
    return found


def _warps(s: Solution) -> list[Constant]:
    t, w = s.accumulators, s.warps
    found = []
    groups = "WARPGROUPS" if t.warpgroups > 1 else ""
    if groups:
        found.append(Constant("WARPGROUPS", t.warpgroups, "of the epilogue"))
    first = times("WARPS_PER_WARPGROUP", groups)
    last, count = "CONSUMER_WARP", "1"
    found.append(Constant("CONSUMER_WARP", w.consumer, "issues MMAs; before it are the epilogue's", first))
    if t.consumers > 1:
        count = "CONSUMERS"
        found.append(Constant("CONSUMERS", t.consumers, "warps that issue MMAs, of MMA_M rows each; they share B"))
    for name, number, note in (
        ("PRODUCER_WARP", w.producer, "loads A and B"),
        ("C_LOADER_WARP", w.c_loader, "loads subtiles of C"),
        ("SCHEDULER_WARP", w.scheduler, "asks for the next tile"),
    ):
        if number is not None:
            found.append(Constant(name, number, note, f"{last} + {count}"))
            last, count = name, "1"
    found.append(Constant("THREADS", w.threads, "of one CTA", f"LANES * ({last} + 1)"))
    return found


def _stages(s: Solution) -> list[Constant]:
    a, t, o, _, r, _ = s
    pair = a.cta_group == 2
    most = "the most that fit" if r.stages == r.fitting else f"of {min(r.fitting, r.room)} that fit"
    if r.stages == r.room < r.fitting:
        most = "the most whose scales fit tensor memory"
    columns, per_byte = "LOAD_N" if pair else "TILE_N", 8 // s.computed.a.bits
    found = [
        Constant("AB_PER_BYTE", per_byte, "elements of A or B in a byte")
        if per_byte > 1
        else Constant("AB_BYTES", s.computed.a.bytes, "of an element of A or B"),
        Constant("STAGES", r.stages, f"of the ring of A and B, {most}"),
    ]
    expression = f"(TILE_M + {columns}) * TILE_K {'// AB_PER_BYTE' if per_byte > 1 else '* AB_BYTES'}"
    if scales(a):
        found += _scales(s)
        expression += " + SFA_BYTES + SFB_BYTES"
        expression = f"({expression})" if pair else expression
    note = "of A and B in one stage, of both CTAs" if pair else "of A and B in one stage"
    note = "of both CTAs" if pair and scales(a) else note
    found.append(
        Constant("STAGE_BYTES", a.cta_group * r.stage_bytes, note, f"CTA_GROUP * {expression}" if pair else expression)
    )
    for name, boxes in (("A", r.a), ("B", r.b)):
        if boxes.looped:
            found.append(Constant(f"{name}_BOXES", boxes.number, f"TMA boxes of {name} in one stage"))
    if s.computed.read:
        groups = "WARPGROUPS" if t.warpgroups > 1 else ""
        stage = MMA_M * o.subtile_n * s.computed.read.bytes * t.warpgroups
        found += [
            Constant("C_BYTES", s.computed.read.bytes, "of an element of C"),
            Constant("C_STAGES", o.c_stages, "of the ring of C subtiles"),
            Constant("C_STAGE_BYTES", stage, "of C in one stage", times("MMA_M * SUBTILE_N * C_BYTES", groups)),
            Constant("C_EMPTY_ARRIVALS", WARPS * t.warpgroups, "epilogue warps that read a stage",
                     times("WARPS_PER_WARPGROUP", groups)),
        ]  # fmt: skip
    if a.scheduler == "dynamic":
        along = "PAIRS" if pair else "CLUSTER_M"
        sharing = [x for x, n in ((along, a.cluster_m // a.cta_group), ("CLUSTER_N", a.cluster_n)) if n > 1]
        each = "THREADS // LANES"
        if pair:
            each = f"CTA_GROUP * {each} - {'CONSUMERS' if t.consumers > 1 else '1'}"
            each = f"({each})" if sharing else each
        taken = times(each, *sharing)
        found += [
            Constant("TILE_STAGES", TILE_STAGES, "of the ring of tiles that are handed out"),
            Constant("RESPONSE_BYTES", RESPONSE_BYTES, "of an answer of cluster launch control"),
            Constant("TAKEN_ARRIVALS", readers(s), "warps of the cluster that read it", taken),
        ]  # fmt: skip
    return found


def _scales(s: Solution) -> list[Constant]:
    """The scales of a stage."""
    scaled = scales(s.asked)
    assert scaled is not None
    deep = "TILE_K // (ATOM_BLOCKS * SCALE_BLOCK)"
    return [
        Constant("SCALE_BLOCK", scaled.block, "elements along K that share a scale"),
        Constant("ATOM_ROWS", ATOM_ROWS, "of an atom of scales"),
        Constant("ATOM_BLOCKS", ATOM_BLOCKS, "of K, of an atom"),
        Constant("ATOM_PAIRS", ATOM_BYTES // 2, "of scales, which TMA counts", "ATOM_ROWS * ATOM_BLOCKS // 2"),
        Constant("ATOMS_K", scaled.deep, "atoms along K of one stage", deep),
        Constant("A_ATOMS", scaled.a, "along M", "TILE_M // ATOM_ROWS"),
        Constant("B_ATOMS", scaled.b, "along N", "TILE_N // ATOM_ROWS"),
        *(
            Constant(
                f"SF{x}_BYTES",
                ATOM_BYTES * scaled.deep * atoms,
                f"of the scales of {x} in one stage",
                f"2 * ATOM_PAIRS * ATOMS_K * {x}_ATOMS",
            )
            for x, atoms in (("A", scaled.a), ("B", scaled.b))
        ),
    ]


def _multicast(s: Solution) -> list[Constant]:
    """Which CTAs share what: bits are ranks in the cluster, beginning at the first one of its row or column."""
    a = s.asked
    pair, pairs, found = a.cta_group == 2, a.cluster_m // a.cta_group, list[Constant]()
    consumers = "CONSUMERS" if s.accumulators.consumers > 1 else ""
    along = ["PAIRS" if pair else "CLUSTER_M"] * (pairs > 1)
    sharing = [*along, *["CLUSTER_N"] * (a.cluster_n > 1)]
    groups = f"{' + '.join(sharing)} - 1" if len(sharing) > 1 else "".join(sharing)
    if consumers and " " in groups:
        groups = f"({groups})"
    who = "consumers that read a stage" + (f", of every {'pair' if pair else 'CTA'} that shares it" if groups else "")
    arrivals = s.accumulators.consumers * s.sharing
    if arrivals > 1:
        found.append(Constant("CONSUMED_ARRIVALS", arrivals, who, times(consumers, groups)))
    if a.cluster_n > 1:
        mask = sum(1 << a.cluster_m * n for n in range(a.cluster_n))
        bits = "sum(1 << CLUSTER_M * n for n in range(CLUSTER_N))" if a.cluster_m > 1 else "(1 << CLUSTER_N) - 1"
        found.append(Constant("A_MULTICAST", mask, f"0b{mask:b}: CTAs that share A", bits))
    if pairs > 1:
        step = a.cta_group
        mask = sum(1 << step * m for m in range(pairs))
        bits = "sum(1 << CTA_GROUP * m for m in range(PAIRS))" if step == 2 else "(1 << CLUSTER_M) - 1"
        note = "CTAs of even rank, that share half of B" if step == 2 else "CTAs that share B"
        found.append(Constant("B_MULTICAST", mask, f"0b{mask:b}: {note}", bits))
    if a.cta_group == 2:
        found.append(Constant("PAIR", 3, "0b11: both CTAs", "(1 << CTA_GROUP) - 1"))
    if pairs > 1:
        found.append(Constant("COLUMN", (1 << a.cluster_m) - 1, "CTAs of one n of the cluster", "(1 << CLUSTER_M) - 1"))
    return found


def _tensor(s: Solution) -> list[Constant]:
    a, t = s.asked, s.accumulators
    consumers, stages = "CONSUMERS" if t.consumers > 1 else "", "ACCUMULATORS" if t.stages > 1 else ""
    found = []
    if stages:
        found.append(Constant("ACCUMULATORS", t.stages, "of a consumer: one is filled while the other is drained"))
    exact = times(stages, consumers, "TILE_N")
    if scaled := scales(a):
        stage_a, stage_b = (ATOM_COLUMNS * scaled.deep * atoms for atoms in (scaled.a, scaled.b))
        first, note = t.used - s.ring.stages * scaled.columns, "column where those of A begin, behind the accumulators"
        found += [
            Constant("ATOM_COLUMNS", ATOM_COLUMNS, "of tensor memory, of an atom"),
            Constant("A_COLUMNS", stage_a, "of the scales of A in one stage", "ATOM_COLUMNS * ATOMS_K * A_ATOMS"),
            Constant("B_COLUMNS", stage_b, "of those of B", "ATOM_COLUMNS * ATOMS_K * B_ATOMS"),
            Constant("A_SCALES", first, note, exact),
            Constant("B_SCALES", first + s.ring.stages * stage_a, "those of B", "A_SCALES + STAGES * A_COLUMNS"),
        ]
        exact = "B_SCALES + STAGES * B_COLUMNS"
    if t.used == t.columns:
        what = "accumulators and scales" if scales(a) else "accumulators"
        found.append(Constant("TENSOR_COLUMNS", t.columns, f"of tensor memory, for the {what}", exact))
    else:
        what = "accumulators and scales" if scales(a) else "accumulators"
        note = f"of tensor memory: the power of two that holds {t.used} of {what}"
        found.append(Constant("TENSOR_COLUMNS", t.columns, note))
    if not a.several_tiles:
        return found
    arrivals = WARPS * t.across * a.cta_group
    groups = "WARPGROUPS" if t.across > 1 else ""
    who = "epilogue warps that read an accumulator" + (", of both CTAs" if a.cta_group == 2 else "")
    found.append(
        Constant("DRAINED_ARRIVALS", arrivals, who,
                 times("CTA_GROUP" if a.cta_group == 2 else "", "WARPS_PER_WARPGROUP", groups))
    )  # fmt: skip
    return found


def _subtiles(s: Solution) -> list[Constant]:
    a, t, o = s.asked, s.accumulators, s.output
    found = [Constant("SUBTILE_N", o.subtile_n, "columns of an epilogue subtile")]
    if t.across > 1:
        found.append(Constant("TILE_SUBTILES", a.tile_n // o.subtile_n, "of one tile, along N", "TILE_N // SUBTILE_N"))
    if t.across > 1 and o.subtiles > 1:
        columns = a.tile_n // t.across
        found.append(Constant("DRAIN_N", columns, "columns that a warpgroup drains", "TILE_N // WARPGROUPS"))
    if o.subtiles > 1:
        drained = "DRAIN_N" if t.across > 1 else "TILE_N"
        found.append(Constant("SUBTILES_N", o.subtiles, "of one warpgroup and tile", f"{drained} // SUBTILE_N"))
    if o.subtile_stages > 1:
        found.append(Constant("SUBTILE_STAGES", o.subtile_stages, "buffers per warpgroup through which D leaves"))
        if t.warpgroups > 1:
            slots = o.subtile_stages * t.warpgroups
            found.append(Constant("D_SLOTS", slots, "of all warpgroups", "SUBTILE_STAGES * WARPGROUPS"))
    return found


def _edge(s: Solution) -> list[Constant]:
    o = s.output
    if not o.subtile_stages:
        return []
    note = "+ warpgroup; 0 is sync_threads" if s.accumulators.warpgroups > 1 else "0 is sync_threads"
    found = edge(s.computed.d, s.asked.arch.tma_alignment, MMA_M, o.subtile_n)
    return [*found, Constant("EPILOGUE_BARRIER_ID", EPILOGUE_BARRIER_ID, note)]
