"""What `explain` says, each number worked out from the limits of an SM: 227 KiB, 65,536 registers, 2048 threads."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.families.copy.points import legal
from tests.plan.space import point
from warpwright.archs import B200
from warpwright.plan import plan
from warpwright.plan.explanation import explain
from warpwright.plan.types import Buffer, Plan, TensorMemory

EXTENTS = {"M": 4096, "N": 4096, "K": 4096, "L": 1}


def lines(planned: Plan, extents: dict[str, int] | None = None) -> list[str]:
    return [line.strip() for line in explain(planned, extents or EXTENTS).splitlines()]


def test_what_lets_a_gemm_s_cta_share_its_sm() -> None:
    """214,016 bytes and 1024 of the system of 228 KiB; 384 * 168 registers; 2048 / 384 threads."""
    told = lines(plan(point()))
    assert "384 threads, 168 registers each at entry" in told
    assert "1 CTA per SM (allowed by shared memory 1, registers 1, threads 5)" in told
    small = {"design.tile": {"m": 64, "n": 32, "k": 64}, "design.stages": 3, "design.consumer_warps": 4}
    told = lines(plan(point({**small, "design.registers": "none"})))
    assert "160 threads, 255 registers each at entry" in told
    bytes_ = 3 * (64 + 32) * 64 * 2 + 64 * 32 * 2 + 48
    shared = 228 * 1024 // (-(-bytes_ // 1024) * 1024 + 1024)
    assert f"1 CTA per SM (allowed by shared memory {shared}, registers 1, threads 12)" in told


def test_what_lets_a_copy_s_ctas_share_their_sm() -> None:
    planned = legal("f16", "f16", stage_bytes=4096, stages=4, ctas_per_sm=4)
    (told,) = [line for line in lines(planned, {"N": 1 << 28}) if " per SM (" in line]
    shared = 228 * 1024 // (planned.shared_bytes + 1024)
    registers = 65536 // (160 * planned.main.entry_registers)
    rooms = f"shared memory {shared}, registers {registers}, threads {2048 // 160}, the design 4"
    assert told == f"4 CTAs per SM (allowed by {rooms})"
    assert min(shared, registers) >= 4


@pytest.mark.parametrize(
    "changes", [{}, {"design.tile": {"m": 128, "n": 256, "k": 64}, "design.cluster": {"m": 2, "n": 1}}]
)
def test_the_predicted_time_its_speed_and_what_bounds_it(changes: dict[str, object]) -> None:
    """Waves of the slowest part and of the epilogue, at 1.5 GHz, and 4 us to launch; 2 M N K operations in that."""
    told = lines(plan(point(changes)))
    title = told.index("Predicted time of 4096x4096x4096 on NVIDIA H200")
    counts = re.fullmatch(r"(\d+) tiles, (\d+) CTAs, (\d+) waves", told[title + 1])
    last = re.fullmatch(r"([\d.]+) us, (\d+) TFLOP/s, bound by (.+)", told[-1])
    assert counts
    assert last
    tiles, ctas, waves = map(int, counts.groups())
    assert (tiles, ctas) == (4096 * 4096 // (128 * (256 if changes else 128)), 132)
    assert waves == -(-tiles // 132)
    clocks = {
        name: int(number) for number, name in re.findall(r"^(\d+) {2}(.+)$", "\n".join(told[title:]), re.MULTILINE)
    }
    assert set(clocks) == {"tensor cores", "L2", "load latency", "shared memory", "epilogue that nothing hides"}
    epilogue = clocks.pop("epilogue that nothing hides")
    assert epilogue == pytest.approx(2 * 128 * (256 if changes else 128) / 46.6, abs=1)
    slowest = max(clocks, key=clocks.__getitem__)
    assert last[3] == slowest
    microseconds = waves * (clocks[slowest] + epilogue) / 1500 + 4
    assert float(last[1]) == pytest.approx(microseconds, abs=0.06)
    assert float(last[2]) == pytest.approx(2 * 4096**3 / microseconds / 1e6, rel=2e-3)


def test_a_problem_that_dram_bounds() -> None:
    """K of 16: twice 2 * 16384 * 16 elements and 16384^2 that are written, at 4.27 TB/s."""
    told = lines(plan(point({"design.schedule": "pingpong"})), {"M": 16384, "N": 16384, "K": 16, "L": 2})
    last = re.fullmatch(r"([\d.]+) us, ([\d.]+) TFLOP/s, bound by DRAM", told[-1])
    assert last, told[-1]
    microseconds = 2 * 2 * (2 * 16384 * 16 + 16384**2) / 4.27e6 + 4
    assert float(last[1]) == pytest.approx(microseconds, rel=1e-3)
    assert float(last[2]) == pytest.approx(2 * 2 * 16384**2 * 16 / microseconds / 1e6, rel=0.02)


@pytest.mark.parametrize(("stages", "verdict"), [(3, "too few"), (4, "enough")])
def test_how_many_stages_hide_the_latency_of_a_load(stages: int, verdict: str) -> None:
    """0.5 us and 32,768 bytes at L2's rate, 750 + 703 clocks, 64 times, are 2.03 of L2's 45,706; one more is read."""
    notes = [line for line in lines(plan(point({"design.stages": stages}))) if line.startswith("hiding")]
    assert notes == [f"hiding the latency of a load behind L2 takes 4 stages; {stages} are {verdict}"]


def test_nothing_to_compute() -> None:
    assert "nothing to compute: the kernel is not launched" in lines(plan(point()), {**EXTENTS, "M": 0})


def test_tensor_memory_is_told_with_who_allocates_it() -> None:
    planned = plan(point())
    accumulators = Buffer("accumulators", 0, 256, 1, "f32", (128, 128, 2), "none", "two tiles", "tensor")
    kernel = replace(
        planned.main,
        buffers=(*planned.main.buffers, accumulators),
        tensor_memory=TensorMemory(256, 2, "epilogue", "consumer"),
    )
    text = explain(replace(planned, kernels=(kernel,)), EXTENTS)
    shared, _, tensor = text.partition("\nTensor memory\n")
    assert "accumulators" not in shared
    assert tensor.splitlines()[1:4] == [
        "    accumulators       0   256  two tiles",
        "    256 columns are allocated by both CTAs of a pair; a warp of epilogue allocates them, and gives up the"
        " permit",
        "    to allocate more; a warp of consumer frees them",
    ]


def test_a_time_that_no_gpu_stands_behind_says_so() -> None:
    told = explain(plan(point()), EXTENTS, B200)
    why = "by a model of others' figures: no such GPU has run a kernel of this project"
    assert f"Predicted time of 4096x4096x4096 on NVIDIA B200 ({why})\n" in told
    assert "Predicted time of 4096x4096x4096 on NVIDIA H200\n" in explain(plan(point()), EXTENTS)
