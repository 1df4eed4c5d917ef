"""The plan against the built kernel, over a seeded sample of the space: shared memory to the byte, and no finding."""

from __future__ import annotations

import pytest

from tests.plan.space import legal_plans
from warpwright.build import BuildJob, build
from warpwright.build.cache import Cache
from warpwright.plan.types import Plan
from warpwright.render import render

COUNT = 24
SEED = 43


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    return legal_plans(SEED, COUNT)


def test_the_sample_spans_the_space(sample):
    """Every branch of planner and template is in it; choose another seed when the space changes."""
    seen = {
        (path, str(value))
        for planned in sample
        for path, value in _leaves({"kernel": planned.kernel, "design": vars(planned.design)})
    }
    for path, values in {
        "kernel.a.major": "mk",
        "kernel.b.major": "nk",
        "kernel.d.major": "mn",
        "kernel.d.dtype": ("f16", "bf16", "f32"),
        "kernel.c.dtype": ("f16", "bf16", "f32"),
        "kernel.c.major": "mn",
        "design.schedule": ("cooperative", "pingpong"),
        "design.consumers": (1, 2, 3),
        "design.producer_warps": (1, 2),
        "design.cluster_m": (1, 2),
        "design.cluster_n": (1, 2),
        "design.persistent": (True, False),
        "design.raster": "mn",
        "design.group": (1, 8),
        "design.store": ("tma", "direct"),
        "design.consumer_registers": (None, 232, 240),
        "design.subtile_n": (8, 16, 32, 64),
        "design.subtile_stages": (0, 1, 2),
    }.items():
        assert {(path, str(value)) for value in values} <= seen, path
    assert {copy.swizzle for planned in sample for copy in planned.main.copies} == {"none", "32B", "64B", "128B"}
    assert {constant.name for planned in sample for constant in planned.constants} >= {"A_BOXES", "B_BOXES"}


def _leaves(node: object, path: str = "") -> list[tuple[str, object]]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in _leaves(value, f"{path}.{key}" if path else key)]
    return [(path, node)]


@pytest.mark.slow
def test_the_built_kernels_are_what_the_plans_say(sample, tmp_path):
    jobs = [BuildJob(render(p), p, tmp_path / str(n)) for n, p in enumerate(sample)]
    artifacts = build(jobs, workers=2, cache=Cache(tmp_path / "cache"))
    for planned, artifact in zip(sample, artifacts, strict=True):
        assert artifact.failure is None, planned.label
        assert artifact.static_shared_bytes == 0
        assert artifact.dynamic_shared_bytes == planned.shared_bytes, planned.label
        assert not artifact.findings, (planned.label, [str(finding) for finding in artifact.findings])
