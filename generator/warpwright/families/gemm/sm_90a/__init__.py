"""GEMM for Hopper: TMA ring, wgmma consumers, epilogue through shared memory."""

from warpwright import archs
from warpwright.families.gemm.sm_90a.phases import phases
from warpwright.families.gemm.sm_90a.planner import RULES, plan, resolved
from warpwright.families.gemm.sm_90a.prediction import predict
from warpwright.families.gemm.sm_90a.words import words
from warpwright.families.planning import Target, always

__all__ = ["SM90A"]

SM90A = Target(archs.SM90A, "gemm/sm_90a/kernel.py.j2", RULES, plan, words, predict, resolved, phases, always)
