"""A variant's readable name: each choice that is not the usual one adds its own part, in one order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.space import point
from warpwright.plan import folder_name, plan

HEAD = "f16-kkn-128x128x64-c1x1-s6-coop2"
C = {"kernel.c": {"dtype": "bf16", "major": "m"}}


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, HEAD),
        ({"kernel.d": {"dtype": "f32", "major": "m"}, "design.stages": 5}, "f16.f32-kkm-128x128x64-c1x1-s5-coop2"),
        ({"kernel.a.major": "m", "kernel.b.major": "n"}, "f16-mnn-128x128x64-c1x1-s6-coop2"),
        ({"design.tile": {"m": 256, "n": 64, "k": 32}, "design.stages": 4}, "f16-kkn-256x64x32-c1x1-s4-coop2"),
        ({"design.cluster": {"m": 2, "n": 1}}, "f16-kkn-128x128x64-c2x1-s6-coop2"),
        ({"design.cluster": {"m": 1, "n": 2}}, "f16-kkn-128x128x64-c1x2-s6-coop2"),
        ({"design.schedule": "pingpong"}, "f16-kkn-128x128x64-c1x1-s6-ping2"),
        ({"design.consumer_warps": 4}, "f16-kkn-128x128x64-c1x1-s6-coop1"),
        ({"design.producer_warps": 3}, f"{HEAD}-p3"),
        ({"design.registers": {"producer": 24, "consumer": 240}}, f"{HEAD}-r24.240"),
        ({"design.registers": {"producer": 40, "consumer": 232}}, HEAD),
        ({"design.registers": "none"}, f"{HEAD}-rnone"),
        ({"design.consumer_warps": 4, "design.registers": "none"}, "f16-kkn-128x128x64-c1x1-s6-coop1"),
        ({"design.scheduler.kind": "one_tile"}, f"{HEAD}-one"),
        ({"design.scheduler.raster": "n"}, f"{HEAD}-n8"),
        ({"design.scheduler.group": 3}, f"{HEAD}-m3"),
        ({"design.store": "direct", "design.stages": 6}, f"{HEAD}-direct"),
        ({"design.epilogue_n": 16}, f"{HEAD}-e16x2"),
        ({"design.epilogue_stages": 4, "design.stages": 5}, "f16-kkn-128x128x64-c1x1-s5-coop2-e32x4"),
        ({"kernel.epilogue": ["alpha", {"op": "bias_n", "dtype": "f16"}, "relu"]}, f"{HEAD}-alpha+bias_n.f16+relu"),
        ({"kernel.epilogue": ["beta_c"], **C, "design.stages": 5}, "f16-kkn-128x128x64-c1x1-s5-coop2-beta_c-c.bf16.m"),
        # 36 characters of a chain are the most; of a longer one, how many operations it has.
        (
            {"kernel.epilogue": ["gelu_tanh", "gelu_tanh", "alpha", "bias_n"]},
            f"{HEAD}-gelu_tanh+gelu_tanh+alpha+bias_n",
        ),
        ({"kernel.epilogue": ["gelu_tanh"] * 3 + ["bias_n"]}, f"{HEAD}-gelu_tanh+gelu_tanh+gelu_tanh+bias_n"),
        ({"kernel.epilogue": ["gelu_tanh"] * 3 + ["gelu_erf"]}, f"{HEAD}-4ops"),
    ],
)
def test_what_is_unusual_is_in_the_name(changes: dict[str, Any], label: str) -> None:
    planned = plan(point(changes))
    assert planned.legal, planned.violations
    assert planned.label == label
    assert folder_name(planned) == f"{label}-{planned.identity[:8]}"


def test_parts_come_in_one_order() -> None:
    everything = {
        "design.stages": 4,
        "design.producer_warps": 2,
        "design.registers": "none",
        "design.scheduler": {"kind": "one_tile", "raster": "n", "group": 2},
        "design.epilogue_n": 8,
        "kernel.epilogue": ["relu", "beta_c"],
        **C,
    }
    expected = "f16-kkn-128x128x64-c1x1-s4-coop2-p2-rnone-one-n2-e8x2-relu+beta_c-c.bf16.m"
    assert plan(point(everything)).label == expected
