"""The dtypes of a GEMM: which go together, what follows from them, and that those of before are what they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from warpwright import families
from warpwright.dtypes import DTYPES, SCALED, element
from warpwright.families.gemm.conflicts import conflict
from warpwright.families.gemm.models import Kernel, OperandA, OperandB, OperandD
from warpwright.spec import SpecErrors, load

TEXT = """\
version: 1
name: sample
purpose: a sample
kernel:
  family: gemm
  arch: sm_90a
  a: {{dtype: {a}, major: {a_major}}}
  b: {{dtype: {b}, major: {b_major}}}
  d: {{dtype: {d}, major: n}}
{more}
design:
  tile: {{m: 128, n: 128, k: 64}}
"""


def kernel(a: str, b: str = "", d: str = "f32", majors: str = "kk", **more: Any) -> Kernel:
    tree = {"a": {"dtype": a, "major": majors[0]}, "b": {"dtype": b or a, "major": majors[1]}}
    return Kernel.model_validate({**tree, "d": {"dtype": d, "major": "n"}, **more})


@pytest.mark.parametrize("a", ["f16", "bf16", "tf32", "e4m3", "e5m2", "i8", *SCALED])
def test_a_format_goes_with_itself_and_is_summed_in_its_accumulator(a: str) -> None:
    made = kernel(a)
    assert conflict(made) is None
    assert made.accumulator == ("i32" if a == "i8" else "f32")
    assert conflict(kernel(a, accumulator=made.accumulator)) is None
    given = Kernel(a=OperandA(dtype=a, major="k"), b=OperandB(dtype=a, major="k"), d=OperandD(dtype="f32", major="n"))
    assert given == made


@pytest.mark.parametrize(("a", "b"), [("e4m3", "e5m2"), ("e5m2", "e4m3"), ("mxf8_e5m2", "mxf8_e4m3")])
def test_formats_of_8_bits_mix(a: str, b: str) -> None:
    assert conflict(kernel(a, b)) is None


@pytest.mark.parametrize(
    ("given", "field", "nearest"),
    [
        (kernel("f16", "bf16"), "kernel.b.dtype", "f16"),
        (kernel("e4m3", "f16"), "kernel.b.dtype", "e4m3"),
        (kernel("e4m3", "mxf8_e4m3"), "kernel.b.dtype", "e4m3"),
        (kernel("mxf4", "nvf4"), "kernel.b.dtype", "mxf4"),
        (kernel("i8", "e4m3"), "kernel.b.dtype", "i8"),
        (kernel("i8", accumulator="f32"), "kernel.accumulator", "i32"),
        (kernel("e4m3", accumulator="i32"), "kernel.accumulator", "f32"),
        (kernel("f16", d="i32"), "kernel.d.dtype", "f32"),
        (kernel("i8", d="i32", epilogue=("relu",)), "kernel.d.dtype", "f32"),
        (kernel("mxf4", majors="mk"), "kernel.a.major", "k"),
        (kernel("nvf4", majors="kn"), "kernel.b.major", "k"),
    ],
)
def test_what_contradicts_itself_is_told_with_what_would_do(given: Kernel, field: str, nearest: str) -> None:
    found = conflict(given)
    assert found is not None
    assert (found.field, found.nearest) == (field, nearest)
    tree = given.model_dump()
    *around, last = field.split(".")[1:]
    place = tree[around[0]] if around else tree
    assert place[last] == found.value
    place[last] = nearest
    assert conflict(Kernel.model_validate(tree)) is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"a": "e4m3", "b": "f16"}, "beside kernel.a.dtype = e4m3, B is e4m3 or e5m2"),
        ({"a": "mxf4", "b": "mxf4", "b_major": "n"}, "two elements of mxf4 share a byte"),
        ({"a": "i8", "b": "i8", "more": "  accumulator: f32"}, "products of i8 are summed in i32"),
        ({"a": "i8", "b": "i8", "d": "i32", "more": "  epilogue: [relu]"}, "an epilogue computes in f32"),
    ],
)
def test_a_file_with_a_contradiction_is_refused(tmp_path: Path, fields: dict[str, str], said: str) -> None:
    path = tmp_path / "x.yaml"
    usual = {"a": "f16", "b": "f16", "d": "f32", "a_major": "k", "b_major": "k", "more": ""}
    path.write_text(TEXT.format(**{**usual, **fields}))
    with pytest.raises(SpecErrors, match=said):
        load(path)


def test_the_predicate_of_a_contradiction_drops_such_points(tmp_path: Path) -> None:
    """Of a sweep over formats with one accumulator, majors and one D."""
    path = tmp_path / "x.yaml"
    text = TEXT.format(a="f16", b="f16", d="f32", a_major="k", b_major="k", more="  accumulator: f32")
    text += "sweep:\n  kernel.a.dtype: [f16, i8, mxf4]\n  kernel.a.major: [m, k]\n  kernel.b.dtype: [f16, i8, mxf4]\n"
    dropped: list[str] = []
    for _ in range(4):
        try:
            path.write_text(text + "".join(f"{'' if i else 'where:'}\n  - '{p}'" for i, p in enumerate(dropped)) + "\n")
            points = load(path).expansion.points
            break
        except SpecErrors as error:
            dropped.append(error.errors[0].rule.rpartition("`where: [")[2].partition("]` drops")[0])
    assert len(dropped) == 3
    assert [(p.kernel.a.dtype, p.kernel.a.major) for p in points] == [("f16", "m"), ("f16", "k"), ("mxf4", "k")]


def test_kernels_of_before_have_the_canonical_form_of_before() -> None:
    """Fields and their order; a variant's identity is made of it."""
    tree = kernel("f16", d="f16", c={"dtype": "bf16", "major": "m"}).model_dump(mode="json")
    assert tree == {
        "family": "gemm",
        "arch": "sm_90a",
        "a": {"dtype": "f16", "major": "k"},
        "b": {"dtype": "f16", "major": "k"},
        "c": {"dtype": "bf16", "major": "m"},
        "d": {"dtype": "f16", "major": "n"},
        "accumulator": "f32",
        "epilogue": [],
    }


def test_a_block_scaled_format_has_elements_and_scales_that_there_are() -> None:
    for name, scaled in SCALED.items():
        assert name not in DTYPES
        assert element(name) is DTYPES[scaled.element]
        assert scaled.block in (16, 32)
        assert DTYPES[scaled.scale].bits == 8
    assert element("f16") is DTYPES["f16"]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "e4m3", "e5m2", "e2m1", "ue8m0", "ue4m3"])
def test_a_format_is_that_of_ml_dtypes(name: str) -> None:
    known = DTYPES[name]
    kind = np.dtype(getattr(ml_dtypes, known.numpy, known.numpy))
    info, form = ml_dtypes.finfo(kind), known.format
    assert form is not None
    assert (float(info.max), info.nmant) == (form.largest, form.mantissa)
    smallest = 2.0**form.smallest
    assert float(info.smallest_normal) == smallest
    if known.nan is not None:
        word = np.uint8 if known.bits == 8 else np.dtype(f"u{known.bits // 8}")
        for pattern in (known.nan, known.poison):
            assert np.isnan(np.array([pattern], f"i{known.bits // 8}").view(word).view(kind).astype(np.float32))[0]


def test_arithmetic_leaves_no_poison_but_where_no_format_has_one() -> None:
    assert {name for name, known in DTYPES.items() if known.poison == 0} == set()
    assert np.array([DTYPES["e2m1"].poison], np.uint8)[0] == 0x77  # 6 and 6
    assert families.family("gemm").conflict is conflict
