"""Normalise and activate as the chain sees it."""

from warpwright.families.norm_act import models
from warpwright.families.norm_act.elsewhere import ELSEWHERE, KNOWN_AS
from warpwright.families.norm_act.sm_90a import SM90A
from warpwright.families.norm_act.starter import STARTER
from warpwright.families.planning import Family

__all__ = ["FAMILY"]

FAMILY = Family(
    name="norm_act",
    kernel=models.Kernel,
    design=models.Design,
    problem=models.Problem,
    bench=(models.Problem(m=32768, n=4096),),  # 268 MB of bf16 each way: no L2 holds it
    starter=STARTER,
    targets={"sm_90a": SM90A},
    known_as=KNOWN_AS,
    elsewhere=ELSEWHERE,
)
