"""The ladder as the chain sees it."""

from __future__ import annotations

from warpwright.families.ladder import models
from warpwright.families.ladder.elsewhere import ELSEWHERE, KNOWN_AS
from warpwright.families.ladder.rungs import FIRST_PERSISTENT, RUNGS
from warpwright.families.ladder.sm_90a import SM90A
from warpwright.families.ladder.sm_90a.timeline import timeline
from warpwright.families.ladder.sm_100a import SM100A
from warpwright.families.ladder.sm_100a.step import step as step_of_blackwell
from warpwright.families.ladder.starter import STARTER
from warpwright.families.planning import Contrast, Family
from warpwright.plan.step import Step
from warpwright.plan.types import Plan

__all__ = ["FAMILY"]


def _step(plan: Plan) -> Step:
    if plan.arch != SM90A.arch.name:
        return step_of_blackwell(plan)
    return Step(RUNGS[plan.design.rung - 1].adds, timeline(plan))


def _converts(plan: Plan, reader: Plan) -> bool:
    """Whether a kernel makes A from f32."""
    return bool(plan.kernel["x"]["dtype"] == "f32" and plan.kernel["y"]["dtype"] == reader.kernel["dtype"])


FAMILY = Family(
    name="ladder",
    kernel=models.Kernel,
    design=models.Design,
    problem=models.Problem,
    bench=(models.Problem(m=4096, n=4096, k=4096),),
    starter=STARTER,
    targets={"sm_90a": SM90A, "sm_100a": SM100A},
    known_as=KNOWN_AS,
    elsewhere=ELSEWHERE,
    stands_on=("gemm",),
    step=_step,
    contrast=Contrast(
        configuration="copy_sm90",
        reads=lambda plan: bool(plan.arch == SM90A.arch.name and plan.design.rung == FIRST_PERSISTENT),
        makes=_converts,
        argument="a",
        mode="M",
        unit=lambda plan: int(plan.design.tile_m),
        scalars={"alpha": 1.0},
    ),
)
