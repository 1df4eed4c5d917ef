"""The exported function itself, without the checked call: what it cannot do it refuses, and launches nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwright.build.launch_capture import HostError, default_values
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.harness import Subject

EXTENTS = {"M": 40, "N": 24, "K": 16, "L": 2}


@pytest.fixture
def subject(with_c: Path) -> Subject:
    return harness.load(with_c)


def call(subject: Subject, extents: dict[str, int], **changes: Any) -> tuple[int, int, int] | None:
    """The grid of a call with some values changed; tensors by fields. Raises HostError."""
    arguments = subject.plan.arguments
    values = dict(zip((a.name for a in arguments), default_values(arguments, extents), strict=True))
    for name, change in changes.items():
        values[name] = replace(values[name], **change) if isinstance(change, dict) else change  # type: ignore[type-var]
    launches = subject.host(list(values.values()))
    return launches[0].grid if launches else None


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_a_packed_stride_that_is_no_multiple_of_16_bytes_is_refused(subject: Subject, name: str) -> None:
    extents = {**EXTENTS, "M": 41, "N": 23, "K": 17}
    argument = next(a for a in subject.plan.arguments if a.name == name)
    rows, columns = (extents[mode] for mode in argument.shape[1:])
    inner = extents[argument.contiguous]
    outer = (inner, 1) if argument.contiguous == argument.shape[-1] else (1, inner)
    packed = {"strides": (rows * columns, *outer)}
    with pytest.raises(HostError, match=rf"{name}\.strides\[\d\].*divisible by 8"):
        call(subject, extents, **{name: packed})
    batches = {"strides": (8 * 41 * 24 + 4, *((32, 1) if argument.contiguous == argument.shape[-1] else (1, 32)))}
    with pytest.raises(HostError, match=rf"{name}\.strides\[0\].*divisible by 8"):
        call(subject, extents, **{name: batches})


def test_a_stride_of_one_row_means_nothing(subject: Subject) -> None:
    extents = {**EXTENTS, "M": 1, "L": 1}
    assert call(subject, extents, d={"strides": (3, 5, 1)}) == call(subject, extents) == (1, 1, 1)


def test_an_extent_of_33_bits_and_an_odd_address_are_refused(subject: Subject) -> None:
    with pytest.raises(HostError, match="expected to be in int32 range"):
        call(subject, {**EXTENTS, "M": 2**31})
    with pytest.raises(HostError, match="expected data alignment=16 bytes"):
        call(subject, EXTENTS, d={"address": 0x1008})


def test_what_cannot_be_counted_is_an_error_of_the_launch(subject: Subject) -> None:
    """Two tiles in 2^30 batches are 2^31 tiles, which 32 bits take for none."""
    two = {"M": 65, "N": 1, "K": 8, "L": 2**30}
    most = subject.plan.limits[-1].most
    assert call(subject, {**two, "M": 1, "L": most}, max_clusters=132) == (132, 1, 1)
    for extents in (two, {**two, "M": 1, "L": most + 1}, {**two, "L": 1, "N": 2**31 - 1}, {**two, "L": 2**31 - 1}):
        assert subject.plan.exceeded(extents)
        for clusters in (1, 132, 2**31 - 1):
            with pytest.raises(HostError, match="CUDA error 9"):
                call(subject, extents, max_clusters=clusters)


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
@pytest.mark.parametrize(("stride", "taken"), [(2**39 - 8, True), (2**39, False), (2**59, False), (-1024, False)])
def test_a_stride_that_no_descriptor_holds_is_an_error_of_the_launch(
    subject: Subject, name: str, stride: int, taken: bool
) -> None:
    argument = next(a for a in subject.plan.arguments if a.name == name)
    inner = (1, 32) if argument.contiguous == argument.shape[1] else (32, 1)
    strides = {"strides": (stride, *inner)}
    if taken:
        assert call(subject, EXTENTS, **{name: strides}) == (1, 1, 1)
    else:
        with pytest.raises(HostError, match="CUDA error 9"):
            call(subject, EXTENTS, **{name: strides})
    assert call(subject, {**EXTENTS, "L": 1}, **{name: strides}) == (1, 1, 1)  # of one batch it means nothing


def test_an_empty_problem_launches_nothing_however_large_the_rest(subject: Subject) -> None:
    assert call(subject, {"M": 2**31 - 1, "N": 0, "K": 8, "L": 2**31 - 1}) is None
    assert call(subject, {"M": 2**31 - 1, "N": 8, "K": 8, "L": 0}) is None


@pytest.mark.parametrize("clusters", [0, -1, -(2**31)])
def test_no_clusters_are_an_error_of_the_launch(subject: Subject, clusters: int) -> None:
    with pytest.raises(HostError, match="CUDA error 9"):
        call(subject, EXTENTS, max_clusters=clusters)
    with pytest.raises(HostError, match="int32 range"):
        call(subject, EXTENTS, max_clusters=2**31)
