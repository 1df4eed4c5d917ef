"""A hand-written module of two kernels and no plumbing: built, checked, captured; and every dtype as an argument."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import pytest

from warpwright.build import Artifact, BuildJob, build, read_artifact
from warpwright.build.cache import Cache
from warpwright.build.check import check, verdict
from warpwright.build.launch_capture import CaptureError, TensorValue, capture, default_values
from warpwright.dtypes import DTYPES
from warpwright.plan.types import Argument, Barrier, Buffer, Constant, Copy, KernelPlan, Plan

SOURCE = Path(__file__).with_name("two_kernels.py")
PLAN = Plan(
    family="copy",
    arch="sm_90a",
    label="two",
    kernel={},
    design={},
    entry="doubled",
    symbol="doubled_0001",
    kernels=(
        KernelPlan(
            name="double_kernel",
            threads=128,
            cluster=(1, 1, 1),
            shared_bytes=2056,
            entry_registers=64,
            buffers=(
                Buffer("chunk", 0, 2048, 128, "f16", (1024,), "none", ""),
                Buffer("full", 2048, 8, 8, "i64", (1,), "none", ""),
                Buffer("w", 0, 2048, 16, "f16", (1024,), "none", "workspace", space="global"),
            ),
            barriers=(Barrier("full", "mbarrier", 1, 1, 2048, "all", "thread 0", buffer="full"),),
            copies=(
                Copy("x", "load", "f16", (1024,), "none", 1, 1, "chunk", kind="bulk"),
                Copy("w", "store", "f16", (1024,), "none", 1, 1, "chunk", kind="bulk"),
            ),
        ),
        KernelPlan(name="scale_kernel", threads=64, cluster=(2, 1, 1), shared_bytes=0, entry_registers=64),
    ),
    constants=(Constant("CHUNK", 1024, "elements"), Constant("CHUNK_BYTES", 2048, "of a chunk", "CHUNK * 2")),
    arguments=(
        Argument("x", "vector", "f16", ("N",), "N"),
        Argument("w", "vector", "f16", ("N",), "N", role="workspace"),
        Argument("y", "vector", "f32", ("N",), "N", role="output"),
        Argument("alpha", "scalar", "f32"),
    ),
)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, Path, Cache]:
    folder, cache = tmp_path_factory.mktemp("two"), Cache(tmp_path_factory.mktemp("cache"))
    (artifact,) = build([BuildJob(SOURCE, PLAN, folder)], 1, cache=cache)
    return artifact, folder, cache


def _first(**changes: Any) -> Plan:
    first, second = PLAN.kernels
    return dataclasses.replace(PLAN, kernels=(dataclasses.replace(first, **changes), second))


def test_two_kernels_match_their_plan(two: tuple[Artifact, Path, Cache]) -> None:
    artifact = two[0]
    assert (artifact.failure, artifact.findings, artifact.status) == (None, (), None)
    assert [name.split("_tensorptr")[0] for name in artifact.kernels] == [
        "kernel_cutlass_double_kernel",
        "kernel_cutlass_scale_kernel",
    ]
    assert artifact.dynamic_shared_bytes == PLAN.shared_bytes == 2056
    assert set(artifact.census) == set(artifact.kernels)
    assert all(census["sass"]["instructions"] > 8 for census in artifact.census.values())
    assert read_artifact(two[1]) == artifact


def test_each_launch_has_its_own_parameters(two: tuple[Artifact, Path, Cache]) -> None:
    values = default_values(PLAN.arguments, {"N": 5000})
    first, second = capture(two[1] / "kernel.o", PLAN, values)
    assert (first.grid, first.block, first.cluster, first.shared_bytes) == ((5, 1, 1), (128, 1, 1), (1, 1, 1), 2056)
    assert (second.grid, second.block, second.cluster, second.shared_bytes) == ((80, 1, 1), (64, 1, 1), (2, 1, 1), 0)
    assert (first.kernel, second.kernel) == two[0].kernels
    x, w, y, _ = values
    assert isinstance(x, TensorValue)
    assert isinstance(w, TensorValue)
    assert isinstance(y, TensorValue)
    assert [struct.unpack_from("<q", p)[0] for p in first.params] == [x.address, w.address]
    assert [struct.unpack_from("<q", p)[0] for p in second.params[:2]] == [w.address, y.address]
    assert struct.unpack("<f", second.params[2]) == (1.0,)
    assert struct.unpack("<i", second.params[3]) == (79,)


def test_launches_that_the_plan_does_not_have(two: tuple[Artifact, Path, Cache]) -> None:
    swapped = dataclasses.replace(PLAN, kernels=PLAN.kernels[::-1])
    with pytest.raises(CaptureError, match="where the plan has scale_kernel, double_kernel"):
        capture(two[1] / "kernel.o", swapped, default_values(PLAN.arguments, {"N": 64}))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (_first(copies=PLAN.main.copies[:1]), ["copy.kind"]),
        (_first(copies=(dataclasses.replace(PLAN.main.copies[0], box=(512,)), PLAN.main.copies[1])), ["copy.bytes[x]"]),
        (
            _first(copies=(dataclasses.replace(PLAN.main.copies[0], kind="tensor"), PLAN.main.copies[1])),
            ["copy.kind", "copy.instructions[x]"],
        ),
        (_first(barriers=()), ["mbarrier.count", "mbarrier.offset", "expect_tx.bytes[?]"]),
    ],
)
def test_contradictions_name_their_kernel(two: tuple[Artifact, Path, Cache], plan: Plan, expected: list[str]) -> None:
    entry = two[2].get(two[0].key)
    assert entry
    findings = check(plan, entry.facts)
    assert [f.rule for f in findings] == [f"double_kernel.{rule}" for rule in expected]
    assert verdict(findings) == "incorrect"


def test_kernels_in_another_order_are_another_plan(two: tuple[Artifact, Path, Cache]) -> None:
    entry = two[2].get(two[0].key)
    assert entry
    findings = check(dataclasses.replace(PLAN, kernels=PLAN.kernels[::-1]), entry.facts)
    assert [(f.rule, f.wrong) for f in findings] == [("launch.kernels", True)]


def test_a_constant_that_a_person_edited_is_found(two: tuple[Artifact, Path, Cache], tmp_path: Path) -> None:
    """The kernel is built; what follows from the constant is followed."""
    edited = SOURCE.read_text().replace("\nCHUNK = 1024\n", "\nCHUNK = 512\n")
    (artifact,) = build([BuildJob(edited, PLAN, tmp_path / "v")], 1, cache=two[2])
    assert artifact.built
    assert [str(f) for f in artifact.findings[:2]] == [
        "constants[CHUNK]: expected 1024, found 512",
        "constants[CHUNK_BYTES]: expected 2048, found 1024",
    ]


NOTHING = """
import cutlass.cute as cute


