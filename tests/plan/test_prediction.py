"""What a gemm's prediction counts, worked out by hand for single plans."""

from __future__ import annotations

from dataclasses import replace
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


@pytest.mark.parametrize(
    ("changes", "extents", "elements"),
    [
        ({"design.cluster": {"m": 1, "n": 4}}, (128, 1 << 16, 4096), 128 * 4096 + (1 << 16) * 4096 + 128 * (1 << 16)),
        ({"design.cluster": {"m": 4, "n": 1}}, (1 << 16, 128, 4096), 128 * 4096 + (1 << 16) * 4096 + 128 * (1 << 16)),
        ({}, (1 << 14, 1 << 14, 16), 2 * (1 << 14) * 16 + (1 << 28)),
    ],
    ids=["B", "A", "D"],
)
@pytest.mark.parametrize("batches", [1, 3])
def test_dram_moves_each_matrix_once(
    changes: dict[str, Any], extents: tuple[int, int, int], elements: int, batches: int
) -> None:
    planned = plan(point({"design.schedule": "pingpong", **changes}))
    found = predict(planned, dict(zip("MNK", extents, strict=True)) | {"L": batches})
    seconds = batches * 2 * elements / H200.dram_bytes_per_second + H200.launch_seconds
    assert found.bound == "DRAM"
    assert found.seconds == pytest.approx(seconds)
    m, n, k = extents
    assert found.speed == pytest.approx(2 * m * n * k * batches / seconds / 1e12)


@pytest.mark.parametrize(("cluster", "ctas", "waves"), [((1, 1), 132, 8), ((2, 2), 132, 8), ((4, 1), 132, 8)])
def test_the_time_is_that_of_the_slowest_part_in_every_wave(cluster: tuple[int, int], ctas: int, waves: int) -> None:
    """1024 tiles on 132 SMs, 7.8 each."""
    planned = plan(point({"design.cluster": dict(zip("mn", cluster, strict=True))}))
    found = predict(planned, {"M": 4096, "N": 4096, "K": 4096, "L": 1})
    parts = dict(found.clocks)
    epilogue = parts.pop("epilogue that nothing hides")
    assert dict(found.counts) == {"tile": 1024, "CTA": ctas, "wave": waves}
    assert found.bound == max(parts, key=parts.__getitem__)
    clocks = waves * (max(parts.values()) + epilogue)
    assert found.seconds == pytest.approx(clocks / H200.hertz + H200.launch_seconds)
    assert parts["tensor cores"] == pytest.approx(2 * 128 * 128 * 4096 / 4096)
    assert parts["shared memory"] == pytest.approx((2 * 2 * 4096 * 256 + 2 * 2 * 128 * 128) / 128)


def test_ctas_of_a_grid_are_whole_clusters() -> None:
    """132 SMs hold 33 clusters of 4, and 130 hold 32; of a problem of 4 tiles all run at once."""
    planned = plan(point({"design.cluster": {"m": 4, "n": 1}}))
    found = predict(planned, {"M": 4 * 128, "N": 128 * 1, "K": 64, "L": 1})
    assert dict(found.counts) == {"tile": 4, "CTA": 4, "wave": 1}
    found = predict(planned, {"M": 1, "N": 128 * 34, "K": 64, "L": 1})
    assert dict(found.counts) == {"tile": 4 * 34, "CTA": 132, "wave": 2}
    found = predict(planned, {"M": 4096, "N": 4096, "K": 64, "L": 1}, replace(H200, sms=130))
    assert dict(found.counts) == {"tile": 1024, "CTA": 128, "wave": 8}


def test_stages_are_called_too_few_only_where_more_of_them_would_help() -> None:
    from pathlib import Path

    from warpwright import pipeline
    from warpwright.families import target

    plans = [variant.plan for variant in pipeline.plan("quickstart", Path("out")).variants]
    extents = {"M": 4096, "N": 4096, "K": 4096, "L": 1}
    for one in plans:
        found = target(one.family, one.arch).predict(one, extents)
        assert ("too few" in found.notes[0]) == (found.bound == "load latency"), one.label
    found = target(plans[0].family, plans[0].arch).predict(plans[0], extents)
    assert found.bound == "L2"
    assert found.notes[0] == "hiding the latency of a load behind L2 takes 4 stages; 6 are enough"
