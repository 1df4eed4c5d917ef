"""The SGEMM family as the chain sees it."""

from __future__ import annotations

from warpwright.families.planning import Family
from warpwright.families.sgemm import models
from warpwright.families.sgemm.elsewhere import ELSEWHERE, KNOWN_AS, VALUES
from warpwright.families.sgemm.sm_90a import SM90A
from warpwright.families.sgemm.starter import STARTER

__all__ = ["FAMILY"]

FAMILY = Family(
    name="sgemm",
    kernel=models.Kernel,
    design=models.Design,
    problem=models.Problem,
    # Large; of few tiles, so that most SMs have none or one; in between; and ragged in every extent.
    bench=(
        models.Problem(m=4096, n=4096, k=4096),
        models.Problem(m=1024, n=1024, k=1024),
        models.Problem(m=2048, n=2048, k=2048),
        models.Problem(m=4000, n=5000, k=3000),
    ),
    starter=STARTER,
    targets={"sm_90a": SM90A},
    known_as=KNOWN_AS,
    elsewhere=ELSEWHERE,
    values=VALUES,
)
