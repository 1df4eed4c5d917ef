"""Tensors whose rows and batches lie beyond the reach of 32 bits: small in memory, and who counts short shows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulate.plans import gemm_plan
from tests.once import Once
from warpwright.build import BuildJob, build
from warpwright.device.problem import Case
from warpwright.emulate import GlobalMemory
from warpwright.emulate.machine.memory import SPARSE, Runs, sparse
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.case import Outcome
from warpwright.emulate.variant.operands import place
from warpwright.families import workload
from warpwright.plan.types import Plan

_BYTES = 1 << 40


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_memory_is_taken_where_it_is_written() -> None:
    before = resident()
    memory = GlobalMemory()
    address = memory.add("d", sparse(_BYTES), "out", runs=Runs(64, ((1 << 36, 16),)))
    buffer = memory.buffers["d"]
    for row in range(16):
        at = row << 36
        assert memory.at(address + at, 64) is buffer
        buffer.data[at : at + 64] = 7
        buffer.writes[at : at + 64] = 1
    assert resident() - before < 1 << 24
    assert not buffer.data[64:128].any()


def test_what_lies_between_runs_is_in_no_buffer() -> None:
    memory = GlobalMemory()
    # Two batches of three rows of 64 bytes.
    address = memory.add("d", sparse(SPARSE), runs=Runs(64, ((1 << 20, 2), (4096, 3))))
    held = [0, 63, 4096, 2 * 4096 + 63, 1 << 20, (1 << 20) + 2 * 4096 + 63]
    gaps = [64, 4095, 4096 + 64, 3 * 4096, (1 << 20) - 1, (1 << 20) + 64, 2 << 20]
    assert [at for at in [*held, *gaps] if memory.at(address + at, 1)] == held
    assert memory.at(address + 60, 8) is None
    assert memory.at(address + 60, 4100) is memory.buffers["d"]  # what spans rows ends in one,
    assert memory.at(address + 60, 4101) is None  # or does not
    assert "of 'd', which has 268435456 bytes, in runs of 64" in memory.near(address + 64)


def far_case(plan: Plan) -> Case:
    (found,) = (case for case in workload(plan.family).cases(plan) if case.problem.name == "far")
    return found


@pytest.mark.parametrize(
    "changes",
    [{}, {"kernel.d": {"dtype": "f32", "major": "m"}}, {"design.store": "direct"},
     {"kernel.a": {"dtype": "f16", "major": "m"}, "kernel.b": {"dtype": "f16", "major": "n"}}],
)  # fmt: skip
def test_offsets_of_every_gemm_s_output_need_more_than_32_bits(changes: dict[str, Any]) -> None:
    before, plan = resident(), gemm_plan(changes)
    case = far_case(plan)
    operands = place(plan, case.problem, 1)
    d = operands.tensors["d"]
    rows = max(stride * (extent - 1) for stride, extent in zip(d.strides[1:], d.view.shape[1:], strict=True))
    assert rows > 2**32
    assert d.strides[0] > 2**32
    assert {"a", "b", "d"} <= set(operands.tensors)
    assert all(operand.value.address + operand.raw.nbytes < 2**56 for operand in operands.tensors.values())
    a = operands.tensors["a"]
    assert np.count_nonzero(a.view) > 0
    assert resident() - before < 1 << 25


#: (where, what, by what): 32 bits in offsets on the device.
PLANTED: dict[str, tuple[int, str, str]] = {
    "rows": (
        1,
        "            d[row + i, column + j, batch] = subtile[i, j]",
        "            at = cutlass.Int64(Int32(row + i) * Int32(d.stride[0])) + column + j + batch * d.stride[2]\n"
        "            cute.make_tensor(d.iterator + at, cute.make_layout(1))[0] = subtile[i, j]",
    ),
    "batches": (
        1,
        "            d[row + i, column + j, batch] = subtile[i, j]",
        "            at = (row + i) * d.stride[0] + column + j + cutlass.Int64(batch * Int32(d.stride[2]))\n"
        "            cute.make_tensor(d.iterator + at, cute.make_layout(1))[0] = subtile[i, j]",
    ),
}


@pytest.fixture(scope="session")
def planted(_built: list[Path], once: Once) -> Mapping[str, Path]:
    def make(top: Path) -> dict[str, Path]:
        folders = {name: top / str(number) for number, name in enumerate(PLANTED)}
        jobs = []
        for name, (which, old, new) in PLANTED.items():
            source = (_built[which] / "kernel.py").read_text()
            assert source.count(old) == 1
            jobs.append(BuildJob(source.replace(old, new), harness.load(_built[which]).plan, folders[name]))
        for name, artifact in zip(PLANTED, build(jobs), strict=True):
            assert artifact.built, (name, artifact.failure)
            shutil.copy(_built[PLANTED[name][0]] / "plan.json", folders[name])
        return folders

    return once("far", make)


def outcomes(folder: Path, chosen: Callable[[Case], bool]) -> list[Outcome]:
    subject = harness.load(folder)
    found = [subject.prepare(case) for case in subject.cases() if chosen(case)]
    return [outcome for each in found for outcome in subject.outcomes(each, subject.module)]


def is_far(case: Case) -> bool:
    return case.problem.name == "far"


def is_near(case: Case) -> bool:
    return case.problem.name not in ("far", "most_batches", "most_across", "most_along")


def test_right_kernels_are_right_far_apart(cooperative: Path, with_c: Path) -> None:
    for folder in (cooperative, with_c):
        (outcome,) = outcomes(folder, is_far)
        assert (outcome.findings, outcome.complete) == ((), True)
        assert outcome.agreements[0].elements == 37 * 35 * 2


@pytest.mark.parametrize("fault", PLANTED)
def test_offsets_computed_in_32_bits_are_found(planted: dict[str, Path], fault: str) -> None:
    assert [outcome for outcome in outcomes(planted[fault], is_near) if outcome.findings] == []
    (outcome,) = outcomes(planted[fault], is_far)
    assert outcome.findings
    assert {finding.kind for finding in outcome.findings} <= {"global-bounds", "unwritten"}


def test_one_byte_is_one_byte() -> None:
    memory = GlobalMemory()
    memory.add("d", np.zeros(1, np.uint8), "inout", 8192)
    assert memory.near(8193) == "1 byte from the start of 'd', which has 1 byte"
    assert memory.near(8191) == "1 byte ahead of 'd'"
