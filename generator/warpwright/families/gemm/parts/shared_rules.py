"""Rules that every arch's kernels have: of the epilogue's operands and buffers, of the walk, of shared loads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, TypeVar

from warpwright.families.gemm.parts.chain import Step, chain_text
from warpwright.families.gemm.parts.computed import Computed
from warpwright.plan.rule import Finding, RuleSet, nearest_of

__all__ = ["add_group_rule", "add_operand_rules", "add_stages_rule", "multicast"]

_MAX_GROUP = 1024


class _Computing(Protocol):
    @property
    def computed(self) -> Computed: ...


S = TypeVar("S", bound=_Computing)


def add_operand_rules(rules: RuleSet[S]) -> None:
    """Add the rules to those of an arch."""
    for identifier, field, predicate in (
        ("epilogue.operands", "kernel.epilogue", _one_tile_operand),
        ("epilogue.operand", "kernel.c", _tile_operand),
        ("epilogue.dtype", "kernel.epilogue", _dtypes),
    ):
        rules.add(identifier, field)(predicate)


def _one_tile_operand(s: Any) -> Finding:
    """a chain has one tile operand at most: there is one kernel.c"""
    if len(s.computed.tile_operands) <= 1:
        return None
    kept: list[Step] = []
    for step in s.computed.steps:
        if not step.reads_tile or not any(other.reads_tile for other in kept):
            kept.append(step)
    return chain_text(s.computed.steps), "1 tile operand", chain_text(kept)


def _tile_operand(s: Any) -> Finding:
    """a chain with a tile operand needs kernel.c, and no other chain may give it"""
    given, wanted = s.computed.c is not None, bool(s.computed.tile_operands)
    if given == wanted:
        return None
    return ("given", "null, without a tile operand", "null") if given else ("null", "given", "{dtype: f16, major: n}")


def _dtypes(s: Any) -> Finding:
    """an operation takes a dtype only for a vector operand; a tile operand has that of kernel.c, a scalar f32"""
    wrong = [step for step in s.computed.steps if step.dtype != "f32" and not step.reads_vector]
    if not wrong:
        return None
    legal = [replace(step, dtype="f32") if step in wrong else step for step in s.computed.steps]
    return chain_text(s.computed.steps), f"no dtype for {', '.join(step.op.name for step in wrong)}", chain_text(legal)


def add_group_rule(rules: RuleSet[S]) -> None:
    """Add the rule of how many clusters walk together."""
    rules.add("scheduler.group", "design.scheduler.group")(_group)


def _group(s: Any) -> Finding:
    """a band is at most 1024 clusters wide: no L2 holds more"""
    group = s.asked.group
    return None if group <= _MAX_GROUP else (group, _MAX_GROUP, _MAX_GROUP)


def add_stages_rule(rules: RuleSet[S]) -> None:
    """Add the rule of the buffers through which D leaves."""
    rules.add("epilogue.stages", "design.epilogue_stages")(_epilogue_stages)


def _epilogue_stages(s: Any) -> Finding:
    """stores go through 1 to 8 buffers per warpgroup, a divisor of its subtiles; the direct path has none"""
    stages, subtiles = s.asked.epilogue_stages, s.output.subtiles
    if stages is None:
        return None
    if not s.asked.by_tma:
        return stages, "auto", "auto"
    if 1 <= stages <= 8 and subtiles % stages == 0:
        return None
    legal = [n for n in range(1, 9) if subtiles % n == 0]
    return stages, f"a divisor of {subtiles} up to 8", nearest_of(stages, legal)


def multicast(peers: int, rows: int, depth: int, major: str) -> Finding:
    """Whether `peers` CTAs can load a tile of rows x depth together, each whole swizzle patterns (8 lines) of it."""
    extent = rows if major == "k" else depth  # what is divided is the one that is not contiguous
    if peers <= 1 or extent % (8 * peers) == 0:
        return None
    legal = [n for n in (1, 2, 4) if extent % (8 * n) == 0]
    return peers, f"{extent} / {peers} a multiple of 8", nearest_of(peers, legal)
