"""What a gemm for sm_100a must fit into: stages, shared memory, tensor memory; `warpwright rules` prints them.

These rules read derived numbers, which make sense only where every rule of `shapes` holds.
"""

from __future__ import annotations

from warpwright.families.gemm.sm_100a.ring import size, sized
from warpwright.families.gemm.sm_100a.scaled import scales
from warpwright.families.gemm.sm_100a.solution import Solution
from warpwright.plan.rule import Advice, Finding, RuleSet

__all__ = ["BUDGET"]

BUDGET: RuleSet[Solution] = RuleSet()


@BUDGET.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """a ring needs two stages to overlap loading and computing"""
    stages = s.ring.stages
    return (stages, ">= 2", 2 if s.ring.fitting >= 2 else Advice("a smaller tile")) if stages < 2 else None


@BUDGET.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring, the epilogue buffers and the barriers fit the shared memory of one CTA"""
    fitting, stages, most = s.ring.fitting, s.ring.stages, s.asked.arch.shared_bytes
    if stages <= fitting:
        return None
    fits = fitting if fitting >= 2 else Advice("a smaller tile")
    return f"{stages} ({size(s.buffers)} B)", f"{most} B", fits


@BUDGET.add("tensor_memory", "design.accumulator_stages")
def _(s: Solution) -> Finding:
    """accumulators, tile.n columns per consumer and stage, fit 512 columns of tensor memory (PTX ISA 9.1, 9.7.16.2),
    beside the scales of two stages"""
    t, most, once = s.accumulators, s.asked.arch.tensor_columns, s.accumulators.consumers * s.asked.tile_n
    scaled = scales(s.asked)
    beside = 2 * scaled.columns if scaled else 0
    if t.stages * once + beside <= most:
        return None
    fitting = (most - beside) // once
    return f"{t.stages} ({t.stages * once + beside} columns)", f"{most} columns", fitting or Advice("a smaller tile.n")


@BUDGET.add("tensor_memory.scales", "design.stages")
def _(s: Solution) -> Finding:
    """each stage's scales have columns of their own: MMAs are in order behind a copy, a copy is not behind MMAs (PTX
    ISA 9.1, 9.7.16.6)"""
    room, stages = s.ring.room, s.ring.stages
    if scales(s.asked) is None or stages <= room or room < 2:  # below two the accumulators are too many
        return None
    return f"{stages} ({s.accumulators.used} columns)", f"{s.asked.arch.tensor_columns} columns", room


@BUDGET.add("tensor_memory.residents", "design.stages")
def _(s: Solution) -> Finding:
    """CTAs that one SM holds by their shared memory have columns there too: else allocations wait for each other (PTX
    ISA 9.1, 9.7.16.7), and of two clusters each may hold what the other waits for"""
    arch, columns = s.asked.arch, s.accumulators.columns

    def held(stages: int) -> int:
        """By threads and shared memory; registers may allow fewer."""
        shared = arch.shared_per_sm // (sized(s.asked, s.accumulators, s.output, stages) + arch.shared_reserved)
        return min(shared, arch.threads_per_sm // s.warps.threads, arch.ctas_per_sm)

    stages, most = s.ring.stages, arch.tensor_columns
    if columns > most or held(stages) * columns <= most:
        return None
    enough = next((n for n in range(stages, s.ring.fitting + 1) if held(n) * columns <= most), None)
    told = f"{stages} ({held(stages)} CTAs of {columns} columns)"
    return told, f"{most} columns", enough or Advice("fewer accumulator stages")


@BUDGET.add("tensor_memory.stages", "design.accumulator_stages")
def _(s: Solution) -> Finding:
    """one or two accumulators of each consumer: a third would wait like the second"""
    stages = s.accumulators.stages
    return None if stages in (1, 2) else (stages, "1 or 2", min(max(stages, 1), 2))


@BUDGET.add("tensor_memory.one_tile", "design.accumulator_stages")
def _(s: Solution) -> Finding:
    """a CTA that computes one tile has no other one whose MMAs a second accumulator could take"""
    bad = not s.asked.several_tiles and s.accumulators.stages > 1
    return (s.accumulators.stages, "1", 1) if bad else None
