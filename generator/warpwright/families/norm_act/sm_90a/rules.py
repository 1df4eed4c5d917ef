"""Which normalisations for sm_90a are legal; `warpwright rules` prints the list.

A predicate returns None or (value, limit, nearest legal value).
"""

from __future__ import annotations

import math

from warpwright.archs import SM90A
from warpwright.families.norm_act.sm_90a.solution import LANES, OVERHEAD, OVERHEAD_AHEAD, WARPGROUP, Solution, turn
from warpwright.plan.rule import Advice, Finding, RuleSet

__all__ = ["RULES"]

RULES: RuleSet[Solution] = RuleSet()

#: Warps of the largest CTA, of 1024 threads (CUDA C++ Programming Guide, compute capabilities).
_MAX_WARPS = 32
#: Named barriers of an SM: CTAs of 16 get four (the driver's occupancy calculator, H200, driver 580.159.04).
_BARRIERS_PER_SM = 64
#: CTAs of a cluster that every device of an arch takes (CUDA C++ Programming Guide, thread block clusters).
_MOST_CTAS = 8
#: Mbarriers beyond which no ring is worth its addresses.
_MAX_STAGES = 64


@RULES.add("access", "design.access_bytes")
def _(s: Solution) -> Finding:
    """a lane moves whole elements of x and of y at once; bulk copies need rows that begin at multiples of 16 bytes"""
    given = s.design.access_bytes
    least = 16 if s.specialise == "tma" or s.ahead else max(s.computed.x.bytes, s.computed.y.bytes)
    return None if given >= least else (given, f">= {least}", least)


