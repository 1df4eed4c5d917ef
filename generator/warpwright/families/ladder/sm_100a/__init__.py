"""The ladder for Blackwell: three kernels of one role, and three of the GEMM's."""

from warpwright import archs
from warpwright.families.ladder.sm_100a.phases import phases
from warpwright.families.ladder.sm_100a.planner import plan, resolved
from warpwright.families.ladder.sm_100a.prediction import predict
from warpwright.families.ladder.sm_100a.rules import RULES
from warpwright.families.ladder.sm_100a.words import words
from warpwright.families.planning import Target

__all__ = ["SM100A"]

SM100A = Target(
    archs.SM100A,
    "ladder/sm_100a/kernel.py.j2",
    tuple(RULES.rules),
    plan,
    words,
    predict,
    resolved,
    phases,
)
