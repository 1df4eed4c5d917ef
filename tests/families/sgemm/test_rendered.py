"""Rendered SGEMMs: three of them whole, and what holds for all: clean Python that says nothing that is not used.

To renew the three after a change that is meant: python -m tests.render.golden
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.families.holding import check_python, check_used
from tests.families.sgemm.points import GOLDEN, legal, planned
from tests.render.golden import difference
from warpwright.plan.types import Plan
from warpwright.render import render

FOLDER = Path(__file__).with_name("golden")
#: Every branch of the template: counts of one and of more, both ways to load, each major.
CHOICES = {
    "a": ("m", "k"),
    "b": ("n", "k"),
    "specialise": ("producer", "none"),
    "warps": ({"m": 1, "n": 1}, {"m": 2, "n": 1}, {"m": 1, "n": 2}, {"m": 2, "n": 2}),
    "tile_k": (8, 32),
    "stages": (2, 3),
}


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    points = (dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values()))
    some = [found for point in points if (found := planned(thread={"m": 8, "n": 8}, **point)).legal]
    assert len(some) > 60
    others = [
        {"bias": bias, "activation": activation, "raster": raster, "group": group}
        for bias in (True, False) for activation in ("relu", "identity") for raster in "mn" for group in (1, 4)
    ]  # fmt: skip
    more = [{"producer_warps": 2}, {"producer_warps": 4}, {"registers": "none", "thread": {"m": 8, "n": 8}},
            {"lane_order": "plain"}, {"lane_order": "interleaved"},
            {"ctas_per_sm": 2, "warps": {"m": 2, "n": 2}}]  # fmt: skip
    return [*some, *(legal(**given) for given in (*others, *more))]


@pytest.mark.parametrize("name", GOLDEN)
def test_kernels_are_as_they_were(name: str) -> None:
    if changes := difference(FOLDER / f"{name}.py", render(GOLDEN[name]())):
        pytest.fail(changes, False)


def test_they_are_clean_python_as_the_formatter_leaves_it(plans: list[Plan], tmp_path: Path) -> None:
    check_python(plans, tmp_path)


def test_only_what_is_used_is_rendered_and_no_count_of_one(plans: list[Plan]) -> None:
    for plan in plans:
        check_used(plan, 400)
        ones = {c.name for c in plan.constants if c.value == 1}
        assert ones <= {"PRODUCER_WARP"}, (plan.label, ones)  # an index
