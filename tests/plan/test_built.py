"""The plan against the built kernel, over a seeded sample of the space: shared memory to the byte, and no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.build import Artifact, BuildJob, build
from generator.build.cache import Cache
from generator.plan.types import Plan
from generator.render import render
from tests.plan.space import legal_plans

COUNT = 24
SEED = 1


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    return legal_plans(SEED, COUNT)


@pytest.fixture(scope="module")
def artifacts(sample: list[Plan], tmp_path_factory: pytest.TempPathFactory) -> list[Artifact]:
    folder = tmp_path_factory.mktemp("sample")
    jobs = [BuildJob(render(p, "sample.yaml"), p, Path(folder / str(n))) for n, p in enumerate(sample)]
    return build(jobs, workers=2, cache=Cache(folder / "cache"))


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


def test_shared_memory_is_predicted_to_the_byte(sample, artifacts):
    for planned, artifact in zip(sample, artifacts, strict=True):
        assert artifact.failure is None, planned.label
        assert artifact.static_shared_bytes == 0
        assert artifact.dynamic_shared_bytes == planned.shared_bytes, planned.label


def test_the_census_finds_what_the_plan_says(sample, artifacts):
    for planned, artifact in zip(sample, artifacts, strict=True):
        assert not artifact.findings, (planned.label, [str(finding) for finding in artifact.findings])
