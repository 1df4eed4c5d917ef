"""Plans that have every choice of planner and template among them, and what building them must show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpwright.build import BuildJob, build
from warpwright.build.cache import Cache
from warpwright.plan.types import Plan
from warpwright.render import render

__all__ = ["CHOICES", "check_built", "choices_of", "spanning"]

_VALUES = {
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
    "swizzle": ("none", "32B", "64B", "128B"),
    "constant": ("A_BOXES", "B_BOXES"),
}
#: Every branch of planner and template.
CHOICES = frozenset((path, str(value)) for path, values in _VALUES.items() for value in values)


def choices_of(plan: Plan) -> frozenset[tuple[str, str]]:
    """Which of the choices a plan has."""
    found = {(path, str(value)) for path, value in _leaves({"kernel": plan.kernel, "design": vars(plan.design)})}
    found |= {("swizzle", str(copy.swizzle)) for copy in plan.main.copies}
    found |= {("constant", constant.name) for constant in plan.constants}
    return CHOICES & found


def spanning(plans: Sequence[Plan]) -> list[Plan]:
    """Return some of the plans that have all choices among them which all of them have: those first that add most."""
    left = frozenset[tuple[str, str]]().union(*map(choices_of, plans))
    found = []
    while left:
        found.append(max(plans, key=lambda plan: len(choices_of(plan) & left)))
        left -= choices_of(found[-1])
    return found


def check_built(plans: Sequence[Plan], top: Path) -> None:
    """Build plans below `top`: each takes the shared memory that it says, and nothing speaks against it."""
    jobs = [BuildJob(render(plan), plan, top / str(n)) for n, plan in enumerate(plans)]
    artifacts = build(jobs, workers=2, cache=Cache(top / "cache"))
    for plan, artifact in zip(plans, artifacts, strict=True):
        assert artifact.failure is None, plan.label
        assert artifact.static_shared_bytes == 0
        assert artifact.dynamic_shared_bytes == plan.shared_bytes, plan.label
        assert not artifact.findings, (plan.label, [str(finding) for finding in artifact.findings])


def _leaves(node: object, path: str = "") -> list[tuple[str, object]]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in _leaves(value, f"{path}.{key}" if path else key)]
    return [(path, node)]
