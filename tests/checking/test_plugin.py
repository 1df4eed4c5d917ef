"""The pytest plug-in, in a pytest of its own: right kernels pass, a finding fails the test in which it was made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.checking.programs import PROGRAMS

TESTS = """\
import sys; sys.path.insert(0, {folder!r})
import numpy as np
import pytest
import cutlass.cute as cute
from vector_add import vector_add
from cutlass.cute.runtime import from_dlpack

def add(gpu, extra):
    a, b = np.ones(200, np.float32), np.ones(200, np.float32)
    c = gpu.empty(200, np.float32)
    tensors = [from_dlpack(each).mark_layout_dynamic() for each in (a, b, c)]
    cute.compile(vector_add, *tensors, extra)(*tensors)
    gpu.check("c", c, a + b)

def test_right(emulated_gpu):
    add(emulated_gpu, 0)

@pytest.mark.emulated_gpu(arch="sm_100a", seeds=1)
def test_left_out(emulated_gpu):
    assert emulated_gpu.arch == "sm_100a"
    add(emulated_gpu, -1)

def test_too_far(emulated_gpu):
    add(emulated_gpu, 1)

def test_meant(emulated_gpu):
    add(emulated_gpu, -1)
    assert [f.kind for f in emulated_gpu.take_findings()] == ["unwritten"]

def test_without():
    pass

def test_fails_by_itself(emulated_gpu):
    add(emulated_gpu, -1)
    assert False, "of its own"

@pytest.mark.emulated_gpu("sm_70")
def test_of_no_arch(emulated_gpu):
    pass
"""


@pytest.mark.slow
def test_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(TESTS.format(folder=str(PROGRAMS)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "warpwright.checking.plugin", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 1
    assert "3 failed, 3 passed, 1 error" in done.stdout
    assert "of its own" in done.stdout
    assert "emulated_gpu: arch 'sm_70' is not known; there are sm_80" in done.stdout
    assert done.stdout.count("unwritten: 1 of 200 elements of c were never written, the first at [199]") >= 2
    assert "global-bounds: read of 4 bytes" in done.stdout
