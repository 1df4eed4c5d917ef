"""A compiled function is launched in the emulator: right kernels pass, and each mistake is found at its line."""

from __future__ import annotations

import contextlib
import linecache
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.checking.programs import PROGRAMS, loaded
from warpwright.checking import CheckError, FindingsError, Gpu, emulated_gpu
from warpwright.checking.limits import Limits
from warpwright.checking.session import emulated

pytestmark = pytest.mark.slow


@pytest.fixture
def ring() -> ModuleType:
    return loaded("ring")


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with emulated("sm_90a") as made:
        yield made


def run_ring(gpu: Gpu, ring: ModuleType, fault: str = "") -> tuple[Any, Any]:
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    x = np.arange(5 * ring.ELEMENTS, dtype=np.float32)
    y = gpu.empty(x.shape, np.float32)
    tensors = [from_dlpack(each, assumed_align=16).mark_layout_dynamic() for each in (x, y)]
    cute.compile(ring.ring, *tensors, fault)(*tensors)
    return x, y


def test_a_right_kernel_computes_and_nothing_is_found(gpu: Gpu, ring: ModuleType) -> None:
    x, y = run_ring(gpu, ring)
    gpu.check("y", y, 2 * x)
    gpu.raise_for_findings()
    (launch,) = gpu.launches
    assert launch.kernel.startswith("ring_kernel (ring.py:")
    assert (launch.grid, launch.block, launch.cluster) == ((1, 1, 1), (96, 1, 1), (1, 1, 1))
    assert launch.shared_bytes >= 3 * ring.BYTES
    assert 8 <= launch.registers <= 255
    assert launch.status == "correct"
    assert launch.notes == []


#: mistake -> what its line says, or that of the copy or access that it lets go wrong
LINES = {
    "no wait for full": "x_smem[i * LANES + lane, warp, stage] * 2",
    "no wait for empty": "cp_async_bulk_shared_cluster_global",
    "no fence before the store": "cp_async_bulk_global_shared_cta",
    "one arrival too many expected": "mbarrier_wait(empty",
    "too many bytes expected": "mbarrier_wait(full",
    "no barrier after init": "mbarrier_wait(empty",
    "no wait for the store": "cp_async_bulk_global_shared_cta",
    "one stage too far": "x_smem[i * LANES + lane, warp, stage] * 2",
    "one chunk too many": "cp_async_bulk_shared_cluster_global",
}


@pytest.mark.parametrize("fault", LINES)
def test_each_mistake_is_found_at_its_line(gpu: Gpu, ring: ModuleType, fault: str) -> None:
    assert LINES.keys() == ring.FAULTS.keys()
    with contextlib.suppress(FindingsError):  # where the finding ended the launch
        run_ring(gpu, ring, fault)
    found = [finding for finding in gpu.findings if finding.kind == ring.FAULTS[fault]]
    assert found, gpu.findings
    named = [line for finding in found for line in finding.lines]
    texts = [linecache.getline(str(PROGRAMS / "ring.py"), int(line.partition(":")[2])) for line in named]
    assert any(LINES[fault] in text for text in texts), named
    assert all(line.partition(":")[2] in finding.text for finding in found for line in finding.lines)


def test_what_a_kernel_leaves_unwritten_is_found(gpu: Gpu, ring: ModuleType) -> None:
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    x, y = np.ones(3 * ring.ELEMENTS, np.float32), gpu.empty(3 * ring.ELEMENTS, np.float32)
    tensors = [from_dlpack(each, assumed_align=16).mark_layout_dynamic() for each in (x, y[: 2 * ring.ELEMENTS])]
    cute.compile(ring.ring, *tensors, "")(*tensors)
    gpu.check("y", y, 2 * x)
    (finding,) = gpu.take_findings()
    assert finding.kind == "unwritten"
    assert f"{ring.ELEMENTS} of {3 * ring.ELEMENTS} elements of y were never written" in finding.text
    assert f"the first at [{2 * ring.ELEMENTS}]" in finding.text


def test_a_wrong_result_is_a_finding(gpu: Gpu, ring: ModuleType) -> None:
    x, y = run_ring(gpu, ring)
    expected = 2 * x
    expected[7] = np.nan
    gpu.check("y", y, expected)
    (finding,) = gpu.take_findings()
    assert finding.kind == "wrong-result"
    assert "1 of 1280 elements of y are wrong; the first, y[7], is 14, expected nan" in finding.text
    gpu.check("y", y, 2 * x + 1)
    with pytest.raises(FindingsError, match="wrong-result"):
        gpu.raise_for_findings()


