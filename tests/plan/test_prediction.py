"""What a gemm's prediction counts, worked out by hand for single plans."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.space import point
from warpwright.archs import H200
from warpwright.families.gemm.sm_90a.prediction import LOAD_LATENCY, predict
from warpwright.plan import plan

L2 = H200.l2_bytes_per_clock


def clocks(k: int = 4096, **changes: Any) -> dict[str, float]:
    tile = {"design.tile": {"m": 128, "n": 256, "k": 64}}
    found = predict(plan(point(tile | changes)), {"M": 4096, "N": 4096, "K": k, "L": 1}).clocks
    return dict(found)


@pytest.mark.parametrize(
    ("cluster", "rows"), [((1, 1), 128 + 256), ((2, 1), 128 + 128), ((1, 2), 64 + 256), ((2, 2), 64 + 128)]
)
def test_ctas_along_m_share_b_and_those_along_n_share_a(cluster: tuple[int, int], rows: int) -> None:
    found = clocks(**{"design.cluster": dict(zip("mn", cluster, strict=True))})
    assert found["L2"] == pytest.approx((2 * 4096 * rows + 2 * 128 * 256) / L2)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_one_stage_is_read_while_the_others_load(stages: int) -> None:
    load = LOAD_LATENCY * H200.hertz + 2 * (128 + 256) * 64 / L2
    # The last stage of a ragged depth is loaded whole.
    assert clocks(4033, **{"design.stages": stages})["load latency"] == pytest.approx(64 * load / (stages - 1))


def test_what_the_epilogue_reads_moves_like_what_it_writes() -> None:
    told, tile = "epilogue that nothing hides", {"design.tile": {"m": 128, "n": 128, "k": 64}}
    assert clocks(**tile)[told] == pytest.approx(2 * 128 * 128 / L2)
    c = {"kernel.epilogue": ["alpha", "beta_c"], "kernel.c": {"dtype": "f32", "major": "n"}}
    assert clocks(**tile, **c)[told] == pytest.approx((2 + 4) * 128 * 128 / L2)
    assert clocks(**tile, **{"design.schedule": "pingpong"})[told] == 0
