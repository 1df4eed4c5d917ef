"""Kernels for sm_100a and how to run them: compiled in a process of its own, launched through their own host code."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpwright.build.launch_capture import HostFunction, TensorValue
from warpwright.build.ptx_census import kernel_parameters
from warpwright.emulate import GlobalMemory, Launch, Module, Options, Result, TensorMap, run, unwritten

_COMPILE = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
gemm = importlib.import_module(sys.argv[2])
from cutlass import cute
out = pathlib.Path(sys.argv[3])
compiled = cute.compile(gemm.gemm, *gemm.compile_arguments(), options=f"--enable-tvm-ffi --keep-ptx --dump-dir {out}")
(out / "kernel.ptx").write_text(compiled.artifacts.PTX)
compiled.export_to_c(str(out / "kernel.o"), function_name="gemm")
"""


@dataclass(frozen=True)
class Problem:
    """D (M, N) = A (M, K) B (N, K)^T, on `blocks` CTAs at most, `clusters` of them in flight at once (0: all)."""

    m: int
    n: int
    k: int
    blocks: int
    clusters: int = 0


class Kernel:
    """A built kernel; `b_rows`: how many rows of B (N, K) one tensor copy loads."""

    def __init__(self, folder: Path, b_rows: int) -> None:
        self.ptx = (folder / "kernel.ptx").read_text()
        self.b_rows = b_rows
        self.host = HostFunction(folder / "kernel.o", "gemm", kernel_parameters(self.ptx))

    def run(self, module: Module, problem: Problem, seed: int, **options: Any) -> tuple[Result, bool]:
        """What one run found, and whether all of D is right (small integers: exact in any order of summation)."""
        p, rng = problem, np.random.default_rng(seed)
        wide = -(-p.k // 8) * 8
        a, b = (_padded(rng.integers(-2, 3, (rows, p.k)), wide) for rows in (p.m, p.n))
        d = np.zeros((p.m, -(-p.n // 8) * 8), np.float16)
        memory = GlobalMemory()
        at = {name: memory.add(name, array) for name, array in (("a", a), ("b", b))}
        at["d"] = memory.add("d", d, "out")
        shapes = {"a": (p.m, p.k), "b": (p.n, p.k), "d": (p.m, p.n)}
        values = [TensorValue(at[n], shapes[n], (x.shape[1], 1), "f16") for n, x in (("a", a), ("b", b), ("d", d))]
        (launch,) = self.host([*values, p.blocks])
        maps = {0: _map(at["a"], shapes["a"], wide, 128), 2: _map(at["b"], shapes["b"], wide, self.b_rows)}
        sizes = launch.grid, launch.block, launch.cluster, launch.shared_bytes, launch.params
        result = run(module, Launch(*sizes), maps, memory, seed, Options(clusters=p.clusters, **options))
        expected = (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16)
        inside = np.zeros(d.shape, bool)
        inside[:, : p.n] = True
        written = not unwritten(memory.buffers["d"], np.repeat(inside.reshape(-1), 2))
        return result, written and bool((d[:, : p.n] == expected[:, : p.n]).all())


def _padded(values: Any, columns: int) -> Any:
    matrix = np.zeros((values.shape[0], columns), np.float16)
    matrix[:, : values.shape[1]] = values
    return matrix


def _map(address: int, shape: tuple[int, int], stride: int, rows: int) -> TensorMap:
    return TensorMap(address, shape[::-1], (2 * stride,), (64, rows), 2, "128B")


def build(folder: Path, name: str = "gemm") -> None:
    """Compile the module `name` of this folder into `folder`."""
    command = [sys.executable, "-c", _COMPILE, str(Path(__file__).parent), name, str(folder)]
    done = subprocess.run(command, env={**os.environ, "CUTE_DSL_ARCH": "sm_100a"}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"compiling the sm_100a kernel failed:\n{done.stderr[-2000:]}")
