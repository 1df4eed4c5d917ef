"""The GEMM family as the chain sees it."""

from __future__ import annotations

from warpwright.families.gemm import models
from warpwright.families.gemm.conflicts import conflict
from warpwright.families.gemm.elsewhere import ELSEWHERE, KNOWN_AS, VALUES
from warpwright.families.gemm.sm_90a import SM90A
from warpwright.families.gemm.sm_100a import SM100A, SM103A, SM110A, SM120A
from warpwright.families.gemm.starter import STARTER
from warpwright.families.planning import Family

__all__ = ["FAMILY"]


FAMILY = Family(
    name="gemm",
    kernel=models.Kernel,
    design=models.Design,
    problem=models.Problem,
    # Large enough for the tensor cores to be the limit.
    bench=(models.Problem(m=4096, n=4096, k=4096), models.Problem(m=8192, n=8192, k=8192)),
    starter=STARTER,
    targets={"sm_90a": SM90A, "sm_100a": SM100A, "sm_103a": SM103A, "sm_110a": SM110A, "sm_120a": SM120A},
    conflict=conflict,
    known_as=KNOWN_AS,
    elsewhere=ELSEWHERE,
    values=VALUES,
)
