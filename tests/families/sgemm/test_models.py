"""What a person writes: the starter and the shipped file load, mistakes are named, and spelling is no identity."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.families.sgemm.points import legal
from warpwright import pipeline, resources
from warpwright.families.sgemm.models import Design, Kernel, Problem
from warpwright.families.sgemm.starter import STARTER


def test_the_starter_loads_as_it_stands_and_shows_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STARTER)
    exploration = pipeline.plan(str(tmp_path / "mine.yaml"), tmp_path / "out")
    plans = [variant.plan for variant in exploration.variants]
    assert len(plans) == 5
    assert all(plan.legal for plan in plans)
    for name, field in Design.model_fields.items():
        default = field.default
        if name in ("warps", "thread"):
            default = f"{{m: {default.m}, n: {default.n}}}"
        assert f"  {name}: {default} " in STARTER


def test_the_shipped_file_has_every_option() -> None:
    exploration = pipeline.plan(str(resources.configs() / "sgemm_sm90.yaml"), Path("out"))
    plans = [variant.plan for variant in exploration.variants]
    assert all(plan.legal for plan in plans)
    assert 16 <= len(plans) <= 24
    assert {plan.kernel["a"]["major"] for plan in plans} == {"m", "k"}
    assert {plan.kernel["b"]["major"] for plan in plans} == {"n", "k"}
    assert {plan.kernel["bias"] for plan in plans} == {True, False}
    assert {plan.kernel["activation"] for plan in plans} == {"relu", "identity"}
    seen = {field: {getattr(plan.design, field) for plan in plans} for field in vars(plans[0].design)}
    assert min(len(values) for values in seen.values()) > 1, seen
    assert {(plan.design.thread_m, plan.design.thread_n) for plan in plans} == {(8, 8), (16, 8), (8, 16)}
    asked = {(each["m"], each["n"], each["k"]) for each in exploration.spec.bench["problems"]}
    assert asked >= {(4096, 4096, 4096), (1024, 1024, 1024), (2048, 2048, 2048), (4000, 5000, 3000)}


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (Kernel, {"a": {"major": "n"}, "b": {"major": "n"}}),
        (Kernel, {"a": {"major": "m"}}),
        (Kernel, {"a": {"major": "m"}, "b": {"major": "n"}, "activation": "gelu"}),
        (Design, {"specialise": "consumer"}),
        (Design, {"thread": {"m": 4, "n": 8}}),
        (Design, {"warps": {"m": 0, "n": 1}}),
        (Design, {"tile_k": 128}),
        (Design, {"stages": "many"}),
        (Design, {"tile": 128}),
        (Problem, {"m": -1, "n": 1, "k": 1}),
        (Problem, {"m": 2**31, "n": 1, "k": 1}),
    ],
)
def test_mistakes(model: type[Kernel], given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(given)


def test_spelling_is_no_identity() -> None:
    plain, all_load = legal(), legal(specialise="none")
    again = {"warps": {"m": 4, "n": 2}, "thread": {"m": 16, "n": 8}, "lanes_m": 4, "stages": 4, "producer_warps": 1}
    assert legal(registers={"producer": 40, "consumer": 232}, unroll=plain.design.unroll, **again) == plain
    assert legal(specialise="none", registers="none", producer_warps="auto", stages=4) == all_load
    others = [
        plain,
        all_load,
        legal("k"),
        legal("m", "k"),
        legal(bias=False),
        legal(activation="identity"),
        legal(stages=3),
        legal(tile_k=8),
        legal(unroll=16),
        legal(thread={"m": 8, "n": 16}, warps={"m": 2, "n": 4}),
        legal(thread={"m": 8, "n": 8}),
        legal(warps={"m": 2, "n": 4}, lanes_m=8),
        legal(lane_order="plain"),
        legal(producer_warps=2),
        legal(registers={"producer": 24, "consumer": 240}),
        legal(ctas_per_sm=2, warps={"m": 2, "n": 2}),
        legal(raster="n"),
        legal(group=4),
    ]
    assert len({plan.identity for plan in others}) == len(others)
    assert len({plan.label for plan in others}) == len(others)
