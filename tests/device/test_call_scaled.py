"""The checked call of packed numbers and scales: what shares a byte, and parts of a mode that another one has whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostTensor
from warpwright.device.call import CallError, check_arguments
from warpwright.plan.types import Argument, Plan

ARGUMENTS = (
    Argument("a", "tensor", "e2m1", ("L", "M", "K"), "K"),
    Argument("sfa", "tensor", "ue4m3", ("L", "M/128", "K/64", "512"), "512"),
    Argument("d", "tensor", "f32", ("L", "M", "N"), "N", "output", 4),
)
PLAN = Plan("gemm", "sm_100a", "", {}, {}, arguments=ARGUMENTS)


def given(**changed: Any) -> dict[str, HostTensor]:
    """A of 130 rows and 96 elements, so 2 atoms of rows and 2 along K."""
    held = {
        "a": HostTensor(np.zeros((1, 130, 48), np.int8), "e2m1"),
        "sfa": HostTensor(np.zeros((1, 2, 2, 512), np.int8), "ue4m3"),
        "d": HostTensor(np.zeros((1, 130, 8), np.int32), "f32"),
    }
    return {**held, **changed}


def refused(**changed: Any) -> CallError:
    with pytest.raises(CallError) as error:
        check_arguments(PLAN, (), given(**changed), "host")
    return error.value


def test_bytes_of_two_elements_and_atoms_of_scales_are_taken() -> None:
    found = check_arguments(PLAN, (), given(), "host")
    assert tuple(found["a"].shape) == (1, 130, 48)
    assert found["a"].stride()[1:] == (48, 1)
    assert tuple(found["sfa"].shape) == (1, 2, 2, 512)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 1, 2, 512), "'a' has M/128 = 2"),
        ((1, 2, 1, 512), "'a' has K/64 = 2"),
        ((1, 2, 2, 256), "'the variant' has 512 = 512"),
        ((2, 2, 2, 512), "'a' has L = 1"),
    ],
)
def test_scales_that_are_too_few_are_refused(shape: tuple[int, ...], said: str) -> None:
    error = refused(sfa=HostTensor(np.zeros(shape, np.int8), "ue4m3"))
    assert (error.argument, error.rule) == ("sfa", said)


def test_other_types_of_one_byte_are_refused_by_their_names() -> None:
    """ue8m0 is no e4m3, which torch calls scales that are never negative; bytes are none of both."""
    assert (
        refused(sfa=HostTensor(np.zeros((1, 2, 2, 512), np.int8), "ue8m0")).rule == "this variant takes float8_e4m3fn"
    )
    assert refused(a=HostTensor(np.zeros((1, 130, 48), np.int8), "u8")).rule == "this variant takes float4_e2m1fn_x2"
    check_arguments(PLAN, (), given(sfa=HostTensor(np.zeros((1, 2, 2, 512), np.int8), "e4m3")), "host")


def test_rows_of_packed_numbers_begin_at_whole_16_bytes() -> None:
    held = np.zeros((1, 130, 56), np.int8)[:, :, :48]
    error = refused(a=HostTensor(held, "e2m1"))
    assert error.rule == "must be a positive multiple of 16 bytes (16 bytes); pad the rows"
