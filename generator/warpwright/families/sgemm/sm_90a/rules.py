"""Which SGEMMs for sm_90a are legal; `warpwright rules` prints the list.

A predicate returns None or (value, limit, nearest legal value).
"""

from __future__ import annotations

from warpwright.archs import SM90A
from warpwright.families.sgemm.models import Registers
from warpwright.families.sgemm.sm_90a.solution import BYTES, MOST_STAGES, Solution
from warpwright.families.sgemm.sm_90a.warps import WARPGROUP, most_consumer_registers, warps
from warpwright.plan.rule import Advice, Finding, RuleSet

__all__ = ["RULES"]

RULES: RuleSet[Solution] = RuleSet()

#: Warps of the largest CTA, of 1024 threads (CUDA C++ Programming Guide, compute capabilities).
_MAX_WARPS = 32
_MAX_PRODUCERS = 4


@RULES.add("a.major", "kernel.a.major")
def _(s: Solution) -> Finding:
    """threads that load by themselves copy 16 bytes along M: they cannot transpose, nor swizzle K-major rows"""
    major = s.kernel.a.major
    return None if s.specialised or major == "m" else (f"{major} (and specialise: none)", "m", "m")


@RULES.add("b.major", "kernel.b.major")
def _(s: Solution) -> Finding:
    """threads that load by themselves copy 16 bytes along N: they cannot transpose, nor swizzle K-major rows"""
    major = s.kernel.b.major
    return None if s.specialised or major == "n" else (f"{major} (and specialise: none)", "n", "n")


@RULES.add("producer_warps", "design.producer_warps")
def _(s: Solution) -> Finding:
    """1 to 4 warps load; where all warps load and compute, there is no producer"""
    given = s.design.producer_warps
    if given == "auto":
        return None
    if not s.specialised:
        return f"{given} (and specialise: none)", "auto", "auto"
    return None if given <= _MAX_PRODUCERS else (given, f"1..{_MAX_PRODUCERS}", _MAX_PRODUCERS)


@RULES.add("warps", "design.warps.m")
def _(s: Solution) -> Finding:
    """all warps together are 32 at most"""
    grid, w = s.design.warps, s.warps
    if w.total <= _MAX_WARPS:
        return None
    others = w.total - w.computing
    fit = (_MAX_WARPS - others) // grid.n
    nearest = fit if fit > 0 else Advice("fewer warps along N")
    return f"{grid.m} (x {grid.n}, and {others} others)", f"{_MAX_WARPS} warps", nearest


@RULES.add("warps.residency", "design.ctas_per_sm")
def _(s: Solution) -> Finding:
    """the CTAs that share an SM have no more threads than it holds"""
    ctas = s.design.ctas_per_sm
    if s.warps.total > _MAX_WARPS or s.warps.threads * ctas <= SM90A.threads_per_sm:
        return None
    most = SM90A.threads_per_sm
    return f"{ctas} ({s.warps.threads * ctas} threads)", f"{most} threads", most // s.warps.threads


@RULES.add("tile.m", "design.warps.m")
def _(s: Solution) -> Finding:
    """a TMA box, and so a tile, has 256 rows at most"""
    return _box(s.specialised, s.design.warps.m, s.tile_m)


@RULES.add("tile.n", "design.warps.n")
def _(s: Solution) -> Finding:
    """a TMA box, and so a tile, has 256 columns at most"""
    return _box(s.specialised, s.design.warps.n, s.tile_n)


def _box(by_tma: bool, warps: int, tile: int) -> Finding:
    most = SM90A.tma_box
    if not by_tma or tile <= most:
        return None
    return f"{warps} ({tile})", most, most // (tile // warps)


@RULES.add("tile.k", "design.tile_k")
def _(s: Solution) -> Finding:
    """rows of K are swizzled in shared memory, in up to 128 bytes"""
    depth, most = s.design.tile_k, 128 // BYTES
    return None if depth <= most or "k" not in (s.kernel.a.major, s.kernel.b.major) else (depth, most, most)


