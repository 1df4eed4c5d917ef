"""What a person writes: the starter and the shipped file load, mistakes are named, and spelling is no identity."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.families.ladder.points import RUNGS, legal
from warpwright import pipeline, resources
from warpwright.families.ladder.models import Design, Kernel
from warpwright.families.ladder.starter import STARTER


def test_the_starter_loads_as_it_stands_and_shows_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STARTER)
    exploration = pipeline.plan(str(tmp_path / "mine.yaml"), tmp_path / "out")
    plans = [variant.plan for variant in exploration.variants]
    assert [plan.design.rung for plan in plans] == list(RUNGS)
    assert all(plan.legal for plan in plans)
    assert plans == [legal(rung) for rung in RUNGS]


def test_the_shipped_file_has_every_rung_with_one_tile() -> None:
    exploration = pipeline.plan(str(resources.configs() / "ladder_sm90.yaml"), Path("out"))
    plans = [variant.plan for variant in exploration.variants]
    assert plans == [legal(rung) for rung in RUNGS]
    assert exploration.spec.bench["problems"] == [{"m": 4096, "n": 4096, "k": 4096, "l": 1}]


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (Kernel, {"dtype": "f32"}),
        (Kernel, {"epilogue": ["relu"]}),
        (Design, {}),
        (Design, {"rung": 0}),
        (Design, {"rung": 10}),
        (Design, {"rung": 1, "stages": 0}),
        (Design, {"rung": 1, "cluster": {"m": 2}}),
    ],
)
def test_mistakes(model: type[Kernel], given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(given)


def test_spelling_is_no_identity() -> None:
    assert legal(4, stages=6) == legal(4)
    assert legal(1, stages=1) == legal(1)
    others = [
        *(legal(rung) for rung in RUNGS),
        legal(4, stages=5),
        legal(1, dtype="bf16"),
        legal(1, m=64),
        legal(1, k=32),
    ]
    assert len({plan.identity for plan in others}) == len({plan.label for plan in others}) == len(others)
    assert len({plan.symbol for plan in others}) == len(others)
