"""Limits of the archs that are planned for, against the tables of the documentation."""

from __future__ import annotations

from inspect import signature

import pytest

from warpwright.archs import B200, SM100A, SM103A, SM110A, SM120A, arch, device, launch_limits
from warpwright.families import NAMES, family

ARCHS = (SM100A, SM103A, SM110A, SM120A)


@pytest.mark.parametrize("found", ARCHS, ids=lambda found: found.name)
def test_a_plan_allows_what_a_launch_does(found) -> None:
    """The plan's limits and the emulator's are of the same table."""
    limits = launch_limits(found.name)
    assert limits is not None
    assert arch(found.name) is found
    assert found.shared_bytes == limits.shared_bytes
    assert found.shared_per_sm - found.shared_reserved == found.shared_bytes
    assert found.max_cluster <= limits.cluster


def test_shapes_of_tcgen05_are_those_of_the_ptx_isa() -> None:
    """Table of 9.7.16.2.1, PTX ISA 9.1: K, M and N of dense MMAs."""
    f16, i8, mxf4 = (SM100A.kind(name) for name in ("f16", "i8", "mxf4"))
    assert (f16.k, SM100A.kind("tf32").k, SM100A.kind("f8f6f4").k, i8.k, mxf4.k) == (16, 8, 32, 32, 64)
    assert (f16.extents(1).m, f16.extents(2).m) == ((64, 128), (128, 256))
    assert f16.extents(1).n == tuple(range(8, 257, 8))
    assert f16.extents(2).n == tuple(range(16, 257, 16))
    assert i8.extents(1).n == (8, 16, 24, 32, 48, 64, *range(80, 257, 16))
    assert i8.extents(2).n == tuple(range(32, 257, 32))
    assert (mxf4.extents(1).m, mxf4.extents(2).m, mxf4.scaled, mxf4.mn_major) == ((128,), (128, 256), True, "none")


def test_what_an_arch_lacks_is_named() -> None:
    """No integers on sm_103a; neither tcgen05 nor tensor memory on sm_120a."""
    with pytest.raises(KeyError, match="sm_103a has no kind i8: there are f16, tf32, f8f6f4"):
        SM103A.kind("i8")
    with pytest.raises(KeyError, match="sm_120a has no kind f16: there are none"):
        SM120A.kind("f16")
    assert (SM110A.tensor_lanes, SM110A.tensor_columns, SM120A.tensor_columns) == (128, 512, 0)


def test_half_the_bits_are_twice_the_rate() -> None:
    """FLOP per clock and SM of B200: tf32, 16, 8 and 4 bits; all SMs reach what the data sheet says."""
    assert [B200.flop_of(bits) for bits in (32, 16, 8, 4)] == [4096, 8192, 16384, 32768]
    assert B200.sms * B200.hertz * B200.flop_of(16) == pytest.approx(2.25e15, rel=1e-3)


def test_every_arch_of_a_family_has_a_device_for_its_predictions() -> None:
    """And its target predicts for that one where nobody names another."""
    for name in NAMES:
        for planned, target in family(name).targets.items():
            assert signature(target.predict).parameters["device"].default is device(planned), (name, planned)
            assert target.phases is None or signature(target.phases).parameters["device"].default is device(planned)
