"""Random designs of a normalisation, by the hundred: legal ones render and predict, a few are built and compute what
they should on odd problems; an illegal one says which rule it breaks, and the way out is one."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.families.holding import check_constants, check_illegal, check_used
from tests.families.norm_act.points import DTYPES, SMALL, legal, planned
from warpwright.build import BuildJob, build
from warpwright.canonical import plain
from warpwright.device.problem import Case, Fill
from warpwright.emulate.variant import harness
from warpwright.families import target
from warpwright.families.norm_act.workload.design import rows_at_once, rows_of_ring
from warpwright.families.norm_act.workload.problems import of_rows
from warpwright.plan.types import Plan
from warpwright.record import write_json
from warpwright.render import render

DESIGNS, BUILT, PROBLEMS = 2000, 8, 12
KERNEL = {"x", "y", "norm", "residual", "weight", "bias", "activation"}
EXTENTS = (0, 1, 3, 31, 127, 128, 1000, 4096, 65536)
#: Bytes per second of an H200's DRAM, as measured.
DRAM = 4.27e12


def chosen(pick: random.Random, small: bool = False) -> dict[str, Any]:
    """A point some fields away from one that is legal; small ones are quick to build and to emulate."""
    wild = anything(pick, small)
    base = {"x": "bf16", "y": "bf16", "weight": "bf16", "bias": "bf16", **pick.choice(list(SMALL.values()))}
    kernel = {name: wild[name] for name in KERNEL if pick.random() < 0.5}
    fields = pick.sample(sorted(wild.keys() - KERNEL), pick.randrange(5))
    return {**base, **kernel, **{name: wild[name] for name in fields}}


def anything(pick: random.Random, small: bool) -> dict[str, Any]:
    """Any value of every field."""
    activations = ("identity", "relu", "silu", "gelu_tanh", "gelu_erf")
    return {
        "x": pick.choice(DTYPES),
        "y": pick.choice(DTYPES),
        "norm": pick.choice(("layer", "rms")),
        "residual": pick.random() < 0.3,
        "weight": pick.choice((None, *DTYPES)),
        "bias": pick.choice((None, *DTYPES)),
        "activation": pick.choice(activations),
        "specialise": pick.choice(("none", "none", "tma", "preprocess")),
        "columns": pick.choice((256, 512, 1024, 2048) if small else (1, 1000, 1024, 4096, 8192, 16384, 65536)),
        "warps_per_row": pick.choice((1, 1, 2, 4) if small else (1, 2, 3, 4, 8, 16, 32)),
        "groups": pick.choice((1, 1, 2, 3) if small else (1, 1, 2, 3, 8, 20)),
        "ctas_per_row": pick.choice((1, 1, 1, 2, 4, 8, 3, 16)),
        "rows_per_group": pick.choice((1, 1, 2, 3, 5)),
        "producer_warps": pick.choice(("auto", "auto", 1, 2, 4)),
        "producer_groups": pick.choice((1, 1, 1, 2, 3)),
        "stages": pick.choice(("auto", "auto", 2, 3, 4, 6, 12)),
        "ring": pick.choice(("mbarrier", "mbarrier", "named")),
        "ctas_per_sm": pick.choice((1, 1, 2) if small else (1, 1, 2, 4, 5, 16, 33)),
        "persistent": pick.random() < 0.6,
        "row": pick.choice(("registers", "registers", "shared", "streamed")),
        "scales": pick.choice(("registers", "registers", "shared")),
        "reallocate": pick.random() < 0.2,
        "access_bytes": pick.choice((16, 16, 16, 8, 4, 2)),
    }


def test_designs_are_whole_or_say_what_is_wrong_and_what_would_do(rng: random.Random, seed: int) -> None:
    whole, rules = 0, set()
    for number in range(DESIGNS):
        point, sizes = chosen(rng), {mode: rng.choice(EXTENTS) for mode in "MN"}
        plan, where = planned(**point), f"ATTACK_SEED={seed}: {number}: {point}"
        if not plan.legal:
            check_illegal(plan, sizes)
            rules |= {violation.rule for violation in plan.violations}
            for violation in plan.violations:
                if "; nearest legal: " in violation.message:
                    changed = {**point, violation.field.removeprefix("design."): yaml.safe_load(violation.nearest)}
                    still = {found.rule for found in planned(**changed).violations}
                    assert violation.rule not in still, f"{where}: {violation}"
                else:
                    assert "; instead: " in violation.message, f"{where}: {violation}"
            continue
        whole += 1
        check_constants(plan)
        if whole % 5 == 0:
            ast.parse(check_used(plan, 400))
        predicted = target("norm_act", "sm_90a").predict(plan, sizes)
        assert predicted.seconds > 2 * 2 * sizes["M"] * sizes["N"] / DRAM, f"{where}: {sizes}"
    assert whole > DESIGNS // 50, f"ATTACK_SEED={seed}: {whole}"
    assert len(rules) > 18, f"ATTACK_SEED={seed}: {sorted(rules)}"


def designs_to_build(pick: random.Random) -> Iterator[dict[str, Any]]:
    """Small legal ones, no two alike in what decides which code is written."""
    seen = set()
    for point in iter(lambda: chosen(pick, small=True), None):
        plan = planned(**point)
        if not plan.legal:
            continue
        d = plan.design
        several = (d.rows_per_group > 1, d.ctas_per_row > 1, d.groups > 1)
        kind = (d.specialise, d.row, several, d.ring, plan.kernel["norm"])
        if kind not in seen:
            seen.add(kind)
            yield point


def random_case(pick: random.Random, plan: Plan, number: int) -> Case:
    """Rows up to twice round the ring or through the CTAs, of any length: a whole one, nearly so, or anything."""
    d = plan.design
    rows = pick.choice((1, pick.randrange(1, 4), rows_at_once(plan) + 1, 2 * rows_of_ring(plan) + 1))
    columns = pick.choice((d.columns, d.columns - 1, pick.randrange(1, d.columns + 1), pick.randrange(1, 17)))
    fill: Fill = pick.choice(("integer", "normal", "normal", "nonfinite"))
    problem = of_rows(f"random_{number}", min(rows, 24), columns, fill, pick.choice((0, 0, 1, 5)))
    return Case(problem, pick.choice((1, 2)), pick.choice((0, 1)), (pick.randrange(1000),))


def test_random_designs_compute_random_problems_as_they_should(rng: random.Random, seed: int, tmp_path: Path) -> None:
    points = list(itertools.islice(designs_to_build(rng), BUILT))
    plans = [legal(**point) for point in points]
    folders = [tmp_path / str(number) for number in range(len(plans))]
    jobs = [BuildJob(render(plan), plan, folder) for plan, folder in zip(plans, folders, strict=True)]
    for artifact, point in zip(build(jobs), points, strict=True):
        assert artifact.built, f"ATTACK_SEED={seed}: {point}: {artifact.failure}"
    for plan, folder in zip(plans, folders, strict=True):
        write_json(folder / "plan.json", plain(plan))
        subject = harness.load(folder)
        for number in range(PROBLEMS):
            case = random_case(rng, plan, number)
            prepared = subject.prepare(case)
            (outcome,) = subject.outcomes(prepared, subject.module)
            assert outcome.complete, f"ATTACK_SEED={seed}: {plan.label}: {case}"
            wrong = [*outcome.findings, *prepared.differences]
            assert wrong == [], f"ATTACK_SEED={seed}: {plan.label}: {case}: {wrong}"
