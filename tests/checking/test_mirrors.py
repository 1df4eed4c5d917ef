"""Arrays in the device's memory: far from each other, with the names of parameters, and their values go both ways."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from tests.checking.programs import PROGRAMS
from warpwright.checking import FindingsError
from warpwright.checking.device_memory import DeviceMemory
from warpwright.checking.dlpack import OnDevice
from warpwright.checking.mirrors import bytes_at


def test_views_keep_their_distances_and_arrays_get_a_gap() -> None:
    memory, whole = DeviceMemory(), np.zeros((4, 32), np.float32)
    shared = bytearray(256)
    first, second = np.frombuffer(shared, np.uint8, 128), np.frombuffer(shared, np.uint8, 128, 128)
    assert first.ctypes.data + 128 == second.ctypes.data
    places = [OnDevice(each, memory.moved).span.address for each in (whole[1:3], whole.T, first, second)]
    assert places[0] - places[1] == 128
    assert all(at % 256 == 0 for at in places[1:])
    assert abs(places[2] - places[3]) > 1 << 20
    inside = memory.allocate(64)
    assert OnDevice(bytes_at(inside, 64), memory.moved).span.address == inside


def test_values_go_there_and_what_has_changed_comes_back() -> None:
    memory, array = DeviceMemory(), np.arange(8, dtype=np.uint8)
    at = OnDevice(array, memory.moved).span.address
    array[0] = 7
    with memory.mirrors.filled():
        assert bytes_at(at, 8).tolist() == [7, *range(1, 8)]
        bytes_at(at, 8)[1] = 9
        array[2] = 8  # by its address on the host, which a program may pass on bare
    assert array.tolist() == [7, 9, 8, *range(3, 8)]


def test_a_mirror_lives_as_long_as_who_was_given_it() -> None:
    class Given:
        pass

    memory, array, given = DeviceMemory(), np.arange(8, dtype=np.uint8), Given()
    kept = memoryview(array)  # the bytes live, whatever becomes of the array that was shown
    shown = np.frombuffer(kept, np.uint8)
    at = OnDevice(shown, memory.moved).span.address
    memory.note(at, 8, owner=given)
    del shown
    OnDevice(np.zeros(4), memory.moved)
    with memory.mirrors.filled():
        assert bytes_at(at, 8).tolist() == list(range(8))
    del given
    assert [each.alive() for each in memory.mirrors._mirrors if each.address == at] == [None]


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_what_runs_over_the_end_does_not_hit_the_next_array(monkeypatch: Any, compiled: bool) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    sys.modules.pop("vector_add", None)
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack
    from vector_add import vector_add

    from warpwright.checking.session import emulated

    shared = bytearray(3 * 512)
    a, b, c = (np.frombuffer(shared, np.float32, 128, 512 * index) for index in range(3))
    with emulated(seeds=1) as gpu:
        tensors = [from_dlpack(each, assumed_align=128) for each in (a, b, c)]
        with pytest.raises(FindingsError):
            cute.compile(vector_add, *tensors, 1)(*tensors) if compiled else vector_add(*tensors, 1)
        (finding,) = gpu.take_findings()
    assert finding.kind == "global-bounds"
    assert "512 bytes from the start of 'a', which has 512 bytes" in finding.text
