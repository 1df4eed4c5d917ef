"""Points of the gemm space at random: `any_point` knows no limits, `likely_point` keeps each number within its own.

Both take `pick`, which chooses one of a sequence: a seeded random generator's choice, or a draw of hypothesis.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warpwright.canonical import plain
from warpwright.families.gemm import models
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

Pick = Callable[[Sequence[Any]], Any]

OUTPUTS = ("f16", "bf16", "f32")
CHAINS: tuple[tuple[str, ...], ...] = (
    (),
    ("relu",),
    ("alpha",),
    ("silu",),
    ("gelu_tanh",),
    ("gelu_erf",),
    ("bias_n", "relu"),
    ("bias_m", "silu"),
    ("alpha", "bias_n", "bias_m", "gelu_tanh"),
    ("bias_n", "bias_n"),
    ("alpha", "relu", "alpha"),
    ("beta_c",),
    ("alpha", "beta_c", "relu"),
    ("alpha", "beta_c", "bias_n", "bias_m", "gelu_erf"),
)
MULTIPLES_OF_8 = range(8, 257, 8)


DEFAULT = {
    "kernel": {
        "a": {"dtype": "f16", "major": "k"},
        "b": {"dtype": "f16", "major": "k"},
        "d": {"dtype": "f16", "major": "n"},
    },
    "design": {"tile": {"m": 128, "n": 128, "k": 64}},
}


def model(data: Mapping[str, Any], arch: str = "sm_90a") -> Point:
    """The point of a kernel and a design that are given as in YAML."""
    kernel = models.Kernel.model_validate({**plain(data["kernel"]), "arch": arch}, strict=False)
    return Point("gemm", arch, kernel, models.Design.model_validate(data["design"], strict=False))


def written_out(design: GemmDesign) -> dict[str, Any]:
    """A resolved design as a YAML file may write it: nothing is left to be chosen."""
    registers: Any = "none"
    if design.consumer_registers is not None:
        registers = {"producer": design.producer_registers, "consumer": design.consumer_registers}
    by_tma = design.store == "tma"
    return {
        "tile": {"m": design.tile_m, "n": design.tile_n, "k": design.tile_k},
        "cluster": {"m": design.cluster_m, "n": design.cluster_n},
        "stages": design.stages,
        "producer_warps": design.producer_warps,
        "consumer_warps": 4 * design.consumers,
        "schedule": design.schedule,
        "registers": registers,
        "scheduler": {
            "kind": "persistent" if design.persistent else "one_tile",
            "raster": design.raster,
            "group": design.group,
        },
        "store": design.store,
        "epilogue_n": design.subtile_n,
        "epilogue_stages": design.subtile_stages if by_tma else "auto",
    }


def point(changes: Mapping[str, Any] | None = None, arch: str = "sm_90a") -> Point:
    """A plain point with some fields changed, by dotted path; a step of an epilogue may be a bare name."""
    data: dict[str, Any] = copy.deepcopy(DEFAULT)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        node = data
        for name in parents:
            node = node.setdefault(name, {})
        node[last] = value
    chain = data["kernel"].get("epilogue", ())
    data["kernel"]["epilogue"] = [{"op": step} if isinstance(step, str) else step for step in chain]
    return model(data, arch)


def chain(pick: Pick, names: Sequence[str]) -> list[dict[str, str]]:
    """The steps of a chain; a vector operand gets any dtype."""
    return [{"op": name, "dtype": pick(OUTPUTS) if name.startswith("bias") else "f32"} for name in names]


def any_point(pick: Pick) -> Point:
    """A point from everything that the models accept, far outside the limits included."""
    names = pick(CHAINS)
    epilogue = chain(pick, names)
    if pick((False, False, False, True)):
        epilogue.append({"op": pick(("relu", "alpha", "beta_c")), "dtype": pick(OUTPUTS)})
    operand = {"a": "mkk", "b": "nkk", "c": "mn", "d": "mnn"}
    kernel: dict[str, Any] = {
        name: {"dtype": pick(OUTPUTS if name in "cd" else ("f16", "f16", "f16", "bf16")), "major": pick(majors)}
        for name, majors in operand.items()
    }
    kernel["epilogue"] = epilogue
    if not pick((False, "beta_c" in names)):
        kernel["c"] = None
    extent = (1, 7, 8, 16, 24, 63, 64, 96, 128, 192, 200, 256, 257, 264, 320, 512, 10**9, 10**30)
    small = (1, 2, 3, 4, 5, 8, 16, 64, 10**9)
    registers = (-8, 0, 16, 24, 25, 32, 40, 160, 168, 208, 232, 240, 256, 264, 10**30)
    return model(
        {
            "kernel": kernel,
            "design": {
                "tile": {"m": pick(extent), "n": pick(extent), "k": pick(extent)},
                "cluster": {"m": pick(small), "n": pick(small)},
                "stages": pick(("auto", "auto", *small)),
                "producer_warps": pick(small),
                "consumer_warps": pick((1, 3, 4, 8, 12, 16, 10**9)),
                "schedule": pick(("cooperative", "pingpong")),
                "registers": pick(("auto", "auto", "none", {"producer": pick(registers), "consumer": pick(registers)})),
                "scheduler": _scheduler(pick),
                "store": pick(("tma", "direct")),
                "epilogue_n": pick(("auto", "auto", 1, 8, 12, 16, 32, 64, 128, 10**30)),
                "epilogue_stages": pick(("auto", "auto", *small)),
            },
        }
    )


def likely_point(pick: Pick) -> Point:
    """A point whose single numbers are in range; together they may still ask too much."""
    schedule = pick(("cooperative", "pingpong"))
    warpgroups = 2 if schedule == "pingpong" else pick((1, 2, 2, 3))
    names = pick(CHAINS)
    has_c = "beta_c" in names
    ab = pick(("f16", "bf16"))
    kernel: dict[str, Any] = {
        "a": {"dtype": ab, "major": pick("mk")},
        "b": {"dtype": ab, "major": pick("nk")},
        "d": {"dtype": pick(OUTPUTS), "major": pick("mn")},
        "epilogue": chain(pick, names),
    }
    if has_c:
        kernel["c"] = {"dtype": pick(OUTPUTS), "major": pick("mn")}
    rows = 64 if schedule == "pingpong" else 64 * warpgroups
    tile_n = pick(MULTIPLES_OF_8)
    cluster_m, cluster_n = pick(((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4)))
    registers = {1: ("auto", "none", (24, 256)), 3: ("auto", "none", (24, 160), (40, 152))}
    split = pick(registers.get(warpgroups, ("auto", "auto", "none", (24, 240), (40, 232), (56, 224), (32, 208))))
    store = pick(("tma", "tma", "tma", "direct"))
    return model(
        {
            "kernel": kernel,
            "design": {
                "tile": {"m": pick(range(rows, 257, rows)), "n": tile_n, "k": pick(range(16, 257, 16))},
                "cluster": {"m": cluster_m, "n": cluster_n},
                "stages": pick(("auto", "auto", 2, 3, 4)),
                "producer_warps": pick((1, 1, 2, 3) if has_c else (1, 1, 2, 3, 4)),
                "consumer_warps": 4 * warpgroups,
                "schedule": schedule,
                "registers": split if isinstance(split, str) else {"producer": split[0], "consumer": split[1]},
                "scheduler": _scheduler(pick, one_tile=schedule != "pingpong"),
                "store": store,
                "epilogue_n": pick(("auto", *(n for n in (8, 16, 32, 64) if tile_n % n == 0))),
                "epilogue_stages": "auto" if store == "direct" else pick(("auto", "auto", 1, 2, 3, 4)),
            },
        }
    )


def _scheduler(pick: Pick, one_tile: bool = True) -> dict[str, Any]:
    kinds = ("persistent", "persistent", "one_tile") if one_tile else ("persistent",)
    return {"kind": pick(kinds), "raster": pick("mn"), "group": pick((1, 3, 8, 10**9))}


def legal_plans(seed: int, count: int) -> list[Plan]:
    """The first `count` legal plans of a seeded walk through `likely_point`."""
    pick = random.Random(seed).choice
    found: list[Plan] = []
    while len(found) < count:
        planned = plan(likely_point(pick))
        if planned.legal:
            found.append(planned)
    return found
