"""Which bytes of an array a kernel may touch, and what the program's memory looks like to it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from warpwright.checking.compare import compare
from warpwright.checking.device_memory import DeviceMemory, bytes_at
from warpwright.checking.dlpack import OnDevice, is_array


@pytest.mark.parametrize(
    ("cut", "offset", "size"),
    [
        (lambda a: a, 0, 4 * 60),
        (lambda a: a[1:3], 4 * 20, 4 * 40),
        (lambda a: a[0, ::2, 1:3], 4, 4 * (2 * 5 + 2)),
        (lambda a: a.T, 0, 4 * 60),
        (lambda a: a[::-1], 0, 4 * 60),
        (lambda a: a[:, :, ::-2], 0, 4 * 60),
        (lambda a: a[:0], 0, 0),
    ],
)
def test_the_bytes_of_a_view(cut: Any, offset: int, size: int) -> None:
    whole = np.zeros((3, 4, 5), np.float32)
    view = cut(whole)
    span = OnDevice(view).span
    assert span.bytes == size
    assert span.shape == view.shape
    if size:
        assert span.address - whole.ctypes.data == offset


def test_an_array_is_shown_on_the_device() -> None:
    array = np.zeros(4, np.int32)
    assert is_array(array)
    assert not is_array(OnDevice(array))
    assert not is_array([1, 2])
    assert OnDevice(array).__dlpack_device__() == (2, 0)


def test_views_of_one_array_are_one_range() -> None:
    memory, array = DeviceMemory(), np.zeros(100, np.uint8)
    at = array.ctypes.data
    memory.note(at, 60, "a", owner=array)
    memory.note(at + 40, 60, "b", owner=array)
    memory.note(at + 400, 5, "c")
    assert [(r.address - at, r.bytes, r.name) for r in memory.merged()] == [(0, 100, "a/b"), (400, 5, "c")]


def test_a_range_ends_with_its_array() -> None:
    class Owner:
        pass

    memory, owner, other = DeviceMemory(), Owner(), Owner()
    memory.note(4096, 16, "a", owner=owner)
    memory.note(4096, 16, "a", owner=other)
    memory.note(8192, 16, "b", owner=owner)
    del owner
    assert [r.name for r in memory.merged()] == ["a"]
    del other
    assert list(memory.merged()) == []


def test_allocations_begin_unwritten_and_end_when_they_are_freed() -> None:
    memory = DeviceMemory()
    address = memory.allocate(64)
    assert address % 256 == 0
    array = bytes_at(address, 64).view(np.float32)
    assert "16 of 16 elements of d were never written" in compare("d", array, array, 0, 0)[0].text
    array[:10] = 1
    assert "6 of 16 elements of d were never written, the first at [10]" in compare("d", array, array, 0, 0)[0].text
    assert memory.release(address)
    assert not memory.release(address)
    assert list(memory.merged()) == []


def test_comparing() -> None:
    expected = np.array([1.0, np.inf, np.nan, -2.0])
    assert compare("d", expected.astype(np.float32), expected, 0, 0) == []
    assert compare("d", expected * 1.01, expected, 0.02, 0) == []
    assert (
        "2 of 4 elements of d are wrong; the first, d[0], is 1.01"
        in compare("d", expected * 1.01, expected, 0.001, 0)[0].text
    )
    assert "has the shape (2,), its reference (4,)" in compare("d", expected[:2], expected, 0, 0)[0].text
    assert compare("d", -expected, expected, 0, 10)[0].text.startswith("1 of 4")


@pytest.mark.parametrize(
    ("got", "expected", "rtol", "right"),
    [(2.0, 1.0, 0.6, False), (1.5, 1.0, 0.6, True), (1.0, np.nan, 9.0, False), (np.nan, 1.0, 9.0, False),
     (np.nan, np.nan, 0.0, True), (np.inf, -np.inf, 0.0, False), (3e38, np.inf, 0.0, False)],
)  # fmt: skip
def test_bounds_are_those_of_what_is_expected(got: float, expected: float, rtol: float, right: bool) -> None:
    assert (compare("d", np.array([got]), np.array([expected]), rtol, 0) == []) == right


def test_arrays_beside_each_other_stay_two() -> None:
    """Who reads beyond the end of one must not be let into the next."""
    memory = DeviceMemory()
    memory.note(4096, 16, "a")
    memory.note(4112, 16, "b")
    memory.note(4120, 4, "part")
    assert [(r.address, r.bytes, r.name) for r in memory.merged()] == [(4096, 16, "a"), (4112, 16, "b/part")]


def test_nothing_is_imported_before_it_is_used() -> None:
    program = (
        "import sys; import warpwright.checking.plugin, warpwright.checking\n"
        "print(sorted({'cutlass', 'torch', 'numpy', 'cuda'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
