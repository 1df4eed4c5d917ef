"""Marks as no kernel would write them: whatever the two arrays hold, a diagnosis is made, and its parts are parts."""

from __future__ import annotations

import json
import os
import random

import numpy as np
import pytest

from tests.emulate.plans import cluster_plan, gemm_plan, tile_plan
from tests.families.copy.points import legal
from tests.families.ladder.points import legal as rung
from tests.families.norm_act.points import SMALL
from tests.families.norm_act.points import legal as norm
from tests.families.sgemm.points import legal as sgemm
from warpwright.device.marks import KINDS, STEPS, Marks, layout_of
from warpwright.diagnosis.figures import figures_of
from warpwright.diagnosis.hang import hang_of
from warpwright.diagnosis.report import Report
from warpwright.diagnosis.spans import trace_of
from warpwright.diagnosis.timeline import perfetto
from warpwright.plan.types import Plan

SEED = int(os.environ.get("ATTACK_SEED", "0"))
CASES = 100
PLANS = {
    "cluster": cluster_plan,
    "c": tile_plan,
    "pingpong": lambda: gemm_plan({"design.schedule": "pingpong", "design.tile": {"m": 64, "n": 32, "k": 64}}),
    "copy": legal,
    "across": lambda: gemm_plan({"design.cluster": {"m": 2, "n": 2}, "design.tile": {"m": 128, "n": 64, "k": 64}}),
    "one-role": lambda: rung(4),
    "in-turn": lambda: rung(1),
    "groups": lambda: norm(**SMALL["preprocess"]),
    "all-load": lambda: norm(**SMALL["none"]),
    "sgemm": sgemm,
}


def marks(plan: Plan, rng: random.Random) -> Marks:
    """Words of any kind at some places: plausible ones, and any 64 bits."""
    of = layout_of(plan)
    notes, stamps = np.full(of.note_words, -1), np.full(of.stamp_words, -1)
    for warp in range(of.warps):
        for step in range(STEPS):
            if rng.random() < 0.6:
                plausible = (
                    rng.randrange(1, 40) << 16 | rng.randrange(3) << 9 | rng.randrange(2) << 8 | rng.randrange(8)
                )
                notes[warp * STEPS + step] = plausible if rng.random() < 0.9 else rng.getrandbits(63)
    clock = rng.randrange(1 << 40)
    for n in range(rng.randrange(1, 30)):
        for warp in range(of.warps):
            for step in rng.sample(range(STEPS), rng.randrange(len(KINDS) * len(of.rings) + 1)):
                stamps[(warp * of.rounds + n) * STEPS + step] = clock + 1000 * n + rng.randrange(-2000, 2000)
    return Marks(of, notes, stamps, -1)


@pytest.mark.parametrize("name", PLANS)
def test_any_marks(name: str) -> None:
    plan = PLANS[name]()
    for case in range(CASES):
        where = f"seed {SEED}, case {case}"
        found = marks(plan, random.Random(f"{SEED} {name} {case}"))
        hang, trace = hang_of(plan.main, found), trace_of(plan.main, found)
        figures = figures_of(trace)
        report = Report("x", "p", "measured", "hang", "gpu", hang, figures)
        text = "\n".join(report.lines())
        assert "nan" not in text, where
        json.dumps(report.data(), allow_nan=False)
        events = perfetto(trace, "x", "measured")["traceEvents"]
        assert all(event["dur"] >= 0 for event in events if event["ph"] == "X"), where
        if figures is None:
            continue
        parts = [figures.both, figures.loads, figures.compute, figures.neither, figures.overlap, figures.deep]
        parts += [part for waits in figures.stalls.values() for part in waits.values()] + [*figures.lead.values()]
        assert all(-1e-9 <= part <= 1 + 1e-9 for part in parts), (where, figures)
        assert figures.both + figures.loads + figures.compute + figures.neither == pytest.approx(1), where
        assert sum(figures.lead.values()) == pytest.approx(1), where
