"""Numbers of packed elements and of scales in atoms: any part of them is what it is of the whole, and costs no more."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from warpwright.device.held import modes_of, numbers
from warpwright.device.xp import NumpyXp
from warpwright.plan.types import Argument

XP = NumpyXp()
BATCHES, ROWS, K = 3, 300, 64
PACKED = Argument("a", "tensor", "e2m1", ("L", "M", "K"), "K")
SCALES = Argument("sfa", "tensor", "ue4m3", ("L", "M/128", "K/64", "512"), "512")


@pytest.mark.parametrize(("argument", "shape"), [(PACKED, (BATCHES, ROWS, K // 2)), (SCALES, (BATCHES, 3, 1, 512))])
def test_a_part_is_that_of_the_whole(argument: Argument, shape: tuple[int, ...]) -> None:
    held = np.random.default_rng(0).integers(0, 120, shape).astype(np.int8)
    whole = numbers(XP, argument, held)
    pick = random.Random(0)
    for _ in range(50):
        chosen: dict[str, Any] = {}
        for axis, mode in enumerate(modes_of(argument)):
            first, last = sorted(pick.choices(range(whole.shape[axis] + 1), k=2))
            if pick.random() < 0.7:
                chosen[mode] = slice(first, last)
        place = tuple(chosen.get(mode, slice(None)) for mode in modes_of(argument))
        np.testing.assert_array_equal(numbers(XP, argument, held, chosen), whole[place])
    rows = [5, 2, 299]
    np.testing.assert_array_equal(numbers(XP, argument, held, {"M": rows}), whole[:, rows])


@pytest.mark.parametrize("argument", [PACKED, SCALES])
def test_what_is_not_asked_for_is_not_unpacked(argument: Argument) -> None:
    """A view of 2^40 batches that are one in memory: unpacked as a whole it would take terabytes."""
    shape = (ROWS, K // 2) if argument is PACKED else (3, 1, 512)
    one = np.ones(shape, np.int8)
    held = np.lib.stride_tricks.as_strided(one, (1 << 40, *shape), (0, *one.strides))
    found = numbers(XP, argument, held, {"L": slice((1 << 40) - 1, 1 << 40)})
    np.testing.assert_array_equal(found, numbers(XP, argument, one[None]))
