"""Rules of the epilogue's operands, which every arch's kernels have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, TypeVar

from warpwright.families.gemm.parts.chain import Step, chain_text
from warpwright.families.gemm.parts.computed import Computed
from warpwright.plan.rule import Finding, RuleSet

__all__ = ["add_operand_rules"]


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