@RULES.add("producers", "design.producer_warps")
def _(s: Solution) -> Finding:
    """one warp of each producer group loads by bulk copies, or there is a warpgroup that gives registers; those that
    preprocess are as many in each producer group; else there are none"""
    given, groups = s.producers, s.design.producer_groups
    if s.specialise == "preprocess":
        if given and given % groups == 0:
            return None
        return given, f"a multiple of {groups}", max(groups, given // groups * groups)
    only = 0 if s.specialise == "none" else WARPGROUP if s.design.reallocate else groups
    return None if given == only else (given, only, only)


@RULES.add("producer_groups", "design.producer_groups")
def _(s: Solution) -> Finding:
    """where all warps load there are no producer groups; one loads rows that registers do not hold; and of a warpgroup
    that gives registers four warps may load"""
    given = s.design.producer_groups
    of_warpgroup = s.specialise == "tma" and s.design.reallocate
    most = 1 if s.specialise == "none" or s.long else WARPGROUP if of_warpgroup else given
    return None if given <= most else (given, most, most)


@RULES.add("warps", "design.groups")
def _(s: Solution) -> Finding:
    """all groups and the producers together are 32 warps at most"""
    if s.warps <= _MAX_WARPS:
        return None
    fits = (_MAX_WARPS - s.producers) // s.design.warps_per_row
    nearest = fits if fits > 0 else Advice("fewer warps per row, or fewer producers")
    return f"{s.design.groups} ({s.warps} warps)", f"{_MAX_WARPS} warps", nearest


@RULES.add("warps.residency", "design.ctas_per_sm")
def _(s: Solution) -> Finding:
    """the CTAs that share an SM are 32 at most, and have no more threads than it holds"""
    ctas, most = s.design.ctas_per_sm, SM90A.threads_per_sm // s.threads
    if s.warps > _MAX_WARPS or ctas <= min(most, SM90A.ctas_per_sm):
        return None
    if most > SM90A.ctas_per_sm:
        return ctas, f"{SM90A.ctas_per_sm} CTAs", SM90A.ctas_per_sm
    return f"{ctas} ({s.threads * ctas} threads)", f"{SM90A.threads_per_sm} threads", most


@RULES.add("columns", "design.columns")
def _(s: Solution) -> Finding:
    """every lane of a group, and of a producer group that preprocesses, has as many vectors of a row as any other"""
    warps = s.design.warps_per_row
    if s.specialise == "preprocess":
        warps = math.lcm(warps, s.producer_row_warps)
    given, step = s.design.columns, s.chunk if s.long else LANES * max(s.vector, 1) * warps * s.design.ctas_per_row
    if given % step == 0:
        return None
    most = 65536 // step * step
    nearest = min(most, -(-given // step) * step) if most else Advice("fewer warps per row")
    return given, f"a multiple of {step}", nearest


@RULES.add("rows_per_group", "design.rows_per_group")
def _(s: Solution) -> Finding:
    """where all warps load, and registers hold a row, groups of CTAs that are not persistent may have several rows;
    CTAs that share rows have two or more, since one after another they wait for what others tell"""
    d = s.design
    if s.shared_out:
        return None if d.rows_per_group > 1 else (1, ">= 2", 2)
    possible = s.specialise == "none" and not d.persistent and not s.long
    return None if possible or d.rows_per_group == 1 else (d.rows_per_group, 1, 1)


@RULES.add("ctas_per_row", "design.ctas_per_row")
def _(s: Solution) -> Finding:
    """where all warps load, and registers hold a row, CTAs that are not persistent, of one group each, may share it;
    they are a cluster of 2, 4 or 8"""
    d, given = s.design, s.design.ctas_per_row
    possible = d.specialise == "none" and not d.persistent and not d.long and d.groups == 1
    if not possible:
        return None if given == 1 else (given, 1, 1)
    if given <= _MOST_CTAS and given & (given - 1) == 0:
        return None
    nearest = min(_MOST_CTAS, 1 << (given.bit_length() - 1))
    return given, "1, 2, 4 or 8", nearest


@RULES.add("ctas_per_row.sums", "design.warps_per_row")
def _(s: Solution) -> Finding:
    """a lane adds up what each warp of a cluster tells: a power of two of warps, 32 at most"""
    given, most = s.design.warps_per_row, _MAX_WARPS // s.design.ctas_per_row
    if not s.shared_out or (s.parts <= LANES and given & (given - 1) == 0):
        return None
    nearest = 1 << (min(given, most).bit_length() - 1) if most else Advice("fewer CTAs per row")
    return given, f"a power of two, {most} at most", nearest


@RULES.add("row", "design.row")
def _(s: Solution) -> Finding:
    """producers that normalise hold a row in registers"""
    return None if s.specialise != "preprocess" or not s.long else (s.design.row, "registers", "registers")


@RULES.add("row.groups", "design.groups")
def _(s: Solution) -> Finding:
    """a row that registers do not hold has the CTA to itself"""
    return None if not s.long or s.design.groups == 1 else (s.design.groups, 1, 1)


@RULES.add("row.stages", "design.stages")
def _(s: Solution) -> Finding:
    """a row that stays in shared memory fits the ring"""
    if s.design.row != "shared" or s.specialise != "tma" or s.stages >= s.chunks:
        return None
    fits = s.chunks <= s.fitting_stages
    advice = Advice("row: streamed, which loads it anew, or fewer columns")
    return f"{s.stages} of {s.chunk} elements", f"{s.chunks} of them", s.chunks if fits else advice


@RULES.add("registers", "design.columns")
def _(s: Solution) -> Finding:
    """a thread holds its part of a row, as it came and in f32, with weight and bias, and 40 registers or more beside,
    or 24 where one thread asks for all rows of a group"""
    beside = OVERHEAD_AHEAD if s.ahead else OVERHEAD
    room = (s.consumer_registers or s.entry_registers) - beside
    if s.warps > _MAX_WARPS or s.value_registers <= room:
        return None
    if s.long:
        return s.value_registers, f"{room} of {room + beside} registers", Advice("fewer warps, or fewer CTAs per SM")
    step = LANES * max(s.vector, 1) * s.design.warps_per_row * s.design.ctas_per_row
    if s.specialise == "preprocess":
        step = math.lcm(step, LANES * max(s.vector, 1) * s.producer_row_warps)
    fits = int(s.design.columns * room / s.value_registers) // step * step
    nearest = fits if fits > 0 else Advice("more warps per row, fewer groups, or fewer CTAs per SM")
    return (
        f"{s.design.columns} ({s.value_registers} registers)",
        f"{room} of {room + beside} registers",
        nearest,
    )


@RULES.add("reallocate", "design.reallocate")
def _(s: Solution) -> Finding:
    """only the tma design reallocates registers, of whole warpgroups, where a CTA has the SM to itself"""
    d = s.design
    whole = d.groups * d.warps_per_row % WARPGROUP == 0
    possible = d.specialise == "tma" and d.ctas_per_sm == 1 and whole
    return None if possible or not d.reallocate else ("true", "false", "false")


@RULES.add("named_barriers", "design.groups")
def _(s: Solution) -> Finding:
    """groups of several warps that sum a row have a named barrier each, of which a CTA has 15 beside its own"""
    # Producer groups, which sum where they preprocess, have 31 warps at most between them: 15 groups of two.
    most = SM90A.named_barriers - 1
    if s.specialise == "preprocess" or s.statistics_warps == 1 or s.design.groups <= most:
        return None
    return s.design.groups, f"{most} barriers", most


@RULES.add("named_barriers.ring", "design.ring")
def _(s: Solution) -> Finding:
    """named barriers tell of stages where threads fill them; bulk copies tell mbarriers alone"""
    named = s.design.ring == "named"
    return None if not named or s.specialise == "preprocess" else ("named", "mbarrier", "mbarrier")


@RULES.add("named_barriers.stages", "design.stages")
def _(s: Solution) -> Finding:
    """a stage takes two named barriers, of the 15 that a CTA has beside its own and less those that sum rows"""
    left = SM90A.named_barriers - s.ring_barrier_id
    if s.design.ring != "named" or 2 * s.stages <= left:
        return None
    unit = turn(s.design)
    fits = left // 2 // unit * unit
    advice = Advice("ring: mbarrier, of which there are as many as stages, or fewer groups")
    return f"{s.stages} ({2 * s.stages} barriers)", f"{left} barriers", fits if fits >= 2 else advice


@RULES.add("named_barriers.residency", "design.ctas_per_sm")
def _(s: Solution) -> Finding:
    """a CTA whose warps find their named barrier by a number that they compute takes all 16, of the SM's 64"""
    computed = s.design.ring == "named" or (s.statistics_warps > 1 and s.statistics_groups > 1)
    most = _BARRIERS_PER_SM // SM90A.named_barriers
    return None if not computed or s.design.ctas_per_sm <= most else (s.design.ctas_per_sm, most, most)


@RULES.add("persistent", "design.persistent")
def _(s: Solution) -> Finding:
    """a ring is worth its barriers where a CTA walks over many rows"""
    return None if s.specialise == "none" or s.design.persistent else ("false", "true", "true")


@RULES.add("scales", "design.scales")
def _(s: Solution) -> Finding:
    """what is held in shared memory is held for many rows, which are not long; and there is something to hold"""
    needed = not s.long and s.design.persistent and bool(s.computed.weight or s.computed.bias)
    return None if s.design.scales == "registers" or needed else ("shared", "registers", "registers")


@RULES.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """a ring has 2 to 64 stages; where all warps load, there is none"""
    if s.specialise == "none":
        return None if s.stages == 0 else (s.stages, "auto", "auto")
    if 2 <= s.stages <= _MAX_STAGES:
        return None
    return s.stages, f"2..{_MAX_STAGES}", min(max(s.stages, 2), _MAX_STAGES)


@RULES.add("stages.turns", "design.stages")
def _(s: Solution) -> Finding:
    """each stage is filled by one group and emptied by one, always: loads do not land in the order of their rows, and a
    group that waits for a stage of another's may see the phase before last"""
    unit = turn(s.design)
    if s.specialise == "none" or s.stages % unit == 0:
        return None
    return s.stages, f"a multiple of {unit}", max(unit, s.stages // unit * unit)


@RULES.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring, the sums and the barriers fit a CTA's share of the SM's shared memory"""
    if s.shared_bytes <= s.shared_limit:
        return None
    fits = s.fitting_stages // turn(s.design) * turn(s.design)
    way = "specialise: none, which needs no ring"
    way = "fewer rows per group" if s.ahead else "row: streamed" if s.design.row == "shared" else way
    advice = Advice(f"fewer columns, fewer CTAs per SM, or {way}")
    return f"{s.stages} ({s.shared_bytes} B)", f"{s.shared_limit} B", fits if fits >= 2 else advice
