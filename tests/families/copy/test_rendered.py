"""Rendered copies: two of them whole, and what holds for all: clean Python that says nothing that is not used.

To renew the two after a change that is meant: python -m tests.render.golden
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.families.copy.points import DTYPES, GOLDEN, legal
from tests.families.holding import check_python, check_used
from tests.render.golden import difference
from warpwright.plan.types import Plan
from warpwright.render import render

FOLDER = Path(__file__).with_name("golden")
#: Every branch of the template: counts of one and of more, both ways out.
CHOICES = {
    "stage_bytes": (2048, 1024),
    "consumer_warps": (1, 2),
    "producer_warps": (1, 2),
    "ctas_per_sm": (1, 2),
    "slots": (1, 2, "auto"),
    "store": ("tma", "direct"),
}


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    designs = (dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values()))
    some = [legal("f16", "bf16", **d) for d in designs if d["store"] == "tma" or d["slots"] == "auto"]
    return [*some, *(legal(x, y, store=store) for x in DTYPES for y in DTYPES for store in ("tma", "direct"))]


@pytest.mark.parametrize("name", GOLDEN)
def test_kernels_are_as_they_were(name: str) -> None:
    if changes := difference(FOLDER / f"{name}.py", render(GOLDEN[name]())):
        pytest.fail(changes, False)


def test_they_are_clean_python_as_the_formatter_leaves_it(plans: list[Plan], tmp_path: Path) -> None:
    check_python(plans, tmp_path)


def test_only_what_is_used_is_rendered_and_no_count_of_one(plans: list[Plan]) -> None:
    for plan in plans:
        check_used(plan, 220)
        ones = {c.name for c in plan.constants if c.value == 1}
        assert ones <= {"PRODUCER_WARP"}, (plan.label, ones)  # an index
