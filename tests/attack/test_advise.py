"""Advice on random kernels and problems, by the thousand: always a verdict, and numbers that can be."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Iterator, Mapping

from tests.families.copy.points import DTYPES, planned
from tests.plan.space import likely_point
from warpwright.archs import H200, arch
from warpwright.canonical import canonical_json
from warpwright.families import target
from warpwright.plan import plan
from warpwright.plan.advice import advise
from warpwright.plan.advice_text import advice_text
from warpwright.plan.types import Plan

SEED = int(os.environ.get("ATTACK_SEED", "0"))
KERNELS, PROBLEMS = 400, 6
EXTENTS = (0, 1, 2, 7, 8, 63, 64, 65, 128, 1000, 4096, 16_384, 100_003, 2**24)


def kernels(pick: random.Random) -> Iterator[Plan]:
    """Legal ones, every other a copy."""
    for number in itertools.count():
        if number % 2:
            found = plan(likely_point(pick.choice))
        else:
            found = planned(
                pick.choice(DTYPES),
                pick.choice(DTYPES),
                stage_bytes=1024 * pick.choice((2, 4, 8, 16, 32)),
                stages=pick.choice(("auto", 2, 3, 4, 8, 16)),
                consumer_warps=pick.choice((1, 2, 4, 8)),
                producer_warps=pick.choice((1, 1, 2)),
                ctas_per_sm=pick.choice((1, 2, 3, 4, 8)),
                store=pick.choice(("tma", "direct")),
            )
        if found.legal:
            yield found


def extents(pick: random.Random, found: Plan) -> Mapping[str, int]:
    modes = {"copy": "N", "gemm": "MNKL"}[found.family]
    large = pick.random() < 0.3  # so that there is something to gain
    sizes = {mode: 4096 if large else pick.choice(EXTENTS) for mode in modes}
    if found.family == "copy":
        sizes["N"] = pick.choice((*EXTENTS, 2**28, 2**33))
    if "L" in sizes:
        sizes["L"] = pick.choice((1, 1, 2, 100))
    return sizes


def test_of_whatever_kernel_and_problem_there_is_advice() -> None:
    pick = random.Random(SEED)
    worth = {True: 0, False: 0, None: 0}
    for found in itertools.islice(kernels(pick), KERNELS):
        limits = arch(found.arch)
        for _ in range(PROBLEMS):
            sizes = extents(pick, found)
            predicted = target(found.family, found.arch).predict(found, sizes).seconds
            measured = pick.choice((None, None, predicted * pick.uniform(0.5, 2)))
            again = f"ATTACK_SEED={SEED}: {found.label} {sizes} measured {measured}"
            a = advise(found, sizes, measured)
            text = advice_text(found, a)
            assert a.verdict, again
            assert "nan" not in text, again
            assert "inf" not in text.replace("information", ""), again
            canonical_json(a)  # has no NaN
            worth[a.worth] += 1
            if a.phases is None:
                assert not all(a.predicted.counts.values()), again
                continue
            ways = {(way.name, way.specialised): way for way in a.alternatives}
            assert len(ways) == len(a.alternatives), again
            for way in a.alternatives:
                assert way.shared_bytes <= limits.shared_bytes, (again, way)
                assert way.resident * (way.shared_bytes + limits.shared_reserved) <= limits.shared_per_sm, (again, way)
                assert way.seconds >= H200.launch_seconds, (again, way)
                assert way.seconds >= a.phases.dram_seconds, (again, way)
                assert math.isclose(way.gain, predicted / way.seconds - 1, abs_tol=1e-9), (again, way)
            if a.needed_stages is not None and a.needed_stages <= a.phases.stages:
                deeper = [way for way in a.alternatives if way.specialised and way.resident == a.phases.resident]
                best = max((way.gain for way in deeper), default=0.0)
                assert best < 0.01, (again, "enough stages, and more are faster", deeper)
            assert a.split is not None, again
            assert min(a.split) >= 1, again
            assert a.launch_share > 0, again
    assert min(worth.values()) > 0, worth