@RULES.add("loads", "design.tile_k")
def _(s: Solution) -> Finding:
    """where all threads load, every one of them copies as many vectors of 16 bytes of A, and of B, in each stage"""
    depth = s.design.tile_k
    if s.specialised or _shared_evenly(s, depth):
        return None
    nearest = next((k for k in (8, 16, 32) if _shared_evenly(s, k)), Advice("other warps, or another thread tile"))
    vectors = f"{s.vectors_a} and {s.vectors_b} vectors"
    return f"{depth} ({vectors})", f"multiples of {s.warps.threads} threads", nearest


def _shared_evenly(s: Solution, depth: int) -> bool:
    vectors = (s.vectors_a * depth // s.design.tile_k, s.vectors_b * depth // s.design.tile_k)
    return not any(number % s.warps.threads for number in vectors)


@RULES.add("unroll", "design.unroll")
def _(s: Solution) -> Finding:
    """steps of K are written out up to a whole stage; of K-major operands those four that are read at once, or eight
    where a thread has registers to read four ahead"""
    along_k = "k" in (s.kernel.a.major, s.kernel.b.major)
    most = s.usual_unroll if along_k else s.design.tile_k
    least = s.usual_unroll if along_k else 2
    return None if least <= s.unroll <= most else (s.unroll, f"{least}..{most}", least if s.unroll < least else most)


@RULES.add("registers.specialise", "design.registers")
def _(s: Solution) -> Finding:
    """registers are moved from producers to whole warpgroups of consumers: there must be both"""
    if not s.warps.split or (s.specialised and s.warps.computing % WARPGROUP == 0):
        return None
    who = f"{s.warps.computing} consumer warps" if s.specialised else "no producer"
    return f"{_text(s)} (and {who})", "auto, or none", "auto"


@RULES.add("registers.values", "design.registers")
def _(s: Solution) -> Finding:
    """setmaxnreg takes multiples of 8 from 24 to 256, of which 255 can be used"""
    if not s.warps.split or all(24 <= number <= 256 and number % 8 == 0 for number in s.warps.split):
        return None
    return _text(s), "multiples of 8 from 24 to 256", "auto"


@RULES.add("registers.pool", "design.registers")
def _(s: Solution) -> Finding:
    """producers give registers up and consumers take no more than those: all warps together hold no more than the CTA
    was launched with, or the request would be waited for for ever"""
    w = s.warps
    if not w.split:
        return None
    producer, consumer = w.split
    most = most_consumer_registers(w.entry_registers, w.total, w.computing, producer)
    if producer <= w.entry_registers <= consumer <= most:
        return None
    limit = f"at most {w.entry_registers} for producers, {w.entry_registers} to {most} for consumers"
    return _text(s), limit, "auto"


def _text(s: Solution) -> str:
    given = s.design.registers
    return f"{given.producer}/{given.consumer}" if isinstance(given, Registers) else given


@RULES.add("registers.thread", "design.thread.m")
def _(s: Solution) -> Finding:
    """a thread holds its part of D, what it multiplies, and 8 registers or more of addresses and states"""
    w, thread = s.warps, s.design.thread
    if w.needed <= w.registers:
        return None
    fewer = s.design.model_copy(update={"thread": thread.model_copy(update={"m": 8})})
    fits = thread.m == 16 and warps(fewer, s.kernel).needed <= w.registers
    nearest = 8 if fits else Advice("8 columns, fewer warps, or fewer CTAs per SM")
    return f"{thread.m} (x {thread.n}: {w.needed} registers)", f"{w.registers} registers", nearest


@RULES.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """a ring needs two stages to load one while another is read; more than six gain nothing"""
    if 2 <= s.stages <= MOST_STAGES:
        return None
    return s.stages, f"2..{MOST_STAGES}", 2 if s.stages < 2 else MOST_STAGES


@RULES.add("stages.producers", "design.producer_warps")
def _(s: Solution) -> Finding:
    """producers that take turns wait at most one phase ahead of their stage: no more of them than stages"""
    producers = s.warps.producers
    return None if producers <= max(s.stages, 1) else (producers, f"{s.stages} stages", max(s.stages, 1))


@RULES.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring and its barriers fit a CTA's share of the SM's shared memory"""
    if s.shared_bytes <= s.shared_limit:
        return None
    fits = (
        min(s.fitting_stages, MOST_STAGES) if s.fitting_stages >= 2 else Advice("smaller stages, or fewer CTAs per SM")
    )
    return f"{s.stages} ({s.shared_bytes} B)", f"{s.shared_limit} B", fits
