"""A block-scaled kernel for sm_100a, compiled from the CuTe DSL: its results against numpy, and its mutants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.once import Once
from warpwright.build.launch_capture import HostFunction, TensorValue
from warpwright.build.ptx_census import kernel_parameters
from warpwright.emulate import GlobalMemory, Launch, Module, Options, Result, parse, run, unwritten
from warpwright.emulate.mutants.edits import apply, mutants

from .blackwell import build

BLOCK = 16
#: (M, N, K): more K than the ring has stages, ragged rows and columns, a K that ends within a stage.
PROBLEMS = [(128, 128, 256), (256, 128, 1280), (200, 136, 1056), (40, 264, 96)]
#: Those that show mutants, the quickest first.
SHOWING = [(40, 120, 1056), PROBLEMS[1]]


class Scaled:
    """The built kernel."""

    def __init__(self, folder: Path) -> None:
        self.ptx = (folder / "kernel.ptx").read_text()
        self.host = HostFunction(folder / "kernel.o", "gemm", kernel_parameters(self.ptx))

    def run(self, module: Module, problem: tuple[int, int, int], seed: int, **options: Any) -> tuple[Result, bool]:
        """What one run found, and whether all of D is right."""
        m, n, k = problem
        rng = np.random.default_rng(seed)
        memory, values, factors = GlobalMemory(), [], []
        for rows in (m, n):
            codes = rng.integers(0, 16, (rows, k)).astype(np.uint8)
            scales = rng.integers(0x30, 0x40, (rows, k // BLOCK)).astype(np.uint8)  # 0.5 to 1.875
            wide = np.repeat(scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64), BLOCK, axis=1)
            factors.append(codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64) * wide)
            packed, blocked = codes[:, ::2] | codes[:, 1::2] << 4, atoms(scales)
            for name, array, dtype in (("x", packed, "u8"), ("s", blocked, "ue4m3")):
                address = memory.add(f"{name}{len(factors)}", array)
                strides = (array.shape[1], 1) if array.ndim == 2 else (1,)
                values.append(TensorValue(address, array.shape, strides, dtype))
        d = np.zeros((m, -(-n // 16) * 16), np.float16)
        address = memory.add("d", d, "out")
        a, a_scales, b, b_scales = values
        (launch,) = self.host([a, b, a_scales, b_scales, TensorValue(address, (m, n), (d.shape[1], 1), "f16")])
        sizes = launch.grid, launch.block, launch.cluster, launch.shared_bytes, launch.params
        result = run(module, Launch(*sizes), {}, memory, seed, Options(**options))
        inside = np.zeros(d.shape, bool)
        inside[:, :n] = True
        left, right = factors
        bound = 1e-5 * (abs(left) @ abs(right).T) + 2.0**-10 * abs(left @ right.T)
        right_ = bool((abs(d[:, :n] - left @ right.T) <= bound).all())
        return result, right_ and not unwritten(memory.buffers["d"], np.repeat(inside.reshape(-1), 2))


def atoms(codes: Any) -> Any:
    """Scales in blocks of 128 rows by four: byte 16 (row % 32) + 4 (row / 32) + scale; blocks along K first."""
    rows, count = codes.shape
    whole = np.zeros((-(-rows // 128) * 128, -(-count // 4) * 4), np.uint8)
    whole[:rows, :count] = codes
    blocks = whole.reshape(-1, 4, 32, whole.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(blocks).reshape(-1)


@pytest.fixture(scope="session")
def scaled(once: Once) -> Scaled:
    def make(top: Path) -> dict[str, Path]:
        build(top, "gemm_scaled")
        return {"gemm_scaled": top}

    return Scaled(once("sm_100a-gemm_scaled", make)["gemm_scaled"])


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_block_scaled_kernel(scaled: Scaled, problem: tuple[int, int, int]) -> None:
    module = parse(scaled.ptx)
    for seed in (1, 2):
        result, right = scaled.run(module, problem, seed)
        assert [str(finding) for finding in result.findings] == []
        assert result.complete
        assert right


def test_tcgen05_instructions_of_it_are_needed_as_they_are(scaled: Scaled) -> None:
    """One mutant of each kind: the last."""
    found = [each for each in mutants(scaled.ptx, (3,)) if "tcgen05" in each.name and "relinquish" not in each.name]
    chosen = {each.name.rpartition(" #")[0]: each for each in found}
    assert any("scales of B in" in name for name in chosen)
    survivors = []
    for name, mutant in chosen.items():
        module = parse(apply(scaled.ptx, mutant))
        runs = (scaled.run(module, problem, 1, budget=200_000, limit=1) for problem in SHOWING)
        if not any(result.findings or not right for result, right in runs):
            survivors.append(name)
    assert survivors == []
