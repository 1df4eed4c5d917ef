"""What a profiler is put around: a few launches of one variant, with operands where `bench` has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.device.doubles import HostBackend
from tests.device.plans import make_folder
from tests.emulate.plans import gemm_plan
from warpwright.device import tensors
from warpwright.device.problem import Problem
from warpwright.device.solo import LAUNCHES, solo
from warpwright.device.tensors import GUARD_BYTES
from warpwright.device.variant import Variant
from warpwright.device.watch import as_timed

SIZES = (("M", 130), ("N", 70), ("K", 40), ("L", 1))


class Counting(HostBackend):
    """Counts the launches of what it loads."""

    def load(self, variant: Variant) -> Callable[..., None]:
        kernel = super().load(variant)

        def counted(*arguments: Any) -> None:
            self.launches += 1
            kernel(*arguments)

        return counted


def test_a_variant_is_launched_and_nothing_else(tmp_path: Path) -> None:
    backend = Counting()
    solo(backend, make_folder(tmp_path, gemm_plan({}), "small-0123456789ab"), SIZES)
    assert backend.launches == LAUNCHES


def test_operands_lie_where_bench_has_them() -> None:
    """A tensor that is checked is aligned as little as its kernel allows: 16 bytes past a guard band."""
    backend, argument = HostBackend(), gemm_plan({}).arguments[0]
    problem = Problem("p", SIZES)
    checked = tensors.make_buffer(backend.xp, argument, problem)
    checked.view[...] = np.arange(checked.view.size, dtype=checked.view.dtype).reshape(checked.view.shape)
    timed = as_timed(backend, checked, problem)
    assert timed.start * checked.view.itemsize == GUARD_BYTES != checked.start * checked.view.itemsize
    assert (timed.view == checked.view).all()
