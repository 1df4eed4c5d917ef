"""The standard problems on a device that is none: a right SGEMM passes all that fit, a wrong one is named."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostBackend
from tests.device.plans import make_folder
from tests.families.sgemm.points import legal
from warpwright.device.check import check_problem
from warpwright.device.memo import Store
from warpwright.device.subject import Subject, load_subject
from warpwright.device.variant import Variant, load_variant
from warpwright.families import workload

#: Multiplications that this machine is quick with.
_MOST = 1 << 23


class SgemmBackend(HostBackend):
    """Loads SGEMMs that compute in f32; `wrong` changes D's bits afterwards."""

    def __init__(self, wrong: Callable[[Any], None] = lambda bits: None) -> None:
        super().__init__()
        self.wrong = wrong

    def load(self, variant: Variant) -> Callable[..., None]:
        def call(a: Any, b: Any, d: Any, bias: Any, ctas: int) -> None:
            x, y, z = (self.xp.decode(operand.bits, "f32").astype(np.float32) for operand in (a, b, bias))
            with np.errstate(all="ignore"):
                total = np.zeros((x.shape[0], x.shape[1], y.shape[2]), np.float32)
                for k in range(x.shape[2]):
                    total = total + x[:, :, k, None] * y[:, k, None, :]
                total = total + z
                d.bits[...] = self.xp.encode(np.where(total < 0, np.float32(0), total), "f32")
            self.wrong(d.bits)

        return call


@pytest.fixture
def subject(tmp_path: Path) -> Callable[[SgemmBackend], Subject]:
    plan = legal(thread={"m": 8, "n": 8}, warps={"m": 1, "n": 1}, tile_k=8, stages=2)
    variant = load_variant(make_folder(tmp_path, plan))
    return lambda backend: load_subject(backend, variant)


def check(backend: SgemmBackend, subject: Subject) -> dict[str, dict[str, Any]]:
    problems = [p for p in workload("sgemm").problems(subject.plan) if prod(p.extents.values()) <= _MOST]
    results = [check_problem(backend, subject, p, 1, 5, Store(1 << 24), lambda _: None) for p in problems]
    return {result["name"]: result for result in results}


def test_a_right_sgemm_passes(subject: Callable[[SgemmBackend], Subject]) -> None:
    backend = SgemmBackend()
    found = check(backend, subject(backend))
    assert {name: result.get("faults") for name, result in found.items() if result["status"] != "correct"} == {}
    assert {"aligned", "ragged", "unit", "k_zero", "extreme", "batch", "m_zero", "bands"} <= set(found)


def test_a_wrong_one_is_named(subject: Callable[[SgemmBackend], Subject]) -> None:
    def last_is_left_out(bits: Any) -> None:
        if bits.size:
            bits[-1, -1, -1] = 0x7FE5_A5A5

    backend = SgemmBackend(last_is_left_out)
    found = check(backend, subject(backend))
    right = {name for name, result in found.items() if result["status"] == "correct"}
    assert right == {"l_zero", "m_zero", "n_zero"}
