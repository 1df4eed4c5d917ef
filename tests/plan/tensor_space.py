"""Points of the gemm space of sm_100a at random: tests.plan.space has those of sm_90a, and says what `pick` is."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tests.plan import space
from tests.plan.space import CHAINS, OUTPUTS, Pick, chain
from warpwright.families.gemm.workload.design import TensorDesign
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

ARCH = "sm_100a"
CLUSTERS = ((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4), (8, 1), (1, 8))


def model(data: Mapping[str, Any]) -> Point:
    """The point of a kernel and a design that are given as in YAML."""
    return space.model(data, ARCH)


def point(changes: Mapping[str, Any] | None = None) -> Point:
    """A plain point with some fields changed, by dotted path; a step of an epilogue may be a bare name."""
    return space.point(changes, ARCH)


def written_out(design: TensorDesign) -> dict[str, Any]:
    """A resolved design as a YAML file may write it: nothing is left to be chosen."""
    return {
        "tile": {"m": design.tile_m, "n": design.tile_n, "k": design.tile_k},
        "cluster": {"m": design.cluster_m, "n": design.cluster_n},
        "cta_group": design.cta_group,
        "stages": design.stages,
        "accumulator_stages": design.accumulator_stages,
        "consumer_warps": design.consumers,
        "epilogue_warps": design.epilogue_warps,
        "registers": "none",
        "scheduler": {
            "kind": design.scheduler,
            "raster": design.raster,
            "group": design.group,
            "snake": design.snake,
        },
        "store": design.store,
        "epilogue_n": design.subtile_n,
        "epilogue_stages": design.subtile_stages if design.store == "tma" else "auto",
    }


def any_point(pick: Pick) -> Point:
    """A point from everything that the models accept, far outside the limits included."""
    there = space.any_point(pick)
    extent = (1, 15, 16, 24, 32, 64, 120, 128, 192, 240, 255, 256, 257, 288, 320, 512, 10**9, 10**30)
    small = (1, 2, 3, 4, 5, 8, 16, 64, 10**9)
    several = ("auto", "auto", *small)
    schedule = pick(("cooperative", "cooperative", "cooperative", "pingpong"))
    split = pick(("auto", "auto", "none", {"producer": 40, "consumer": 232}))
    design = {
        "tile": {"m": pick(extent), "n": pick(extent), "k": pick(extent)},
        "cluster": {"m": pick(small), "n": pick(small)},
        "cta_group": pick((1, 2)),
        "stages": pick(several),
        "accumulator_stages": pick(several),
        "producer_warps": pick((1, 1, 1, 2, 10**9)),
        "consumer_warps": pick(several),
        "epilogue_warps": pick(several),
        "schedule": schedule,
        "registers": split,
        "scheduler": _scheduler(pick),
        "store": pick(("tma", "direct")),
        "epilogue_n": pick(("auto", "auto", 1, 8, 12, 16, 32, 64, 128, 10**30)),
        "epilogue_stages": pick(several),
    }
    return model({"kernel": there.kernel, "design": design})


def likely_point(pick: Pick) -> Point:
    """A point whose single numbers are in range; together they may still ask too much."""
    names = pick(CHAINS)
    ab = pick(("f16", "bf16"))
    kernel: dict[str, Any] = {
        "a": {"dtype": ab, "major": pick("mk")},
        "b": {"dtype": ab, "major": pick("nk")},
        "d": {"dtype": pick(OUTPUTS), "major": pick("mn")},
        "epilogue": chain(pick, names),
    }
    if "beta_c" in names:
        kernel["c"] = {"dtype": pick(OUTPUTS), "major": pick("mn")}
    group = pick((1, 2))
    tile_m = pick((128, 128, 256))
    tile_n = pick(range(16 * group, 257, 16 * group))
    cluster_m, cluster_n = pick([(m, n) for m, n in CLUSTERS if m % group == 0])
    store = pick(("tma", "tma", "tma", "direct"))
    return model(
        {
            "kernel": kernel,
            "design": {
                "tile": {"m": tile_m, "n": tile_n, "k": pick(range(16, 257, 16))},
                "cluster": {"m": cluster_m, "n": cluster_n},
                "cta_group": group,
                "stages": pick(("auto", "auto", 2, 3, 4)),
                "accumulator_stages": pick(("auto", "auto", 1, 2)),
                "epilogue_warps": pick(("auto", 8, 4 if tile_m == 128 else 8)),
                "scheduler": _scheduler(pick),
                "store": store,
                "epilogue_n": pick(("auto", *(n for n in (8, 16, 32, 64) if tile_n % n == 0))),
                "epilogue_stages": "auto" if store == "direct" else pick(("auto", "auto", 1, 2, 3, 4)),
            },
        }
    )


def _scheduler(pick: Pick) -> dict[str, Any]:
    return {
        "kind": pick(("persistent", "dynamic", "one_tile")),
        "raster": pick("mn"),
        "group": pick((1, 3, 8, 10**9)),
        "snake": pick((True, False)),
    }


def legal_plans(seed: int, count: int) -> list[Plan]:
    """The first `count` legal plans of a seeded walk through `likely_point`."""
    pick = random.Random(seed).choice
    found: list[Plan] = []
    while len(found) < count:
        planned = plan(likely_point(pick))
        if planned.legal:
            found.append(planned)
    return found
