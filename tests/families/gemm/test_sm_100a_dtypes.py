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
SCALED_KERNELS = """\
version: 1
name: scaled
purpose: a kernel of each block-scaled format
kernel:
  family: gemm
  arch: sm_100a
  a: {dtype: nvf4, major: k}
  b: {dtype: nvf4, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 128, k: 128}
sweep:
  - kernel.a: [{dtype: mxf8_e5m2, major: m}]
    kernel.b: [{dtype: mxf8_e4m3, major: n}]
    design.tile.n: [256]
    design.cta_group: [2]
    design.cluster: [{m: 2, n: 1}]
  - kernel.a: [{dtype: mxf4, major: k}]
    kernel.b: [{dtype: mxf4, major: k}]
    design.tile.k: [256]
  - kernel.d: [{dtype: bf16, major: m}]
    design.cluster: [{m: 2, n: 1}]
    kernel.epilogue: [[alpha]]
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


@pytest.mark.parametrize(("text", "number"), [(KERNELS, 4), (SCALED_KERNELS, 3)])
def test_a_kernel_of_each_kind_is_right_in_the_emulator(tmp_path: Path, text: str, number: int) -> None:
    (tmp_path / "dtypes.yaml").write_text(text)
    exploration = pipeline.plan(str(tmp_path / "dtypes.yaml"), tmp_path / "out")
    pipeline.advance(exploration, ("render", "build", "emulate"))
    assert {variant.status for variant in exploration.variants} == {"correct"}
    assert len(exploration.legal) == number


@pytest.mark.parametrize("arch", ["sm_103a", "sm_110a"])
def test_the_scaled_kernels_of_its_siblings_are_in_their_sass_as_planned(tmp_path: Path, arch: str) -> None:
    """ptxas names a scale for 16 elements otherwise for sm_103a."""
    (tmp_path / "dtypes.yaml").write_text(SCALED_KERNELS.replace("arch: sm_100a", f"arch: {arch}"))
    exploration = pipeline.plan(str(tmp_path / "dtypes.yaml"), tmp_path / "out")
    pipeline.advance(exploration, ("render", "build"))
    assert [variant.status for variant in exploration.legal] == ["correct"] * 3


def scaled(word: str, tile: tuple[int, int, int] = (128, 128, 128), **design: Any) -> Plan:
    kernel: dict[str, Any] = {"arch": "sm_100a", "d": {"dtype": "f32", "major": "n"}}
    kernel |= {name: {"dtype": word, "major": "k"} for name in ("a", "b")}
    made = models.Design.model_validate({"tile": dict(zip("mnk", tile, strict=True)), **design})
    return families.target("gemm", "sm_100a").plan(Point("gemm", "sm_100a", models.Kernel.model_validate(kernel), made))


@pytest.mark.parametrize(
    ("word", "tile", "rule", "nearest"),
    [
        ("mxf8_e4m3", (256, 128, 128), "scales.m", "128"),
        ("mxf4", (128, 64, 128), "scales.n", "128"),
        ("nvf4", (128, 208, 64), "scales.n", "256"),
        ("mxf8_e5m2", (128, 128, 64), "scales.k", "128"),
        ("mxf4", (128, 128, 192), "scales.k", "128"),
    ],
)
def test_scales_come_in_whole_atoms(word: str, tile: tuple[int, int, int], rule: str, nearest: str) -> None:
    found = scaled(word, tile)
    assert [(v.rule, v.nearest) for v in found.violations] == [(rule, nearest)]
    mended = tuple(int(nearest) if rule.endswith(mode) else extent for mode, extent in zip("mnk", tile, strict=True))
    assert scaled(word, mended).legal  # type: ignore[arg-type]
    assert scaled("nvf4", (128, 128, 64)).legal, "of 16 elements: half as deep"


@pytest.mark.parametrize(("word", "atoms"), [("mxf8_e4m3", 2), ("mxf4", 2), ("nvf4", 4)])
def test_each_stage_has_its_scales_in_shared_and_in_tensor_memory(word: str, atoms: int) -> None:
    plan = scaled(word)
    stages, bits = plan.design.stages, 8 if word == "mxf8_e4m3" else 4
    buffers = {buffer.name: buffer for buffer in plan.main.buffers}
    assert buffers["sfa"].bytes == buffers["sfb"].bytes == 512 * atoms // 2 * stages
    assert buffers["a_scales"].bytes == buffers["b_scales"].bytes == 4 * atoms // 2 * stages
    assert buffers["a_scales"].offset == buffers["accumulators"].bytes == 2 * 128
    assert buffers["b_scales"].offset == buffers["a_scales"].offset + buffers["a_scales"].bytes
    used = buffers["b_scales"].offset + buffers["b_scales"].bytes
    assert plan.main.tensor_memory is not None
    assert plan.main.tensor_memory.columns / 2 < used <= plan.main.tensor_memory.columns
    loaded = next(barrier for barrier in plan.main.barriers if barrier.name == "loaded")
    assert loaded.transaction_bytes == 2 * 128 * 128 * bits // 8 + 512 * atoms
    assert [argument.name for argument in plan.arguments[:4]] == ["a", "b", "sfa", "sfb"]
    number = {"mxf8_e4m3": 1 << 23, "mxf4": 1 << 23 | 1 << 7 | 1 << 10, "nvf4": 1 << 7 | 1 << 10}[word]
    assert plan.main.mmas[0].descriptor == number | 16 << 17 | 8 << 24


def test_scales_take_columns_from_the_accumulators() -> None:
    """Two of 256 columns leave nothing; one leaves 256, of which each stage takes some."""

    def broken(word: str, tile: tuple[int, int, int], **design: Any) -> list[tuple[str, str]]:
        return [(v.rule, v.nearest) for v in scaled(word, tile, **design).violations]

    assert scaled("nvf4", (128, 256, 256)).design.accumulator_stages == 1
    assert scaled("nvf4", (128, 128, 256)).design.accumulator_stages == 2
    assert broken("nvf4", (128, 256, 256), accumulator_stages=2) == [("tensor_memory", "1")]
    pair = {"cta_group": 2, "cluster": {"m": 2}, "store": "direct"}
    assert scaled("nvf4", (128, 256, 128), **pair).design.stages == 10, "24 columns each, where 11 fit shared memory"
    assert broken("nvf4", (128, 256, 128), **pair, stages=11) == [("tensor_memory.scales", "10")]
    both = [("shared_memory", "11"), ("tensor_memory.scales", "10")]
    assert broken("nvf4", (128, 256, 128), **pair, stages=12) == both
