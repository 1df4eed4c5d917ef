"""Hostile calls, checked and raw: each is refused with a sentence, or launched with exactly the plan's launch.

Nothing is run: the exported host function is called, and what it would launch is captured. `ATTACK_CALLS` is how many.
"""

from __future__ import annotations

import copy
import math
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.attack.hostile import APART, Drawn, Tensor, draw, spoil, spoil_raw
from warpwright import pipeline
from warpwright.archs import TMA_STRIDES
from warpwright.build.launch_capture import HostError, TensorValue
from warpwright.device.call import CallError, CheckedKernel
from warpwright.device.problem import Problem
from warpwright.dtypes import dtype
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.harness import Subject
from warpwright.emulate.variant.launch_check import check
from warpwright.emulate.variant.tensor_maps import Given
from warpwright.families import workload
from warpwright.families.copy.workload import launch as copy_launch
from warpwright.families.gemm.workload import launch as gemm_launch
from warpwright.plan.types import Argument, Plan

CALLS = int(os.environ.get("ATTACK_CALLS", "20000"))
_RESIDENT = 132
_FEW = 1 << 14  # elements of a tensor whose addresses are all looked at

GEMM = """\
version: 1
name: attacked_gemm
purpose: Kernels that hostile calls are made of.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: n}
  d: {dtype: f16, major: n}
design:
  tile: {m: 64, n: 16, k: 32}
  consumer_warps: 4
  stages: 2
sweep:
  - kernel.epilogue: [[alpha, beta_c, bias_n]]
    kernel.c: [{dtype: f16, major: n}]
    design.cluster: [{m: 2, n: 1}]
  - kernel.epilogue: [[alpha, beta_c]]
    kernel.c: [{dtype: f32, major: m}]
    kernel.d: [{dtype: f32, major: m}]
    design.consumer_warps: [8]
    design.schedule: [pingpong]
    design.store: [direct]
  - design.scheduler: [{kind: one_tile}]
"""
COPY = """\
version: 1
name: attacked_copy
purpose: Kernels that hostile calls are made of.
kernel:
  family: copy
  arch: sm_90a
  x: {dtype: f16}
  y: {dtype: f16}
design: {stage_bytes: 4096}
sweep:
  - design.store: [direct]
  - kernel.y: [{dtype: f32}]
    design.store: [tma]
    design.producer_warps: [2]
"""


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> list[Subject]:
    top = tmp_path_factory.mktemp("attacked")
    found = []
    for name, text in (("gemm", GEMM), ("copy", COPY)):
        (top / f"{name}.yaml").write_text(text)
        exploration = pipeline.plan(str(top / f"{name}.yaml"), top / "out")
        pipeline.advance(exploration, ("render", "build"))
        found += [harness.load(Path(variant.folder.path)) for variant in exploration.legal]
    assert len(found) == 5
    return found


def launched(
    subject: Subject, values: Mapping[str, Any], extents: Mapping[str, int], clusters: int
) -> tuple[list[str], str]:
    """Call the host function: in words, how what it launches differs from the plan, and why it refused."""
    plan = subject.plan
    try:
        seen = subject.host([values[a.name] for a in plan.arguments])
    except HostError as error:
        return [], str(error) or "without a word"
    problem = Problem("call", tuple(extents.items()))
    if not workload(plan.family).units(plan, problem):
        return [f"{len(seen)} launches of an empty problem"] if seen else [], ""
    if len(seen) != 1:
        return [f"{len(seen)} launches"], ""
    given = {a.name: Given(a, values[a.name]) for a in plan.arguments if isinstance(values[a.name], TensorValue)}
    scalars = {a.name: float(values[a.name]) for a in plan.arguments if a.kind == "scalar" and a.role == "input"}
    family: Any = {"gemm": gemm_launch, "copy": copy_launch}[plan.family]
    due = family.launched(plan, problem, clusters, scalars)
    (entry,) = subject.entries
    checked = check(entry.kernel, entry.maps, seen[0], due, given, entry.lines)
    return [*(f.message for f in checked.findings), *(str(d) for d in checked.differences)], ""


