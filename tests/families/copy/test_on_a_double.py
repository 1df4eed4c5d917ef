"""The standard problems on a device that is none: a right copy passes all that fit, a wrong one is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostBackend
from tests.device.plans import make_folder
from tests.families.copy.points import legal
from warpwright.device.check import check_problem
from warpwright.device.memo import Store
from warpwright.device.subject import Subject, load_subject
from warpwright.device.variant import Variant, load_variant
from warpwright.families import workload

#: Elements that this machine is quick with.
_MOST = 1 << 20


class CopyBackend(HostBackend):
    """Loads copies that compute in f32; `wrong` changes y's bits afterwards."""

    def __init__(self, wrong: Callable[[Any], None] = lambda bits: None) -> None:
        super().__init__()
        self.wrong, self.calls = wrong, list[tuple[float, int]]()

    def load(self, variant: Variant) -> Callable[..., None]:
        kernel = variant.plan.kernel

        def call(x: Any, y: Any, alpha: float, ctas: int) -> None:
            self.calls.append((alpha, ctas))
            with np.errstate(all="ignore"):
                product = self.xp.decode(x.bits, kernel["x"]["dtype"]).astype(np.float32) * np.float32(alpha)
            y.bits[...] = self.xp.encode(product, kernel["y"]["dtype"])
            self.wrong(y.bits)

        return call


@pytest.fixture
def subject(tmp_path: Path) -> Callable[[CopyBackend], Subject]:
    plan = legal("f32", "f16", stage_bytes=2048, consumer_warps=1)
    variant = load_variant(make_folder(tmp_path, plan))
    return lambda backend: load_subject(backend, variant)


def check(backend: CopyBackend, subject: Subject) -> dict[str, dict[str, Any]]:
    problems = [p for p in workload("copy").problems(subject.plan) if p.extents["N"] <= _MOST]
    results = [check_problem(backend, subject, p, 3, 5, Store(1 << 24), lambda _: None) for p in problems]
    return {result["name"]: result for result in results}


def test_a_right_copy_passes(subject: Callable[[CopyBackend], Subject]) -> None:
    backend = CopyBackend()
    found = check(backend, subject(backend))
    assert {result["status"] for result in found.values()} == {"correct"}
    assert {"empty", "below_grain", "chunk_more", "ring", "nonfinite", "alpha_zero", "one_chunk_each_more"} <= set(
        found
    )
    used = {alpha for alpha, _ in backend.calls}
    assert {alpha for alpha in used if alpha == alpha} == {float(np.float32(-1.3)), 2.0, 1.0, 0.0, float("-inf")}
    assert any(alpha != alpha for alpha in used), "a NaN, which is not equal to itself"


def test_a_wrong_one_is_named(subject: Callable[[CopyBackend], Subject]) -> None:
    def last_is_left_out(bits: Any) -> None:
        if bits.size > 8:
            bits[-1] = 0x7D5A

    backend = CopyBackend(last_is_left_out)
    found = check(backend, subject(backend))
    wrong = {name for name, result in found.items() if result["status"] == "incorrect"}
    assert set(found) - wrong == {"empty", "one", "below_grain", "grain"}
    assert "elements of y were never written" in found["chunk_more"]["faults"][0]
