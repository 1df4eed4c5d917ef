"""Running the exported host function without a GPU."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import pytest

from warpwright.build import Artifact
from warpwright.build.launch_capture import CaptureError, HostError, HostFunction, TensorValue, capture, default_values
from warpwright.build.ptx_census import kernel_parameters
from warpwright.plan.types import Plan

EXTENTS = {"M": 200, "N": 192, "K": 512}


@pytest.fixture(scope="module")
def host(built: tuple[Artifact, Path]) -> HostFunction:
    folder = built[1]
    return HostFunction(folder / "kernel.o", "small_gemm", kernel_parameters((folder / "kernel.ptx").read_text()))


def test_launch_of_a_ragged_problem(built: tuple[Artifact, Path], plan: Plan) -> None:
    (launch,) = capture(built[1] / "kernel.o", plan, default_values(plan.arguments, EXTENTS))
    assert (launch.grid, launch.block, launch.cluster) == ((4, 3, 1), (256, 1, 1), (2, 1, 1))
    assert launch.shared_bytes == plan.shared_bytes
    assert launch.kernel == built[0].kernels[0]
    assert [len(p) for p in launch.params] == built[0].census[launch.kernel]["ptx"]["parameters"]
    assert struct.unpack("<2i", launch.params[1]) == (200, 512)
    assert struct.unpack("<2i", launch.params[5]) == (200, 192)


def test_tensor_maps_follow_the_addresses(host: HostFunction, plan: Plan) -> None:
    """Of the 128 bytes the first 64 repeat for the same tensor and change with its address."""
    values = default_values(plan.arguments, EXTENTS)
    first, second = host(values)[0], host(values)[0]
    moved: Any = dataclasses.replace(values[0], address=0x7000_0000)  # type: ignore[type-var]
    (third,) = host([moved, *values[1:]])
    assert first.params[0][:64] == second.params[0][:64]
    assert first.params[0][:64] != third.params[0][:64]
    assert first.params[2][:64] == third.params[2][:64]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"address": 0x1008}, "expected data alignment=16 bytes"),
        ({"strides": (513, 1)}, r"a\.strides\[0\].*divisible by 8"),
        ({"dtype": "f32"}, "expected dtype=float16"),
        ({"shape": (200, 512, 1), "strides": (512, 1, 1)}, "ndim"),
    ],
)
def test_refused_arguments_come_with_the_host_codes_words(
    host: HostFunction, plan: Plan, change: dict[str, Any], message: str
) -> None:
    values = default_values(plan.arguments, EXTENTS)
    bad: Any = dataclasses.replace(values[0], **change)  # type: ignore[type-var]
    with pytest.raises(HostError, match=message):
        host([bad, *values[1:]])
    assert host(values), "an error must not stick"


def test_default_values_are_aligned_and_apart(plan: Plan) -> None:
    values = default_values(plan.arguments, {"M": 5, "N": 7, "K": 9})
    a, b, d, clusters = values
    assert a == TensorValue(1 << 36, (5, 9), (16, 1), "f16")
    assert isinstance(b, TensorValue)
    assert isinstance(d, TensorValue)
    assert d.strides == (8, 1)
    assert len({a.address, b.address, d.address}) == 3
    assert clusters == 1


def test_problems_with_the_object(built: tuple[Artifact, Path], plan: Plan, tmp_path: Path) -> None:
    path = built[1] / "kernel.o"
    with pytest.raises(CaptureError, match="exports no __tvm_ffi_other"):
        capture(path, dataclasses.replace(plan, symbol="other"), [])
    bad = tmp_path / "kernel.o"
    bad.write_bytes(b"no object")
    with pytest.raises(CaptureError, match=r"ld .*kernel\.o.* failed: .*not recognized"):
        capture(bad, plan, [], ptx=(built[1] / "kernel.ptx").read_text())


def test_an_unknown_import_is_named(tmp_path: Path, plan: Plan) -> None:
    import subprocess

    source = tmp_path / "new.c"
    source.write_text("int _cudaNewFunction(void); int __tvm_ffi_small_gemm(void) { return _cudaNewFunction(); }\n")
    subprocess.run(["gcc", "-c", "-fPIC", str(source), "-o", str(tmp_path / "new.o")], check=True)
    with pytest.raises(CaptureError, match=r"launch_stub\.c does not stand in for.*_cudaNewFunction"):
        HostFunction(tmp_path / "new.o", "small_gemm", {})
