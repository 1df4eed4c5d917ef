"""SGEMM for Hopper: producer warps fill a ring by TMA, consumer warps multiply by FFMA; and without such roles."""

from warpwright import archs
from warpwright.families.planning import Target, always
from warpwright.families.sgemm.sm_90a.phases import phases
from warpwright.families.sgemm.sm_90a.planner import plan, resolved
from warpwright.families.sgemm.sm_90a.prediction import predict
from warpwright.families.sgemm.sm_90a.rules import RULES
from warpwright.families.sgemm.sm_90a.words import words

__all__ = ["SM90A"]

SM90A = Target(
    archs.SM90A,
    "sgemm/sm_90a/kernel.py.j2",
    tuple(RULES.rules),
    plan,
    words,
    predict,
    resolved,
    phases,
    instrumented=always,
)