@cute.kernel
def nothing_kernel(x: cute.Tensor):
    pass


@cute.jit
def nothing(x: cute.Tensor, stream):
    nothing_kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)
"""


def test_host_code_takes_every_dtype(tmp_path: Path) -> None:
    """The host code compares the codes of its arguments: a wrong one would be its error."""
    plans = [
        Plan(
            "none",
            "sm_90a",
            "",
            {},
            {},
            entry="nothing",
            symbol=f"nothing_{name}",
            kernels=(KernelPlan("nothing_kernel", 32, (1, 1, 1), 0, 255),),
            arguments=(Argument("x", "tensor", name, ("M", "N"), "N"),),
        )
        for name in DTYPES
    ]
    jobs = [BuildJob(NOTHING, plan, tmp_path / plan.symbol) for plan in plans]
    for job, artifact in zip(jobs, build(jobs, 1, cache=Cache(tmp_path / "cache")), strict=True):
        assert (artifact.failure, artifact.findings) == (None, ()), job.plan.symbol
        (launch,) = capture(job.out_dir / "kernel.o", job.plan, default_values(job.plan.arguments, {"M": 3, "N": 96}))
        address, rows, columns, stride = struct.unpack("<QiiQ", launch.params[0])
        assert (address, rows, columns, stride) == (1 << 36, 3, 96, 96), "elements, of less than a byte too"


@pytest.mark.parametrize(("dtype", "stride"), [("e2m1", 32), ("e4m3", 16), ("f16", 8), ("f32", 4), ("i64", 2)])
def test_leading_strides_are_multiples_of_16_bytes(dtype: str, stride: int) -> None:
    (value,) = default_values([Argument("x", "tensor", dtype, ("M", "N"), "N")], {"M": 3, "N": 1})
    assert isinstance(value, TensorValue)
    assert value.strides == (stride, 1)
