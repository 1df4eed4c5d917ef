"""Rendered rungs: those of one role whole, and what makes them a ladder: small differences between neighbours.

To renew the whole ones after a change that is meant: python -m tests.render.golden
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.families.holding import check_python, check_used
from tests.families.ladder.points import GOLDEN, RUNGS, legal
from tests.render.golden import difference as from_golden
from warpwright.families.ladder.rungs import RUNGS as NAMED
from warpwright.plan.types import Plan
from warpwright.render import render
from warpwright.steps.difference import changed, difference

FOLDER = Path(__file__).with_name("golden")


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    tiles = [(m, n, k) for m in (64, 128) for n in (32, 96, 128) for k in (32, 64)]
    return [legal(rung, *tile, dtype=dtype) for rung in (1, 2, 3, 4) for tile in tiles for dtype in ("f16", "bf16")]


@pytest.mark.parametrize("name", GOLDEN)
def test_kernels_are_as_they_were(name: str) -> None:
    if changes := from_golden(FOLDER / f"{name}.py", render(GOLDEN[name]())):
        pytest.fail(changes, False)


def test_they_are_clean_python_as_the_formatter_leaves_it(plans: list[Plan], tmp_path: Path) -> None:
    check_python(plans, tmp_path)


def test_only_what_is_used_is_rendered(plans: list[Plan]) -> None:
    for plan in plans:
        check_used(plan, 345)


def test_neighbours_differ_by_what_the_next_one_adds() -> None:
    """Lines that differ; the step to TMA replaces loads, stores and the host's part, that to clusters counts them."""
    sources = {rung: render(legal(rung)) for rung in RUNGS}
    lines = {rung: changed(difference(sources[rung - 1], sources[rung])) for rung in RUNGS if rung > 1}
    most = {2: 12, 3: 200, 4: 40, 5: 80, 6: 40, 7: 100, 8: 50, 9: 50}
    assert all(0 < lines[rung] <= most[rung] for rung in most), lines
    for rung, source in sources.items():
        assert f"Rung {rung} of 9: {NAMED[rung - 1].adds}." in source


def test_rungs_with_roles_are_the_gemm_s_own_kernels() -> None:
    from tests.families.ladder.points import point
    from warpwright.families.ladder.sm_90a.solution import as_gemm
    from warpwright.plan import plan

    for rung in (5, 6, 7, 8, 9):
        own, same = render(legal(rung)), render(plan(as_gemm(point(rung))))
        assert own.split('"""', 2)[2] == same.split('"""', 2)[2]
