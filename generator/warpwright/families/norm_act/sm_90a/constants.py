"""The constants block of a rendered normalisation: every number as a person would write it, with what it is."""

from __future__ import annotations

from warpwright.families.norm_act.sm_90a.solution import LANES, ROW_BARRIER_ID, Solution
from warpwright.plan.types import Constant

__all__ = ["constants"]


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them; a count of one warp or group has no name."""
    return (*_rows(s), *_warps(s), *_vectors(s), *_limits(s))


def _rows(s: Solution) -> list[Constant]:
    d, c = s.design, s.computed
    found = [
        Constant("COLUMNS", d.columns, "of a row, at most"),
        Constant("EPS", c.canonical["eps"], "added to the variance" if c.mean else "added to the mean square"),
    ]
    if d.specialise == "tma" or s.ahead:
        found.append(Constant("X_BYTES", c.x.bytes, "of an element"))
    if d.specialise != "none" or s.ahead or "shared" in (d.scales, d.row):
        found.append(Constant("SMEM_ALIGNMENT", 128, "bytes: more than the 16 that vectors need"))
    if d.specialise != "none":
        found.append(Constant("STAGES", s.stages, f"of the ring; {s.fitting_stages} fit {s.shared_limit} B"))
    return found


def _warps(s: Solution) -> list[Constant]:
    d = s.design
    found = [Constant("LANES", LANES, "of a warp")]
    row = "LANES"
    if d.warps_per_row > 1:
        row = "ROW_THREADS"
        found.append(Constant("ROW_WARPS", d.warps_per_row, "of a group, which has a row of its own"))
        found.append(Constant(row, s.row_threads, "of a group", "LANES * ROW_WARPS"))
    if s.shared_out:
        found.append(Constant("ROW_CTAS", d.ctas_per_row, "of a cluster, which share a row"))
    if d.groups > 1:
        found.append(Constant("GROUPS", d.groups, "in a CTA; one takes every so many-th row of it"))
    if s.ahead:
        found.append(Constant("ROWS", d.rows_per_group, "of a group, which are on their way at once"))
    consumers = " * ".join(["GROUPS"] * (d.groups > 1) + ["ROW_WARPS"] * (d.warps_per_row > 1))
    if s.producers:
        first = "the first one that loads" if s.producers > 1 else "that loads"
        count = d.groups * d.warps_per_row
        found.append(Constant("PRODUCER_WARP", count, first, consumers))
    last = "1"
    if s.producers > 1:
        what = "a warpgroup, for its registers" if d.reallocate else "warps that load"
        what = what if d.specialise == "tma" else "warps that load and normalise"
        found.append(Constant("PRODUCER_WARPS", s.producers, what))
        last = "PRODUCER_WARPS"
    if d.specialise == "preprocess":
        found += _producers(s)
    elif d.producer_groups > 1:
        found.append(
            Constant("PRODUCER_GROUPS", d.producer_groups, "warps of them that load: they take turns, one row each")
        )
    threads = f"LANES * (PRODUCER_WARP + {last})" if s.producers else f"LANES * {consumers}" if consumers else "LANES"
    found.append(Constant("THREADS", s.threads, "of a CTA", threads))
    if d.ctas_per_sm > 1:
        found.append(Constant("CTAS_PER_SM", d.ctas_per_sm, "CTAs that share an SM"))
    for role, registers in (("PRODUCER", s.producer_registers), ("CONSUMER", s.consumer_registers)):
        if registers:
            found.append(Constant(f"{role}_REGISTERS", registers, "of a thread, after reallocation"))
    if s.shared_out:
        warps = " * ROW_WARPS" if d.warps_per_row > 1 else ""
        found.append(
            Constant("ROW_PARTS", s.parts, "warps of a cluster, each with its part of a row", f"ROW_CTAS{warps}")
        )
        if s.told > 1:
            note = "numbers that a warp tells all others: mean, squares, count, and one for 16 bytes"
            found.append(Constant("TOLD", s.told, note))
        found.append(Constant("TOLD_BYTES", 4 * s.told, "that it tells", "4 * TOLD" if s.told > 1 else "4"))
    elif s.statistics_warps > 1:
        found.append(Constant("ROW_BARRIER_ID", ROW_BARRIER_ID, "of the first group that sums a row"))
    if d.ring == "named":
        found += _named(s)
    return found


def _named(s: Solution) -> list[Constant]:
    full, warps = s.ring_barrier_id, []
    warps += ["PRODUCER_ROW_WARPS"] if s.producer_row_warps > 1 else ["1"]
    warps += ["ROW_WARPS"] if s.design.warps_per_row > 1 else ["1"]
    note = "of the producers and the group that share a stage"
    return [
        Constant("ROW_FULL_ID", full, "of the named barrier of the first stage"),
        Constant("ROW_EMPTY_ID", full + s.stages, "likewise", "ROW_FULL_ID + STAGES"),
        Constant("RING_THREADS", s.ring_threads, note, f"LANES * ({' + '.join(warps)})"),
    ]


def _producers(s: Solution) -> list[Constant]:
    groups, warps = s.design.producer_groups, s.producer_row_warps
    found = []
    if groups > 1:
        found.append(Constant("PRODUCER_GROUPS", groups, "of producers, each with a row of its own"))
    if warps > 1:
        divided = "PRODUCER_WARPS // PRODUCER_GROUPS" if groups > 1 else "PRODUCER_WARPS"
        found.append(Constant("PRODUCER_ROW_WARPS", warps, "of a producer group", divided))
        found.append(Constant("PRODUCER_ROW_THREADS", LANES * warps, "likewise", "LANES * PRODUCER_ROW_WARPS"))
    return found


def _vectors(s: Solution) -> list[Constant]:
    d, c = s.design, s.computed
    row = "ROW_THREADS" if d.warps_per_row > 1 else "LANES"
    wide = max(c.x.bytes, c.y.bytes)
    note = f"elements that a lane moves at once: {d.access_bytes} bytes of the wider of x and y"
    found = [
        Constant("VECTOR", s.vector, note, f"{d.access_bytes} // {wide}"),
    ]
    if s.shared_out:
        found.append(Constant("CHUNK", s.chunk, "elements of a row that a CTA has, at most", "COLUMNS // ROW_CTAS"))
        found.append(Constant("VECTORS", s.vectors, "of a thread in these", f"CHUNK // ({row} * VECTOR)"))
    elif s.long:
        part = s.vectors * s.vector
        found.append(Constant("VECTORS", s.vectors, "of a thread in a chunk", f"{part} // VECTOR"))
        note = "elements of a row that its threads hold at once"
        found.append(Constant("CHUNK", s.chunk, note, f"{row} * VECTOR * VECTORS"))
        if d.specialise == "none" and d.row == "shared":
            found.append(Constant("CHUNKS", s.chunks, "of the longest row", "COLUMNS // CHUNK"))
    else:
        note = "of a thread in a row"
        found.append(Constant("VECTORS", s.vectors, note, f"COLUMNS // ({row} * VECTOR)"))
    if d.specialise == "preprocess":
        row = "PRODUCER_ROW_THREADS" if s.producer_row_warps > 1 else "LANES"
        note = "of a producer's thread"
        found.append(Constant("PRODUCER_VECTORS", s.producer_vectors, note, f"COLUMNS // ({row} * VECTOR)"))
    if s.vector > 4 and (d.specialise == "preprocess" or d.scales == "shared"):
        found.append(Constant("PART", 4, "values of f32 that a lane moves at once: a vector is stored in parts"))
    if s.grain > 1:
        if d.specialise == "tma" or s.ahead:
            found.append(
                Constant("GRAIN", s.grain, "elements that fill 16 bytes: the unit of bulk copies", "16 // X_BYTES")
            )
        else:
            found.append(Constant("GRAIN", s.grain, "elements behind the last whole ones are moved singly", "VECTOR"))
    return found


def _limits(s: Solution) -> list[Constant]:
    d = s.design
    if s.shared_out:
        note = "that 32 bits count, and the rows of a cluster beyond, and CTAs"
        return [Constant("MAX_ROWS", s.most_rows, note, "(2**31 - 1) // (ROWS + ROW_CTAS)")]
    if not d.persistent:
        of_cta = " * ".join(["GROUPS"] * (d.groups > 1) + ["ROWS"] * s.ahead) or "1"
        return [
            Constant("MAX_ROWS", s.most_rows, "that 32 bits count, and the rows of a CTA beyond", f"2**31 - {of_cta}")
        ]
    groups = max(d.groups, d.producer_groups)
    named = "GROUPS" if d.groups >= d.producer_groups else "PRODUCER_GROUPS"
    divisor = f"({named} + 1)" if groups > 1 else "2"
    note = "that 32 bits count, and a step of every group of every CTA beyond"
    if d.ring == "named":
        divisor, note = "(STAGES + 1)", "that 32 bits count, and a round of every CTA's ring beyond"
    return [Constant("MAX_ROWS", s.most_rows, note, f"(2**31 - 1) // {divisor}")]
