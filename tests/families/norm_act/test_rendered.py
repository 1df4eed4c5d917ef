"""Rendered normalisations: three of them whole, and what holds for all: clean Python, nothing that is not used.

To renew the three after a change that is meant: python -m tests.render.golden
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.families.holding import check_python, check_used
from tests.families.norm_act.points import DTYPES, GOLDEN, legal, planned
from tests.render.golden import difference
from warpwright.plan.types import Plan
from warpwright.render import render

FOLDER = Path(__file__).with_name("golden")
#: Every branch of the template: counts of one and of more, in each design.
CHOICES: dict[str, tuple[Any, ...]] = {
    "specialise": ("none", "tma", "preprocess"),
    "warps_per_row": (1, 2),
    "groups": (1, 2),
    "norm": ("layer", "rms"),
    "residual": (False, True),
    "ctas_per_sm": (1, 2),
}
#: What only one design has.
OWN: dict[str, list[dict[str, Any]]] = {
    "none": [{"persistent": False}, {"access_bytes": 2}, {"scales": "shared"}, {"row": "streamed", "columns": 4096},
             {"row": "shared", "columns": 4096}, {"row": "shared", "columns": 4096, "persistent": False},
             {"persistent": False, "rows_per_group": 3},
             {"persistent": False, "rows_per_group": 2, "ctas_per_row": 4}],
    "tma": [
        {"reallocate": True, "ctas_per_sm": 1, "warps_per_row": 4},
        {"reallocate": True, "ctas_per_sm": 1, "warps_per_row": 4, "producer_groups": 2, "scales": "shared"},
        {"reallocate": True, "ctas_per_sm": 1, "warps_per_row": 4, "producer_groups": 4},
        {"producer_groups": 2},
        {"scales": "shared"},
        {"row": "shared", "columns": 4096},
        {"row": "streamed", "columns": 4096},
        {"row": "shared", "columns": 4096, "reallocate": True, "ctas_per_sm": 1, "warps_per_row": 4},
    ],
    "preprocess": [{"producer_warps": w, "producer_groups": q} for w, q in ((1, 1), (2, 1), (2, 2), (4, 2))]
    + [{"scales": "shared"}, {"ring": "named"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    designs = [dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values())]
    designs += [{**d, **own} for d in designs for own in OWN[d["specialise"]]]
    activations = itertools.cycle(("identity", "relu", "silu", "gelu_tanh", "gelu_erf"))
    dtypes = itertools.cycle(itertools.product(DTYPES, DTYPES, ("f32", "bf16", None), ("f16", None)))
    found = []
    for design, activation, (x, y, weight, bias) in zip(designs, activations, dtypes, strict=False):
        kernel = {"x": x, "y": y, "weight": weight, "bias": bias, "activation": activation}
        found.append(planned(**{"columns": 1024, **kernel, **design}))
    return [plan for plan in found if plan.legal]


@pytest.mark.parametrize("name", GOLDEN)
def test_kernels_are_as_they_were(name: str) -> None:
    if changes := difference(FOLDER / f"{name}.py", render(GOLDEN[name]())):
        pytest.fail(changes, False)


def test_they_are_clean_python_as_the_formatter_leaves_it(plans: list[Plan], tmp_path: Path) -> None:
    assert len(plans) > 250
    check_python(plans, tmp_path)


def test_only_what_is_used_is_rendered_and_no_count_of_one(plans: list[Plan]) -> None:
    for plan in plans:
        code = check_used(plan, 330)
        names = re.findall(r"^ +(\w+) = ", code, re.M)
        said = Counter(re.findall(r"\w+", code))
        assert not {name for name in names if said[name] < 2}, plan.label
        ones = {c.name for c in plan.constants if c.value == 1}
        # An index, an identifier, and what may be one as well as more.
        assert ones <= {"PRODUCER_WARP", "ROW_BARRIER_ID", "VECTOR", "VECTORS", "PRODUCER_VECTORS"}, (plan.label, ones)


def test_the_way_in_of_a_wide_row_is_one_branch() -> None:
    """A whole row, or chunk, is moved without a question for each vector."""
    assert render(legal()).count("if whole == COLUMNS:") == 1
    assert render(legal(row="shared", groups=1)).count("if whole >= CHUNK:") == 1
