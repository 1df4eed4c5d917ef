"""The copy family as the chain sees it."""

from warpwright.families.copy import models
from warpwright.families.copy.elsewhere import ELSEWHERE, KNOWN_AS
from warpwright.families.copy.sm_90a import SM90A
from warpwright.families.copy.starter import STARTER
from warpwright.families.planning import Family

__all__ = ["FAMILY"]

FAMILY = Family(
    name="copy",
    kernel=models.Kernel,
    design=models.Design,
    problem=models.Problem,
    # So large that only DRAM matters, and one of which the launch takes a tenth of the time.
    bench=(models.Problem(n=2**28), models.Problem(n=2**24)),
    starter=STARTER,
    targets={"sm_90a": SM90A},
    known_as=KNOWN_AS,
    elsewhere=ELSEWHERE,
)
