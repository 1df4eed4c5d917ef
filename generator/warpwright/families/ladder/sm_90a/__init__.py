"""The ladder for Hopper: four kernels of one role, and five of the GEMM's."""

from warpwright import archs
from warpwright.families.ladder.sm_90a.phases import phases
from warpwright.families.ladder.sm_90a.planner import plan, resolved
from warpwright.families.ladder.sm_90a.prediction import predict
from warpwright.families.ladder.sm_90a.rules import RULES
from warpwright.families.ladder.sm_90a.words import words
from warpwright.families.planning import Target, always

__all__ = ["SM90A"]

SM90A = Target(
    archs.SM90A,
    "ladder/sm_90a/kernel.py.j2",
    tuple(RULES.rules),
    plan,
    words,
    predict,
    resolved,
    phases,
    always,
)
