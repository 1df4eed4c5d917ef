"""How a CTA's warps share the 65,536 registers of an SM, worked out by hand for every count of warpgroups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.space import point
from warpwright.plan import plan
from warpwright.plan.types import KernelPlan

THREE = {"design.consumer_warps": 12, "design.tile": {"m": 192, "n": 64, "k": 64}}
ONE = {"design.consumer_warps": 4}


def main(changes: dict[str, Any]) -> KernelPlan:
    planned = plan(point(changes))
    assert planned.legal, planned.violations
    return planned.main


@pytest.mark.parametrize(
    ("changes", "threads", "entry", "producer", "consumer"),
    [
        # Two warpgroups and the producer's: 65,536 / 384 = 170.7, granted in steps of 8.
        ({}, 384, 168, 40, 232),  # 128 * (40 + 2 * 232) = 64,512
        # 200 accumulators and 32 others are just 232.
        ({"design.schedule": "pingpong", "design.tile": {"m": 128, "n": 200, "k": 64}}, 384, 168, 40, 232),
        # More than 232 registers of accumulators and the rest: 128 * (24 + 2 * 240) = 64,512.
        ({"design.schedule": "pingpong", "design.tile": {"m": 128, "n": 208, "k": 64}}, 384, 168, 24, 240),
        (THREE, 512, 128, 32, 160),  # 128 * (32 + 3 * 160) = 65,536: all there are
        (ONE, 160, 255, None, None),  # 65,536 / 256, of which a thread may have 255
        ({"design.registers": "none"}, 288, 168, None, None),  # 9 warps take the room of 12
        ({"design.registers": "none", "design.producer_warps": 4}, 384, 168, None, None),
        ({**THREE, "design.registers": "none"}, 416, 128, None, None),  # 13 warps take the room of 16
        ({**ONE, "design.registers": "none", "design.producer_warps": 4}, 256, 255, None, None),
        ({**ONE, "design.registers": {"producer": 24, "consumer": 256}}, 256, 255, 24, 256),
    ],
)
def test_threads_and_registers(
    changes: dict[str, Any], threads: int, entry: int, producer: int | None, consumer: int | None
) -> None:
    kernel = main(changes)
    assert (kernel.threads, kernel.entry_registers) == (threads, entry)
    registers = {role.name.split()[0]: role.registers for role in kernel.roles}
    assert (registers["producer"], registers["consumer"]) == (producer, consumer)
    if producer and consumer:
        assert 128 * (producer + (threads // 128 - 1) * consumer) <= 65536
