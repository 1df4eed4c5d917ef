"""What a person writes: the starter and the shipped files load, mistakes are named, and spelling is no identity."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.families.norm_act.points import DTYPES, legal
from warpwright import pipeline, resources
from warpwright.families.norm_act.models import Design, Kernel, Problem
from warpwright.families.norm_act.starter import STARTER

SHIPPED = {"norm_act_sm90": 4096} | {f"norm_act_{n}_sm90": n for n in (1024, 8192, 16384, 65536)}


def test_the_starter_loads_as_it_stands_and_shows_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(STARTER)
    exploration = pipeline.plan(str(tmp_path / "mine.yaml"), tmp_path / "out")
    plans = [variant.plan for variant in exploration.variants]
    assert len(plans) == 6
    assert all(plan.legal for plan in plans)
    for name, field in Design.model_fields.items():
        shown = str(field.default).lower() if isinstance(field.default, bool) else field.default
        assert f"  {name}: {shown} " in STARTER
    kernel = plans[0].kernel
    assert (kernel["norm"], kernel["eps"], kernel["residual"]) == ("layer", Kernel.model_fields["eps"].default, False)


def test_the_shipped_files_have_every_option_and_time_rows_of_their_own_length() -> None:
    plans = []
    for name, columns in SHIPPED.items():
        exploration = pipeline.plan(str(resources.configs() / f"{name}.yaml"), Path("out"))
        plans += [variant.plan for variant in exploration.variants]
        (problem,) = exploration.spec.bench["problems"]
        assert {plan.design.columns for plan in plans[-len(exploration.variants) :]} == {problem["n"]} == {columns}
        assert problem["m"] * problem["n"] * 2 > 50 << 20  # no L2 holds x and y
    assert all(plan.legal for plan in plans)
    seen = {field: {getattr(plan.design, field) for plan in plans} for field in vars(plans[0].design)}
    assert min(len(values) for values in seen.values()) > 1, seen
    assert seen["specialise"] == {"none", "preprocess", "tma"}
    kernels = [plan.kernel for plan in plans]
    assert {kernel["x"]["dtype"] for kernel in kernels} == {kernel["y"]["dtype"] for kernel in kernels} == set(DTYPES)
    assert {kernel["activation"] for kernel in kernels} == {"identity", "relu", "silu", "gelu_tanh", "gelu_erf"}
    for field in ("weight", "bias", "residual"):
        assert {bool(kernel[field]) for kernel in kernels} == {False, True}
    assert {kernel["norm"] for kernel in kernels} == {"layer", "rms"}


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (Kernel, {"x": {"dtype": "e4m3"}, "y": {"dtype": "f16"}}),
        (Kernel, {"x": {"dtype": "f16"}}),
        (Kernel, {"x": {"dtype": "f16"}, "y": {"dtype": "f16"}, "eps": 0.0}),
        (Kernel, {"x": {"dtype": "f16"}, "y": {"dtype": "f16"}, "eps": float("nan")}),
        (Kernel, {"x": {"dtype": "f16"}, "y": {"dtype": "f16"}, "activation": "gelu"}),
        (Kernel, {"x": {"dtype": "f16"}, "y": {"dtype": "f16"}, "norm": "batch"}),
        (Kernel, {"x": {"dtype": "f16"}, "y": {"dtype": "f16"}, "weight": "bf16"}),
        (Design, {"columns": 0}),
        (Design, {"columns": 65537}),
        (Design, {"access_bytes": 3}),
        (Design, {"stages": "many"}),
        (Design, {"tile": 128}),
        (Problem, {"m": -1, "n": 1}),
        (Problem, {"m": 1, "n": 2**31}),
    ],
)
def test_mistakes(model: type[Kernel], given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(given)


def test_spelling_is_no_identity() -> None:
    plain = legal()
    assert legal(specialise="tma", stages=9, producer_warps=1, persistent=True, access_bytes=16, eps=1e-5) == plain
    others = [
        plain,
        legal(specialise="none"),
        legal(specialise="none", persistent=False),
        legal(specialise="preprocess"),
        legal(specialise="preprocess", producer_warps=8, producer_groups=1, groups=2),
        legal(specialise="preprocess", producer_warps=8, producer_groups=2, groups=2),
        legal(groups=1),
        legal(groups=1, row="shared"),
        legal(groups=1, row="streamed"),
        legal(specialise="preprocess", ring="named"),
        legal(specialise="none", persistent=False, rows_per_group=2),
        legal(stages=6),
        legal(groups=1, ctas_per_sm=2, stages=9),
        legal(groups=4, reallocate=True),
        legal(groups=4, reallocate=True, producer_groups=2),
        legal(scales="shared"),
        legal(producer_groups=2, stages=12),
        legal(columns=2048),
        legal(specialise="none", access_bytes=8),
        legal(x="f16"),
        legal(y="f32"),
        legal(norm="rms"),
        legal(weight=None),
        legal(bias=None),
        legal(residual=True),
        legal(activation="silu"),
    ]
    assert len({plan.identity for plan in others}) == len({plan.label for plan in others}) == len(others)
    assert len({legal(eps=eps).identity for eps in (1e-5, 1e-6)}) == 2