def test_the_dsl_and_cuda_are_as_before_when_it_is_over(ring: ModuleType) -> None:
    import os

    from cuda.bindings import driver, runtime
    from cutlass.base_dsl.jit_executor import ExecutionArgs, JitFunctionArtifacts
    from cutlass.cute.runtime import _Tensor
    from cutlass.cutlass_dsl import CuTeDSL, CuteExperimentalDSL

    def state() -> list[object]:
        every = [kind._get_dsl().envar for kind in (CuTeDSL, CuteExperimentalDSL)]
        names = ("_arch", "keep_ptx", "keep_cubin", "lineinfo", "dump_dir", "shared_libs")
        functions = (driver.cuInit, runtime.cudaMalloc, _Tensor.__init__, ExecutionArgs.generate_execution_args,
                     JitFunctionArtifacts.__post_init__)  # fmt: skip
        settings = [getattr(each, name) for each in every for name in names]
        return [*settings, *functions, dict(os.environ)]

    before = state()
    with emulated_gpu("sm_90a") as gpu:
        assert state() != before
        libraries = {kind._get_dsl().envar.shared_libs for kind in (CuTeDSL, CuteExperimentalDSL)}
        assert len(libraries) == 1  # both find the runtime that stands in for CUDA's
        assert "warpwright" in libraries.pop()
        run_ring(gpu, ring)
    assert state() == before


def test_an_arch_that_is_not_known_is_refused() -> None:
    with pytest.raises(Exception, match="arch 'sm_1' is not known; there are sm_80"), emulated_gpu("sm_1"):
        pass


PLAIN = """\
import sys; sys.path.insert(0, {folder!r})
import numpy as np
from cutlass.cute.runtime import from_dlpack
from vector_add import vector_add
from warpwright.checking import emulated_gpu
with emulated_gpu(seeds=1) as gpu:
    vector_add(*(from_dlpack(np.ones(200, np.float32)) for _ in range(3)), 0)
    gpu.check("d", np.zeros(4), np.ones(4))
    {more}
"""


@pytest.mark.parametrize(("more", "words"), [("", "FindingsError: wrong-result"), ("1 / 0", "ZeroDivisionError")])
def test_without_pytest_findings_are_not_lost_at_the_end(more: str, words: str) -> None:
    program = PLAIN.format(folder=str(PROGRAMS), more=more)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert words in done.stderr
    assert "wrong-result: 4 of 4 elements of d are wrong" in done.stderr


@pytest.mark.parametrize(("extra", "kind"), [(0, None), (1, "global-bounds")])
def test_functions_of_tvm_ffi_take_arrays_as_they_are(gpu: Gpu, extra: int, kind: str | None) -> None:
    """They are given numpy's arrays themselves, which must seem to be on the device."""
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    program = loaded("vector_add")
    fakes = [make_fake_compact_tensor(cutlass_float(), (cute.sym_int(),)) for _ in range(3)]
    compiled = cute.compile(program.vector_add, *fakes, extra, options="--enable-tvm-ffi")
    a, b = np.ones(200, np.float32), np.arange(200, dtype=np.float32)
    c = gpu.empty(200, np.float32)
    if kind is None:
        compiled(a, b, c)
        gpu.check("c", c, a + b)
        gpu.raise_for_findings()
    else:
        with pytest.raises(FindingsError, match=f"{kind}: read of 4 bytes .* of 'a', which has 800 bytes"):
            compiled(a, b, c)
    assert len(gpu.launches) == 1


@pytest.mark.parametrize("called", [False, True])
def test_a_benchmark_launches_once_what_the_program_has_not_called(gpu: Gpu, called: bool) -> None:
    """Some programs call their kernel nowhere else, and look at its results behind the benchmark."""
    import cutlass.testing
    from cutlass import cute

    program = loaded("vector_add")
    a, b = np.ones(200, np.float32), np.arange(200, dtype=np.float32)
    c = gpu.empty(200, np.float32)
    tensors = [gpu.tensor(each) for each in (a, b, c)]
    compiled = cute.compile(program.vector_add, *tensors, 0)
    if called:
        compiled(*tensors)
    arguments = cutlass.testing.JitArguments(*tensors)
    assert np.isnan(cutlass.testing.benchmark(compiled, kernel_arguments=arguments, iterations=5))
    gpu.check("c", c, a + b)
    gpu.raise_for_findings()
    assert len(gpu.launches) == 1


def test_as_many_ctas_are_resident_as_their_resources_allow() -> None:
    """CUDA programming guide, technical specifications: 65,536 registers, 2048 threads, 228 KiB of shared memory of
    each multiprocessor, of which a CTA takes 1 KiB more than it asks for; eight are enough here."""
    limits = Limits.of("sm_100a", 4)
    assert limits.resident(32, 8, 0) == 4 * 8
    assert limits.resident(32, 8, 113 * 1024) == 4 * 2
    assert limits.resident(32, 8, 113 * 1024 + 1) == 4
    assert limits.resident(256, 128, 0) == 4 * 2
    assert limits.resident(1024, 16, 0) == 4 * 2
    assert limits.resident(1024, 255, 1 << 20) == 4  # nor does a launch that is refused want none


def test_what_cannot_be_emulated_is_raised_through_tvm_ffi(gpu: Gpu) -> None:
    """The host code fails where it loads the kernel, and must come back with an error all the same."""
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    program = loaded("vector_add")
    fakes = [make_fake_compact_tensor(cutlass_float(), (cute.sym_int(),)) for _ in range(3)]
    compiled = cute.compile(program.vector_add, *fakes, 2, options="--enable-tvm-ffi")
    gpu.kernels._compiled.clear()
    with pytest.raises(CheckError, match="is loaded whose PTX is not known"):
        compiled(*(np.ones(200, np.float32) for _ in range(3)))


def cutlass_float() -> Any:
    from cutlass import Float32

    return Float32
