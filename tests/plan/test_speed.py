"""Planning is what people wait for while they edit: 10,000 points in 2 seconds, of which spec takes half."""

from __future__ import annotations

import random
import time

from tests.plan.space import likely_point
from warpwright.families import target

PER_POINT = 110e-6  # seconds, of a legal point on a machine of 2026 that does nothing else
SLACK = 3  # machines that do other things beside this


def test_planning_a_legal_point_takes_no_longer_than_it_should():
    of = target("gemm", "sm_90a")
    pick = random.Random(11).choice
    points = [p for p in (likely_point(pick) for _ in range(2500)) if of.plan(p).legal]
    assert len(points) > 300
    took = []
    for _ in range(5):
        start = time.process_time()
        for point in points:
            of.plan(point)
        took.append(time.process_time() - start)
    assert min(took) / len(points) < SLACK * PER_POINT
