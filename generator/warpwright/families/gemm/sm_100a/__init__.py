"""GEMM for Blackwell: TMA ring, tcgen05 into tensor memory, epilogue warps beside."""

from dataclasses import replace

from warpwright import archs
from warpwright.families.gemm.sm_100a.phases import phases
from warpwright.families.gemm.sm_100a.planner import RULES, plan, resolved
from warpwright.families.gemm.sm_100a.prediction import predict
from warpwright.families.gemm.sm_100a.words import words
from warpwright.families.planning import Target

__all__ = ["SM100A", "SM103A", "SM110A", "SM120A"]

SM100A = Target(archs.SM100A, "gemm/sm_100a/kernel.py.j2", RULES, plan, words, predict, resolved, phases)
#: What differs is a matter of limits and of the name; sm_120a, without tensor memory, is refused by a rule.
SM103A, SM110A, SM120A = (replace(SM100A, arch=arch) for arch in (archs.SM103A, archs.SM110A, archs.SM120A))
