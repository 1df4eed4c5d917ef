"""Loading without a GPU: what is found, what is said when it is not, and how many CTAs fit on an SM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.device.plans import make_plan
from warpwright.archs import SM90A, SM100A
from warpwright.device.launch import (
    RUNTIME_VARIABLE,
    LaunchError,
    find_runtime,
    load_function,
    max_active_clusters,
    resident_ctas,
)
from warpwright.plan.occupancy import rooms
from warpwright.plan.types import TensorMemory

PLAN = make_plan(cluster=(2, 1))
MAIN = PLAN.main


@pytest.mark.parametrize(
    ("shared", "registers", "threads", "ctas"),
    [
        (232448, 168, 384, 1),
        (115712, 80, 256, 2),  # twice 113 KiB and the driver's KiB: 228 KiB
        (115713, 80, 256, 1),
        (1024, 168, 384, 1),  # 64512 registers
        (1024, 128, 256, 2),
        (1024, 32, 512, 4),  # 2048 threads
        (1024, 24, 32, 32),  # the most of any kernel
    ],
)
def test_ctas_per_sm(shared: int, registers: int, threads: int, ctas: int) -> None:
    kernel = replace(MAIN, shared_bytes=shared, entry_registers=registers, threads=threads)
    assert resident_ctas(kernel, SM90A) == ctas


def test_a_plan_that_says_how_many_ctas_share_an_sm_is_taken_at_its_word() -> None:
    small = replace(MAIN, shared_bytes=1024, entry_registers=32, threads=128)
    assert resident_ctas(small, SM90A) > 3
    assert resident_ctas(replace(small, ctas_per_sm=3), SM90A) == 3


@pytest.mark.parametrize(("columns", "ctas"), [(512, 1), (256, 2), (128, 4)])
def test_no_more_ctas_share_an_sm_than_its_tensor_memory_holds(columns: int, ctas: int) -> None:
    small = replace(MAIN, shared_bytes=1024, entry_registers=32, threads=128)
    allocating = replace(small, tensor_memory=TensorMemory(columns, 1, "", ""))
    assert resident_ctas(allocating, SM100A) == rooms(allocating, SM100A)["tensor memory"] == ctas
    assert "tensor memory" not in rooms(small, SM100A)


def test_without_a_driver_clusters_are_counted_from_sms(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver(*_: object) -> int:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr("warpwright.device.launch._ask_driver", no_driver)
    assert max_active_clusters(PLAN, 132) == 66 * resident_ctas(MAIN, SM90A)
    deep = replace(PLAN, kernels=(replace(MAIN, cluster=(2, 1, 2)),))
    assert max_active_clusters(deep, 132) == 33 * resident_ctas(MAIN, SM90A)
    assert max_active_clusters(deep, 2) == 1


def test_the_runtime_is_found_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(RUNTIME_VARIABLE, str(tmp_path / "absent.so"))
    with pytest.raises(LaunchError, match="there is no such file"):
        find_runtime()
    monkeypatch.delenv(RUNTIME_VARIABLE)
    assert find_runtime().name == "libcute_dsl_runtime.so"


def test_a_file_that_is_no_library_is_a_launch_error(tmp_path: Path) -> None:
    library = tmp_path / "kernel.so"
    library.write_bytes(b"not a library")
    with pytest.raises(LaunchError, match=r"kernel\.so: cannot load gemm"):
        load_function(library, "gemm")
