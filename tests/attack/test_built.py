"""Plans of the whole space against their built kernels: shared memory to the byte, and no finding."""

from __future__ import annotations

from pathlib import Path

from tests.plan.space import legal_plans
from tests.plan.spanning import check_built

COUNT = 24
#: Of the sample of which tests/plan/test_built.py builds a part.
SEED = 43


def test_the_built_kernels_are_what_the_plans_say(seed: int, tmp_path: Path) -> None:
    check_built(legal_plans(SEED + seed, COUNT), tmp_path)
