"""The twins of all shipped variants, as source: marks of steps that are there, in every role; none in what ships."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from warpwright import pipeline, resources
from warpwright.device.marks import STAMPED, instrumented, layout_of
from warpwright.families import target
from warpwright.render import render

CONFIGS = sorted(path.stem for path in resources.configs().glob("*.yaml"))
CALL = re.compile(r"\bmark(?:_here)?\(notes, stamps, ([A-Z_]+),")


@pytest.mark.parametrize("config", CONFIGS)
def test_every_mark_is_of_a_step(config: str) -> None:
    exploration = pipeline.plan(str(resources.configs() / f"{config}.yaml"), Path("nowhere"))
    assert exploration.legal
    for plan in (variant.plan for variant in exploration.legal):
        assert "mark" not in {node.id for node in ast.walk(ast.parse(render(plan))) if isinstance(node, ast.Name)}
        if not target(plan.family, plan.arch).instrumented(plan):
            continue
        steps = layout_of(plan).steps
        for twin in (instrumented(plan), instrumented(plan, STAMPED)):
            source = render(twin)
            ast.parse(source)
            used = set(CALL.findall(source))
            assert used <= set(steps), plan.label
            for ring in layout_of(plan).rings:
                assert {f"{ring.upper()}_{kind}" for kind in ("WAIT", "GOT", "DONE")} <= used, plan.label
            assert "END" in used, plan.label
