"""One variant on one problem: poisoned outputs, guard bands, repeats, and the comparison with the reference."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.inputs import along, shared_inputs
from warpwright.device.memo import Store
from warpwright.device.problem import Problem, shape_of, shared
from warpwright.device.subject import Subject, bands, in_place, launch
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.tolerance import Agreement, compare, number
from warpwright.families.running import Expected, Sample
from warpwright.plan.types import Argument

__all__ = ["check_problem"]

#: Float64 temporaries beside each element of an output that is compared, in the reference and the comparison.
_TEMPORARIES = 20


def check_problem(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    repeats: int,
    seed: int,
    store: Store,
    beat: Callable[[int | None], None],
) -> dict[str, Any]:
    """Run one problem and return its figures: status `correct`, `incorrect` or `skipped`, faults, ratio, relative.

    `beat(repeat)` is called ahead of every launch, `beat(None)` when nothing of the variant runs any more.
    Raises LaunchRefusedError or DeviceLostError: the context is over.
    """
    started = time.perf_counter()
    sample = subject.workload.sample(subject.plan, problem)
    needed = _needed_bytes(subject, problem, sample)
    if needed > backend.free_bytes():
        why = f"needs {needed / 2**30:.1f} GiB, the device has {backend.free_bytes() / 2**30:.1f} GiB free"
        return {**problem.figures(), "status": "skipped", "faults": [why]}

    memo = store.within(subject.plan.family, seed, problem)
    inputs = shared_inputs(backend, subject, problem, seed, sample, memo)
    launches = max(1, min(repeats, problem.repeats or repeats))
    workspaces = _buffers(backend, subject, problem, "workspace")
    same = shared(subject.arguments(), problem)
    first = other = _outputs(backend, subject, problem, same)
    if launches > 1:
        other = _outputs(backend, subject, problem, same)
    faults: list[str] = []
    for repeat in range(launches):
        beat(repeat)
        results = other if repeat else first
        written = {**workspaces, **results}
        for buffer in written.values():
            buffer.poison()
        given = {**inputs.buffers, **written, **in_place(same, inputs.buffers, results)}
        launch(backend, subject, problem, given, _clusters(subject, problem, repeat))
        for name, buffer in written.items():
            faults += bands(backend, buffer, repeat)
            if repeat and name in results and not backend.xp.same(first[name].view, buffer.view):
                faults.append(_nondeterminism(backend, first[name], buffer, repeat))
        faults += inputs.trespasses()
        if faults:
            break
    beat(None)
    expected = subject.workload.expected(backend.xp, subject.plan, problem, inputs.stored, memo)
    agreements = [_compare(backend, result, expected[name], sample, faults) for name, result in first.items()]
    return {
        **problem.figures(),
        "status": "incorrect" if faults else "correct",
        "faults": faults,
        "launches": launches,
        "elements": sum(agreement.elements for agreement in agreements),
        "ratio": number(max(agreement.ratio for agreement in agreements)),
        "relative": number(max(agreement.relative for agreement in agreements)),
        "seconds": round(time.perf_counter() - started, 4),
    }


def _needed_bytes(subject: Subject, problem: Problem, sample: Sample | None) -> int:
    """Bytes that a check allocates: two of each output, and temporaries."""
    extents = problem.extents
    if sample is not None:
        extents[sample.mode] = len(sample.indices)
    needed = sum(tensors.buffer_bytes(a, problem) * (2 if a.output else 1) for a in subject.arguments())
    return needed + sum(prod(shape_of(a, extents)) * 8 * _TEMPORARIES for a in subject.arguments("output"))


def _buffers(backend: Backend, subject: Subject, problem: Problem, role: str) -> dict[str, GuardedBuffer]:
    return {a.name: tensors.make_buffer(backend.xp, a, problem) for a in subject.arguments(role)}


def _outputs(
    backend: Backend, subject: Subject, problem: Problem, same: Mapping[str, Argument]
) -> dict[str, GuardedBuffer]:
    """The outputs, each aligned as an input needs it that it is to be."""
    placed = {output.name: output for output in same.values()}
    return {
        a.name: tensors.make_buffer(backend.xp, placed.get(a.name, a), problem) for a in subject.arguments("output")
    }


def _compare(
    backend: Backend, result: GuardedBuffer, expected: Expected, sample: Sample | None, faults: list[str]
) -> Agreement:
    """Compare an output with its reference and add what is wrong with it to the faults."""
    xp, argument = backend.xp, result.argument
    got = xp.decode(along(xp, argument, result.view, sample), argument.dtype)
    agreement = compare(xp, got, expected.values, expected.error, argument.dtype, expected.signed)
    if agreement.wrong:
        found: Mapping[str, Any] = agreement.worst
        index = list(found["index"])
        if sample is not None and sample.mode in argument.shape:
            axis = argument.shape.index(sample.mode)
            index[axis] = int(sample.indices[index[axis]])
        faults.append(
            f"{agreement.wrong} of {agreement.elements} elements are outside their bound; the first, {argument.name}"
            f"{index}, is {found['got']}, expected {found['expected']} within {found['bound']}"
        )
    return agreement


def _clusters(subject: Subject, problem: Problem, repeat: int) -> int:
    """All clusters first; from the third launch on few, so that each walks over many tiles and its pipelines wrap."""
    most = subject.kernel.grid_limit
    if repeat < 2:
        return most
    return 1 if subject.workload.units(subject.plan, problem) <= 64 else max(1, most // 3)


def _nondeterminism(backend: Backend, first: GuardedBuffer, other: GuardedBuffer, repeat: int) -> str:
    at = list(backend.xp.first(first.view != other.view))
    return f"launch {repeat} differs from launch 0 on the same operands, first at {first.argument.name}{at}"