def addresses(argument: Argument, tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """The first byte of every element; None of too many."""
    if math.prod(tensor.shape) > _FEW:
        return None
    if 0 in tensor.shape:  # beside which an extent may be of any size
        return np.zeros(0, np.int64)
    at = np.full((), tensor.address, np.int64)
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        at = np.add.outer(at, np.arange(extent, dtype=np.int64) * stride * dtype(argument.dtype).bytes)
    return at.reshape(-1)


def every_byte(argument: Argument, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The addresses of all bytes of elements."""
    return np.add.outer(found, np.arange(dtype(argument.dtype).bytes)).reshape(-1)


def breach(plan: Plan, handed: Mapping[str, Any], extents: Mapping[str, int]) -> str:
    """What is wrong with a call that was accepted, told from its elements one by one; "" for nothing."""
    if plan.exceeded(extents):
        return f"{plan.exceeded(extents)} is exceeded"
    tensors = {a: handed[a.name] for a in plan.arguments if a.kind != "scalar"}
    for a, tensor in tensors.items():
        if tensor.short != a.dtype or (tensor.address % a.alignment and math.prod(tensor.shape)):
            return f"{a.name}: dtype or address"
        if tuple(tensor.shape) != tuple(extents[mode] for mode in a.shape):
            return f"{a.name}: shape"
        for mode, stride in zip(a.shape, tensor.strides, strict=True):
            if stride != 1 if mode == a.contiguous else stride * dtype(a.dtype).bytes % a.alignment:
                return f"{a.name}: stride {stride} in {mode}"
    for a, tensor in tensors.items():
        mine = addresses(a, tensor) if a.output else None
        if mine is None:
            continue
        if len(np.unique(mine)) < len(mine):
            return f"{a.name}: elements overlap each other"
        for b, other in tensors.items():
            theirs = addresses(b, other) if b.name != a.name else None
            if theirs is None or (b.name == a.in_place and np.array_equal(theirs, mine)):
                continue
            if len(np.intersect1d(every_byte(a, mine), every_byte(b, theirs))):
                return f"{a.name} overlaps {b.name}"
    return ""


def refused(call: CheckedKernel, given: Mapping[str, Any]) -> tuple[CallError | None, str]:
    """How a call was refused, None if it was not; and any other exception, in words."""
    try:
        call(**given)
    except CallError as error:
        return error, ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return None, ""


def sentence(error: CallError) -> bool:
    """Whether a refusal is one line, neither short nor long, that begins with what is wrong."""
    text = str(error)
    return "\n" not in text and 10 < len(text) < 400 and text.startswith(f"{error.argument}: ")


def test_checked_calls(subjects: list[Subject], seed: int) -> None:
    counts = {"launched": 0, "refused": 0, "in place": 0}
    for number in range(CALLS):
        rng = random.Random(f"{seed} checked {number}")
        subject = rng.choice(subjects)
        plan, drawn = subject.plan, draw(rng, subject.plan)
        right = copy.copy(drawn.given)
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            spoil(rng, plan, drawn)
        what = f"ATTACK_SEED={seed}, checked call {number} of {plan.label}: {drawn.done or 'nothing altered'}"
        handed: dict[str, Any] = {}

        def function(*arguments: Any, plan: Plan = plan, handed: dict[str, Any] = handed) -> None:
            handed |= dict(zip((a.name for a in plan.arguments), arguments, strict=True))

        refusal, surprise = refused(CheckedKernel(plan, function, _RESIDENT, "host"), drawn.given)
        assert not surprise, f"{what}: {surprise}"
        if refusal:
            counts["refused"] += 1
            assert not handed, what
            assert sentence(refusal), f"{what}: {refusal}"
            large = plan.exceeded(drawn.extents) or _unheld(plan, drawn) if not drawn.done else True
            assert large, f"{what}: {refusal}: {right}"
            continue
        counts["launched"] += 1
        shapes = {a.name: handed[a.name].shape for a in plan.arguments if a.kind != "scalar"}
        found = {m: e for a in plan.arguments if a.shape for m, e in zip(a.shape, shapes[a.name], strict=True)}
        extents = {mode: int(found[mode]) for mode in workload(plan.family).modes}
        assert not breach(plan, handed, extents), f"{what}: {breach(plan, handed, extents)}"
        values = {name: each.value if isinstance(each, Tensor) else each for name, each in handed.items()}
        clusters = next((values[a.name] for a in plan.arguments if a.role == "grid_limit"), 1)
        wrong, error = launched(subject, values, extents, clusters)
        assert not error, f"{what}: accepted, and refused by the function itself: {error}"
        assert not wrong, f"{what}: {wrong}"
        for a in plan.arguments:
            counts["in place"] += bool(a.in_place and values[a.in_place] == values[a.name])
    assert min(counts["launched"], counts["refused"]) > CALLS // 10, counts
    assert counts["in place"] > CALLS // 400, counts


def test_raw_calls(subjects: list[Subject], seed: int) -> None:
    counts = {"launched": 0, "refused": 0, "by the launch": 0}
    for number in range(CALLS):
        rng = random.Random(f"{seed} raw {number}")
        subject = rng.choice(subjects)
        plan, drawn = subject.plan, draw(rng, subject.plan)
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            spoil_raw(rng, plan, drawn)
        what = f"ATTACK_SEED={seed}, raw call {number} of {plan.label}: {drawn.done or 'nothing altered'}"
        values = {name: _raw(each) for name, each in drawn.given.items()}
        clusters = next((values[a.name] for a in plan.arguments if a.role == "grid_limit"), 1)
        extents = _extents(plan, drawn)
        beyond = plan.exceeded(extents)
        empty = not workload(plan.family).units(plan, Problem("call", tuple(extents.items())))
        wrong, error = launched(subject, values, extents, clusters)
        if error:
            counts["refused"] += 1
            by_launch = "CUDA error" in error
            counts["by the launch"] += by_launch
            assert not by_launch or beyond or clusters < 1 or _unheld(plan, drawn), f"{what}: {error}"
            assert by_launch or drawn.done or clusters >= 2**31 or _loose(plan, drawn), f"{what}: {error}"
            continue
        counts["launched"] += 1
        assert not beyond or empty or plan.family == "copy", f"{what}: {beyond} is exceeded"
        assert not wrong, f"{what}: {wrong}"
    assert min(counts["launched"], counts["refused"]) > CALLS // 10, counts
    assert counts["by the launch"] > CALLS // 400, counts


def _raw(given: Any) -> Any:
    if isinstance(given, Tensor):
        return given.value
    return float(np.float32(float(given))) if not isinstance(given, int) else given


def _extents(plan: Plan, drawn: Drawn) -> dict[str, int]:
    """Those of the first tensor that has a mode: where another one differs, the function refuses."""
    found: dict[str, int] = {}
    for a in plan.arguments:
        if a.kind != "scalar":
            for mode, extent in zip(a.shape, drawn.given[a.name].shape, strict=False):
                found.setdefault(mode, int(extent))
    return {mode: found.get(mode, 0) for mode in workload(plan.family).modes}


def _loose(plan: Plan, drawn: Drawn) -> bool:
    """Whether a tensor has no elements, or a contiguous mode of another stride: the function looks at both."""
    for a in plan.arguments:
        if a.kind != "scalar":
            tensor = drawn.given[a.name]
            if 0 in tensor.shape or tensor.strides[a.shape.index(a.contiguous)] != 1:
                return True
    return False


def _unheld(plan: Plan, drawn: Drawn) -> bool:
    """Whether a tensor has a stride that no descriptor holds, or reaches as far as the next one."""
    for a in plan.arguments:
        if a.kind == "tensor":
            tensor, size = drawn.given[a.name], dtype(a.dtype).bytes
            modes = zip(tensor.shape, tensor.strides, strict=True)
            steps = [(extent, stride * size) for extent, stride in modes if extent > 1]
            if any(not 0 <= step < TMA_STRIDES for _, step in steps) or sum(e * s for e, s in steps) > APART:
                return True
    return False
