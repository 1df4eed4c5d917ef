"""The standard problems on a device that is none: a right kernel passes all that fit, a wrong one is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostBackend
from tests.device.plans import make_folder
from tests.families.norm_act.points import legal
from tests.families.norm_act.test_reference import kernel_s
from warpwright.device.check import check_problem
from warpwright.device.memo import Store
from warpwright.device.subject import Subject, load_subject
from warpwright.device.variant import Variant, load_variant
from warpwright.families import workload

#: Elements that this machine is quick with.
_MOST = 1 << 18


class NormBackend(HostBackend):
    """Loads kernels that compute in f32; `wrong` changes y's bits afterwards."""

    def __init__(self, wrong: Callable[[Any], None] = lambda bits: None) -> None:
        super().__init__()
        self.wrong = wrong

    def load(self, variant: Variant) -> Callable[..., None]:
        plan = variant.plan

        def call(x: Any, weight: Any, bias: Any, y: Any, ctas: int) -> None:
            given = {"x": x, "weight": weight, "bias": bias}
            with np.errstate(all="ignore"):
                found = {a.name: self.xp.decode(given[a.name].bits, a.dtype) for a in plan.arguments if a.name in given}
                y.bits[...] = self.xp.encode(kernel_s(plan, found), plan.kernel["y"]["dtype"])
            self.wrong(y.bits)

        return call


@pytest.fixture
def subject(tmp_path: Path) -> Callable[[NormBackend], Subject]:
    plan = legal(y="f32", columns=256, warps_per_row=1, groups=1, stages=2, activation="silu")
    variant = load_variant(make_folder(tmp_path, plan))
    return lambda backend: load_subject(backend, variant)


def check(backend: NormBackend, subject: Subject) -> dict[str, dict[str, Any]]:
    problems = workload("norm_act").problems(subject.plan)
    few = [p for p in problems if p.extents["M"] * p.extents["N"] <= _MOST]
    results = [check_problem(backend, subject, p, 2, 5, Store(1 << 24), lambda _: None) for p in few]
    return {result["name"]: result for result in results}


def test_a_right_kernel_passes(subject: Callable[[NormBackend], Subject]) -> None:
    backend = NormBackend()
    found = check(backend, subject(backend))
    assert {result["status"] for result in found.values()} == {"correct"}
    assert {"no_rows", "no_columns", "one", "one_column", "tail", "nonfinite", "large_mean", "strided"} <= set(found)


def test_a_wrong_one_is_named(subject: Callable[[NormBackend], Subject]) -> None:
    def last_is_left_out(bits: Any) -> None:
        if bits.size:
            bits[-1, -1] = 0x7FA5A5A5

    backend = NormBackend(last_is_left_out)
    found = check(backend, subject(backend))
    assert {name for name, result in found.items() if result["status"] != "incorrect"} == {"no_rows", "no_columns"}
    assert "elements of y were never written" in found["tail"]["faults"][0]
