"""Random designs of an SGEMM, by the hundred: legal ones render and predict, a few are built and compute what they
should on odd problems; an illegal one says which rule it breaks, and the way out is one."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.families.holding import check_constants, check_illegal, check_used
from tests.families.sgemm.points import planned
from warpwright import pipeline
from warpwright.device.problem import Case
from warpwright.emulate.variant import harness
from warpwright.families import target
from warpwright.families.products.problems import multiplication
from warpwright.plan.types import Plan, Violation

DESIGNS, BUILT, PROBLEMS = 1500, 6, 14
SPLITS = ({"producer": 40, "consumer": 232}, {"producer": 30, "consumer": 8})
EXTENTS = (0, 1, 3, 31, 127, 128, 257, 1000, 4096, 100_003)
#: FFMA units of an H200 at its largest clock, in FLOP per second.
PEAK = 132 * 128 * 2 * 1.98e9


@dataclass(frozen=True)
class Chosen:
    """A point: what a file says of its kernel and of its design."""

    kernel: dict[str, Any]
    design: dict[str, Any]

    @property
    def plan(self) -> Plan:
        return planned(**self.kernel, **self.design)

    def instead(self, violation: Violation) -> Chosen:
        """The point with a violation's nearest value in the place of its field."""
        section, field, *part = violation.field.split(".")
        value = yaml.safe_load(violation.nearest)
        if section == "kernel":  # kernel.a.major
            return Chosen({**self.kernel, field: value}, self.design)
        return Chosen(self.kernel, {**self.design, field: {**self.design[field], part[0]: value} if part else value})


def chosen(pick: random.Random, small: bool = False) -> Chosen:
    """Any point, or one that is quick to build and to emulate."""
    sizes = (1, 1, 2) if small else (1, 2, 2, 2, 4, 4, 4, 3, 8, 33)
    threads = (8,) if small else (8, 16)
    return Chosen(
        {
            "a": pick.choice("mmk"),
            "b": pick.choice("nnk"),
            "bias": pick.random() < 0.6,
            "activation": pick.choice(("relu", "identity")),
        },
        {
            "specialise": pick.choice(("producer", "producer", "none")),
            "warps": {"m": pick.choice(sizes), "n": pick.choice(sizes)},
            "thread": {"m": pick.choice(threads), "n": pick.choice(threads)},
            "lanes_m": pick.choice(("auto", 4, 8)),
            "lane_order": pick.choice(("crossed", "interleaved", "plain")),
            "tile_k": pick.choice((8,) if small else (8, 16, 32)),
            "unroll": pick.choice(("auto", 2, 4) if small else ("auto", "auto", "auto", 2, 4, 8, 32)),
            "stages": pick.choice((2, 3, 4) if small else ("auto", "auto", "auto", 1, 2, 2, 3, 7)),
            "producer_warps": pick.choice(("auto", 1, 2, 3) if small else ("auto", "auto", "auto", 1, 2, 5)),
            "registers": pick.choice(("auto", "auto", "auto", "none", *SPLITS)),
            "ctas_per_sm": pick.choice((1, 1, 1, 1, 2, 40)),
            "raster": pick.choice("mn"),
            "group": pick.choice((1, 2, 3, 8)),
        },
    )  # fmt: skip


def extents(pick: random.Random) -> dict[str, int]:
    return {mode: pick.choice(EXTENTS) for mode in "MNK"} | {"L": pick.choice((1, 1, 2, 7))}


