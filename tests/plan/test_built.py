"""The plan against the built kernel, over a seeded sample of the space: shared memory to the byte, and no finding."""

from __future__ import annotations

import pytest

from tests.plan.space import legal_plans
from warpwright.build import BuildJob, build
from warpwright.build.cache import Cache
from warpwright.plan.types import Plan
from warpwright.render import render

COUNT = 24
SEED = 1


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    return legal_plans(SEED, COUNT)


def test_the_sample_spans_the_space(sample):
    """Every branch of planner and template is in it; choose another seed when the space changes."""
    seen = {(path, str(value)) for planned in sample for path, value in _leaves(planned.point)}
    for path, values in {
        "kernel.a.major": "mk",
        "kernel.b.major": "nk",
        "kernel.d.major": "mn",
        "kernel.d.dtype": ("f16", "bf16", "f32"),
        "kernel.c.dtype": ("f16", "bf16", "f32"),
        "kernel.c.major": "mn",
        "design.schedule": ("cooperative", "pingpong"),
        "design.consumer_warps": (4, 8, 12),
        "design.producer_warps": (1, 2),
        "design.cluster.m": (1, 2),
        "design.cluster.n": (1, 2),
        "design.scheduler.kind": ("persistent", "one_tile"),
        "design.scheduler.raster": "mn",
        "design.store": ("tma", "direct"),
        "design.registers": ("auto", "none"),
        "design.epilogue_n": ("auto", 8),
    }.items():
        assert {(path, str(value)) for value in values} <= seen, path
    swizzles = {copy.swizzle for planned in sample for copy in planned.tma}
    assert swizzles == {"none", "32B", "64B", "128B"}


def _leaves(node: object, path: str = "") -> list[tuple[str, object]]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in _leaves(value, f"{path}.{key}" if path else key)]
    return [(path, node)]


def test_the_built_kernels_are_what_the_plans_say(sample, tmp_path):
    jobs = [BuildJob(render(p, "sample.yaml"), p, tmp_path / str(n)) for n, p in enumerate(sample)]
    artifacts = build(jobs, workers=2, cache=Cache(tmp_path / "cache"))
    for planned, artifact in zip(sample, artifacts, strict=True):
        assert artifact.failure is None, planned.label
        assert artifact.static_shared_bytes == 0
        assert artifact.dynamic_shared_bytes == planned.shared_bytes, planned.label
        assert not artifact.findings, (planned.label, [str(finding) for finding in artifact.findings])
