"""Copy for Hopper: bulk copies bring chunks into a ring, warps scale them on their way out."""

from warpwright import archs
from warpwright.families.copy.sm_90a.phases import phases
from warpwright.families.copy.sm_90a.planner import plan, resolved
from warpwright.families.copy.sm_90a.prediction import predict
from warpwright.families.copy.sm_90a.rules import RULES
from warpwright.families.copy.sm_90a.words import words
from warpwright.families.planning import Target, always

__all__ = ["SM90A"]

SM90A = Target(
    archs.SM90A, "copy/sm_90a/kernel.py.j2", tuple(RULES.rules), plan, words, predict, resolved, phases, always
)