def test_designs_are_whole_or_say_what_is_wrong_and_what_would_do(rng: random.Random, seed: int) -> None:
    legal, rules = 0, set()
    for number in range(DESIGNS):
        point, sizes = chosen(rng), extents(rng)
        plan, where = point.plan, f"ATTACK_SEED={seed}: {number}: {point}"
        if not plan.legal:
            check_illegal(plan, sizes)
            rules |= {violation.rule for violation in plan.violations}
            for violation in plan.violations:
                if "; nearest legal: " in violation.message:
                    still = {found.rule for found in point.instead(violation).plan.violations}
                    assert violation.rule not in still, f"{where}: {violation}"
                else:
                    assert "; instead: " in violation.message, f"{where}: {violation}"
            continue
        legal += 1
        check_constants(plan)
        if legal % 10 == 0:
            ast.parse(check_used(plan, 400))
        predicted = target("sgemm", "sm_90a").predict(plan, sizes)
        flop = 2 * sizes["M"] * sizes["N"] * sizes["K"] * sizes["L"]
        assert predicted.seconds > flop / PEAK, f"{where}: {sizes}"
    assert legal > DESIGNS // 20, f"ATTACK_SEED={seed}"
    assert len(rules) > 12, f"ATTACK_SEED={seed}: {sorted(rules)}"


def designs_to_build(pick: random.Random) -> Iterator[Chosen]:
    """Small legal ones, no two alike in what decides which code is written."""
    seen = set()
    for point in iter(lambda: chosen(pick, small=True), None):
        kernel, design = point.kernel, point.design
        kind = (kernel["a"], kernel["b"], design["specialise"], design["stages"] == 2, kernel["bias"])
        if kind not in seen and point.plan.legal:
            seen.add(kind)
            yield point


def written(top: Path, points: list[Chosen]) -> str:
    """A file whose sweep is these points, one each."""

    def values(point: Chosen) -> dict[str, Any]:
        kernel = {"kernel.a.major": point.kernel["a"], "kernel.b.major": point.kernel["b"],
                  "kernel.bias": point.kernel["bias"], "kernel.activation": point.kernel["activation"]}  # fmt: skip
        return {key: [value] for key, value in (kernel | {f"design.{k}": v for k, v in point.design.items()}).items()}

    told = {
        "version": 1, "name": "random", "purpose": "Random designs.",
        "kernel": {"family": "sgemm", "arch": "sm_90a", "a": {"major": "m"}, "b": {"major": "n"}},
        "sweep": [values(point) for point in points],
    }  # fmt: skip
    (top / "random.yaml").write_text(yaml.safe_dump(told))
    return str(top / "random.yaml")


def random_case(pick: random.Random, plan: Plan, number: int) -> Case:
    """Extents of up to three tiles, one beside multiples of what divides them, and anything; few stages."""
    d = plan.design

    def extent(tile: int) -> int:
        if pick.random() < 0.4:
            return pick.randrange(1, 2 * tile)
        return max(1, pick.choice((1, 8, tile)) * pick.randrange(1, 4) + pick.choice((-1, 0, 1)))

    depth = pick.choice((0, 1, pick.randrange(1, 5 * d.tile_k), d.stages * d.tile_k, (d.stages + 1) * d.tile_k + 1))
    problem = multiplication(
        f"random_{number}",
        extent(d.tile_m),
        extent(d.tile_n),
        depth,
        pick.choice((1, 1, 2)),
        fill=pick.choice(("integer", "integer", "normal", "nonfinite", "extreme")),  # type: ignore[arg-type]
        padding=pick.choice((0, 0, 1, 5)),
    )
    return Case(problem, 4, pick.choice((0, 1, 2)), (pick.randrange(1000),))


def test_random_designs_compute_random_problems_as_they_should(rng: random.Random, seed: int, tmp_path: Path) -> None:
    points = list(itertools.islice(designs_to_build(rng), BUILT))
    exploration = pipeline.plan(written(tmp_path, points), tmp_path / "out")
    pipeline.advance(exploration, ("render", "build"))
    for variant, point in zip(exploration.variants, points, strict=True):
        assert variant.status == "correct", f"ATTACK_SEED={seed}: {variant.status}: {point}"
        subject = harness.load(Path(variant.folder.path))
        for number in range(PROBLEMS):
            case = random_case(rng, subject.plan, number)
            prepared = subject.prepare(case)
            (outcome,) = subject.outcomes(prepared, subject.module)
            assert outcome.complete
            wrong = [*outcome.findings, *prepared.differences]
            assert wrong == [], f"ATTACK_SEED={seed}: {subject.plan.label}: {case}: {wrong}"
