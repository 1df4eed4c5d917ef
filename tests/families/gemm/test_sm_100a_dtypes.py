"""Kernels of every dtype for sm_100a: their plans, and some of them built and emulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpwright import families, pipeline
from warpwright.families.gemm import models
from warpwright.plan.types import Plan
from warpwright.point import Point

#: Of 128 x 64 elements, with what the table of instruction descriptors says (PTX ISA 9.1, 9.7.16.4.2).
DESCRIPTORS = {
    ("f16", "f16", "kk"): 1 << 4 | 8 << 17 | 8 << 24,
    ("bf16", "bf16", "mn"): 1 << 4 | 1 << 7 | 1 << 10 | 3 << 15 | 8 << 17 | 8 << 24,
    ("tf32", "tf32", "kk"): 1 << 4 | 2 << 7 | 2 << 10 | 8 << 17 | 8 << 24,
    ("tf32", "tf32", "mn"): 1 << 4 | 2 << 7 | 2 << 10 | 3 << 15 | 8 << 17 | 8 << 24,
    ("e4m3", "e4m3", "kk"): 1 << 4 | 8 << 17 | 8 << 24,
    ("e4m3", "e5m2", "kk"): 1 << 4 | 1 << 10 | 8 << 17 | 8 << 24,
    ("e5m2", "e4m3", "mk"): 1 << 4 | 1 << 7 | 1 << 15 | 8 << 17 | 8 << 24,
    ("i8", "i8", "kn"): 1 << 3 | 2 << 4 | 1 << 7 | 1 << 10 | 1 << 16 | 8 << 17 | 8 << 24,
}
KERNELS = """\
version: 1
name: dtypes
purpose: a kernel of each kind of MMA
kernel:
  family: gemm
  arch: sm_100a
  a: {dtype: e4m3, major: k}
  b: {dtype: e4m3, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 64, k: 64}
sweep:
  - kernel.a: [{dtype: e5m2, major: m}]
    kernel.b: [{dtype: e4m3, major: n}]
    design.cta_group: [2]
    design.cluster: [{m: 2, n: 1}]
    kernel.epilogue: [[alpha, relu]]
  - kernel.a: [{dtype: i8, major: k}]
    kernel.b: [{dtype: i8, major: n}]
    kernel.d: [{dtype: i32, major: n}]
  - kernel.a: [{dtype: i8, major: m}]
    kernel.b: [{dtype: i8, major: k}]
    kernel.d: [{dtype: bf16, major: m}]
    kernel.epilogue: [[alpha]]
  - kernel.a: [{dtype: tf32, major: m}]
    kernel.b: [{dtype: tf32, major: n}]
    kernel.d: [{dtype: f32, major: n}]
    design.tile.k: [32]
"""


def planned(a: str, b: str, majors: str = "kk", d: str = "f32", arch: str = "sm_100a") -> Plan:
    kernel: dict[str, Any] = {
        "arch": arch,
        "a": {"dtype": a, "major": majors[0]},
        "b": {"dtype": b, "major": majors[1]},
        "d": {"dtype": d, "major": "n"},
    }
    design = models.Design.model_validate({"tile": {"m": 128, "n": 64, "k": 64}})
    return families.target("gemm", arch).plan(Point("gemm", arch, models.Kernel.model_validate(kernel), design))


@pytest.mark.parametrize(("a", "b", "majors"), DESCRIPTORS)
def test_the_descriptor_of_an_mma_says_its_dtypes_and_majors(a: str, b: str, majors: str) -> None:
    plan = planned(a, b, majors)
    (mma,) = plan.main.mmas
    assert mma.descriptor == DESCRIPTORS[a, b, majors]
    kind, depth = {"f16": ("f16", 16), "bf16": ("f16", 16), "tf32": ("tf32", 8), "i8": ("i8", 32)}.get(
        a, ("f8f6f4", 32)
    )
    assert mma.k == depth
    assert f".kind::{kind}." in mma.instruction
    assert mma.per_stage == 64 // depth
    assert plan.label.startswith(f"{a if a == b else f'{a}.{b}'}.f32-{majors}n-128x64x64")


def test_tf32_along_n_comes_in_whole_lines() -> None:
    kernel = {**planned("tf32", "tf32", "mn").kernel}
    for n, cta_group, nearest in ((48, 1, "32"), (96, 2, "64"), (64, 1, ""), (128, 2, "")):
        design = models.Design.model_validate(
            {"tile": {"m": 128, "n": n, "k": 32}, "cta_group": cta_group, "cluster": {"m": cta_group}}
        )
        point = Point("gemm", "sm_100a", models.Kernel.model_validate(kernel, strict=False), design)
        found = families.target("gemm", "sm_100a").plan(point)
        assert [(v.rule, v.nearest) for v in found.violations] == ([("tile.n.tf32", nearest)] if nearest else [])
        if found.legal:
            assert [copy.swizzle for copy in found.main.copies[:2]] == ["128B/32B", "128B/32B"]


@pytest.mark.parametrize("arch", ["sm_103a", "sm_110a"])
def test_integers_are_multiplied_where_an_arch_multiplies_them(arch: str) -> None:
    found = planned("i8", "i8", arch=arch)
    assert found.legal == (arch == "sm_110a")
    if not found.legal:
        assert (found.violations[0].rule, found.violations[0].nearest) == ("operand.dtype", "f16")
    assert planned("e4m3", "e5m2", arch=arch).legal


def test_a_kernel_of_each_kind_is_right_in_the_emulator(tmp_path: Path) -> None:
    (tmp_path / "dtypes.yaml").write_text(KERNELS)
    exploration = pipeline.plan(str(tmp_path / "dtypes.yaml"), tmp_path / "out")
    pipeline.advance(exploration, ("render", "build", "emulate"))
    assert {variant.status for variant in exploration.variants} == {"correct"}
    assert len(exploration.legal) == 4
