"""What a person writes: the starter and the shipped file load, mistakes are named, and spelling is no identity."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.families.copy.points import DTYPES, legal
from warpwright import pipeline, resources
from warpwright.families.copy.models import Design, Kernel, Problem
from warpwright.families.copy.starter import STARTER


def test_the_starter_loads_as_it_stands_and_shows_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STARTER)
    exploration = pipeline.plan(str(tmp_path / "mine.yaml"), tmp_path / "out")
    plans = [variant.plan for variant in exploration.variants]
    assert len(plans) == 6
    assert all(plan.legal for plan in plans)
    for name, field in Design.model_fields.items():
        assert f"  {name}: {field.default} " in STARTER


def test_the_shipped_file_has_every_dtype_and_every_option() -> None:
    exploration = pipeline.plan(str(resources.configs() / "copy_sm90.yaml"), Path("out"))
    plans = [variant.plan for variant in exploration.variants]
    assert all(plan.legal for plan in plans)
    pairs = {(plan.kernel["x"]["dtype"], plan.kernel["y"]["dtype"]) for plan in plans}
    assert pairs == {(x, y) for x in DTYPES for y in DTYPES}
    seen = {field: {getattr(plan.design, field) for plan in plans} for field in vars(plans[0].design)}
    assert min(len(values) for values in seen.values()) > 1, seen
    assert min(problem["n"] * 4 for problem in exploration.spec.bench["problems"]) > 50 << 20  # no L2 holds x and y


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (Kernel, {"x": {"dtype": "e4m3"}, "y": {"dtype": "f16"}}),
        (Kernel, {"x": {"dtype": "f16"}}),
        (Design, {"stage_bytes": 0}),
        (Design, {"stages": "many"}),
        (Design, {"store": "stg"}),
        (Design, {"tile": 128}),
        (Problem, {"n": -1}),
        (Problem, {"n": 2**40 + 1}),
    ],
)
def test_mistakes(model: type[Kernel], given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(given)


def test_spelling_is_no_identity() -> None:
    plain, through_shared = legal(), legal(store="tma")
    assert legal(stages=4, slots="auto", ctas_per_sm=4, store="direct", stage_bytes=4096, consumer_warps=4) == plain
    assert legal(store="tma", slots=2, producer_warps=1, stages=4) == through_shared
    others = [
        plain,
        through_shared,
        legal(y="f32"),
        legal(x="bf16"),
        legal(stages=3),
        legal(slots=3, store="tma"),
        legal(producer_warps=2),
        legal(consumer_warps=2),
        legal(stage_bytes=8192, stages=4),
        legal(ctas_per_sm=1, stages=4),
    ]
    assert len({plan.identity for plan in others}) == 10
    assert len({plan.label for plan in others}) == 10


def test_a_stage_counts_the_wider_dtype() -> None:
    """The same choice of a stage, whichever way the cast goes."""
    assert {legal(x, y).design.stage_elements for x, y in (("f16", "f32"), ("f32", "f16"), ("f32", "f32"))} == {1024}
    assert legal("f16", "bf16").design.stage_elements == 2048
