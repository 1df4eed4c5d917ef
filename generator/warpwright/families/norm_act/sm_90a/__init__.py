"""Normalise and activate for Hopper: all warps do everything, or a ring divides who loads from who computes."""

from warpwright import archs
from warpwright.families.norm_act.sm_90a.phases import phases
from warpwright.families.norm_act.sm_90a.planner import plan, resolved
from warpwright.families.norm_act.sm_90a.prediction import predict
from warpwright.families.norm_act.sm_90a.rules import RULES
from warpwright.families.norm_act.sm_90a.words import words
from warpwright.families.planning import Target, always

__all__ = ["SM90A"]


SM90A = Target(
    archs.SM90A,
    "norm_act/sm_90a/kernel.py.j2",
    tuple(RULES.rules),
    plan,
    words,
    predict,
    resolved,
    phases,
    instrumented=always,
)
