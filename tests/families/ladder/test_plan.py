"""What holds for every rung: planning never raises, gives reasons, and keeps the invariants of a legal plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.families.holding import check_buffers, check_constants, check_illegal
from tests.families.ladder.points import RUNGS, legal, planned
from warpwright.archs import SM90A
from warpwright.device.launch import resident_ctas
from warpwright.families import family
from warpwright.plan.types import Plan

anything = st.fixed_dictionaries(
    {
        "rung": st.sampled_from(RUNGS),
        "m": st.sampled_from((32, 64, 128, 256)),
        "n": st.sampled_from((8, 32, 64, 96, 128, 256)),
        "k": st.sampled_from((16, 32, 64, 128)),
        "dtype": st.sampled_from(("f16", "bf16")),
        "stages": st.just("auto") | st.integers(1, 20),
    }
)


def check_legal(plan: Plan) -> None:
    kernel = plan.main
    end = check_buffers(kernel)
    assert end <= kernel.shared_bytes < end + 1024
    assert kernel.shared_bytes <= SM90A.shared_bytes
    numbers = check_constants(plan)
    assert numbers["THREADS"] == kernel.threads


@settings(max_examples=200, deadline=None)
@given(anything)
def test_a_plan_is_legal_in_every_respect_or_says_why_not(choices: dict[str, Any]) -> None:
    plan = planned(**choices)
    assert plan == planned(**choices)
    if plan.legal:
        check_legal(plan)
        return
    check_illegal(plan, {"M": 1, "N": 1, "K": 1, "L": 1})


@pytest.mark.parametrize("rung", [1, 2, 3, 4])
@pytest.mark.parametrize("tile", [(128, 128, 64), (64, 32, 32)])
def test_a_cta_of_one_role_has_its_sm_to_itself(rung: int, tile: tuple[int, int, int]) -> None:
    """Else its neighbours would hide what the next rung is to hide."""
    assert resident_ctas(legal(rung, *tile).main, SM90A) == 1


def test_each_rung_has_what_it_adds_and_what_came_before() -> None:
    plans = {rung: legal(rung) for rung in RUNGS}

    def first(has: Any) -> int:
        return next(rung for rung, plan in plans.items() if has(plan))

    def since(rung: int, has: Any) -> bool:
        return [has(plan) for plan in plans.values()] == [r >= rung for r in RUNGS]

    assert since(3, lambda plan: any(c.direction == "load" for c in plan.main.copies))
    assert since(4, lambda plan: plan.design.stages > 1)
    assert since(5, lambda plan: any(role.name == "producer" for role in plan.main.roles))
    assert since(6, lambda plan: plan.design.persistent and plan.design.group > 1)
    assert since(7, lambda plan: plan.main.cluster[0] == 2)
    assert since(8, lambda plan: plan.design.consumers == 2)
    assert since(9, lambda plan: plan.design.schedule == "pingpong")
    assert first(lambda plan: not plan.design.one_cta) == 2
    # One tile, one ring, and one way to be called: but for the grid limit, which persistent kernels are given.
    assert len({(plan.design.tile_m, plan.design.tile_n, plan.design.tile_k) for plan in plans.values()}) == 1
    assert {plan.design.stages for rung, plan in plans.items() if rung >= 4} == {6}
    assert len({plan.arguments[:4] for plan in plans.values()}) == 1
    assert len({family("ladder").step(plan).adds for plan in plans.values()}) == 9  # type: ignore[union-attr]
