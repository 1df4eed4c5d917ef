"""One variant on one problem: poisoned output, guard bands, repeats, and the comparison with the reference."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.call import CLUSTERS, CheckedKernel
from warpwright.device.problems import Problem, tiling
from warpwright.device.reference import Chain, Product, multiply, sample_rows, scalar_value
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.tolerance import compare, number
from warpwright.device.variant import Variant
from warpwright.device.xp import POISON, Array
from warpwright.plan.types import Argument, Plan

__all__ = [
    "DeviceLostError", "LaunchRefusedError", "ProductCache", "Subject", "bands", "check_problem", "launch",
    "load_subject", "scalars_of",
]  # fmt: skip


class LaunchRefusedError(Exception):
    """The launch itself was refused."""


class DeviceLostError(Exception):
    """The device reported an error after the launch: the context is lost."""


@dataclass
class Subject:
    """A loaded variant."""

    variant: Variant
    kernel: CheckedKernel
    chain: Chain


@dataclass
class _Factors:
    """The operands A and B of one problem, as bits, and their product: shared by all variants of the same dtypes."""

    bits: dict[str, Array]
    product: Product
    rows: Array | None
    checksum: int


@dataclass
class ProductCache:
    """Products by seed, problem and dtypes, the least recently used dropped beyond `budget` bytes."""

    budget: int
    used: int = 0
    entries: OrderedDict[tuple[Any, ...], tuple[_Factors, int]] = field(default_factory=OrderedDict)

    def get(self, key: tuple[Any, ...], make: Callable[[], tuple[_Factors, int]]) -> _Factors:
        if key not in self.entries:
            self.entries[key] = made = make()
            self.used += made[1]
            while self.used > self.budget and len(self.entries) > 1:
                self.used -= self.entries.popitem(last=False)[1][1]
        self.entries.move_to_end(key)
        return self.entries[key][0]


def load_subject(backend: Backend, variant: Variant) -> Subject:
    """Load a variant's function. Raises LaunchRefusedError when the device cannot load it."""
    chain = Chain(variant.plan, backend.operation)
    try:
        function = backend.load(variant)
    except Exception as error:
        raise LaunchRefusedError(f"loading: {type(error).__name__}: {error}") from error
    kernel = CheckedKernel(variant.plan, function, backend.max_clusters(variant.plan), backend.device_type)
    return Subject(variant, kernel, chain)


def check_problem(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    repeats: int,
    seed: int,
    cache: ProductCache,
    beat: Callable[[int], None],
) -> dict[str, Any]:
    """Run one problem and return its figures: status `correct`, `incorrect` or `skipped`, faults, ratio, relative.

    `beat(repeat)` is called ahead of every launch. Raises LaunchRefusedError or DeviceLostError: the context is over.
    """
    started = time.perf_counter()
    xp, chain = backend.xp, subject.chain
    arguments = [a for a in subject.variant.plan.arguments if a.kind != "scalar"]
    # Two outputs and, per sampled or full row, some twenty float64 temporaries.
    rows = len(sample_rows(problem.m)) if problem.sampled else problem.m
    needed = sum(tensors.buffer_bytes(a, problem) * (2 if a.output else 1) for a in arguments)
    needed += problem.l * rows * problem.n * 8 * 20
    if needed > backend.free_bytes():
        why = f"needs {needed / 2**30:.1f} GiB, the device has {backend.free_bytes() / 2**30:.1f} GiB free"
        return {**problem.figures(), "status": "skipped", "faults": [why]}

    factors = _factors(backend, subject, problem, seed, cache)
    scalars = scalars_of(subject.variant.plan, problem)
    unread = {tile for tile, scalar in chain.skips.items() if scalars[scalar] == 0}
    inputs = {a.name: _input(backend, a, problem, seed, factors, a.name in unread) for a in arguments if not a.output}
    output = next(a for a in arguments if a.output)
    before = {name: xp.checksum(buffer.raw) for name, buffer in inputs.items()}
    faults: list[str] = []
    launches = max(1, min(repeats, problem.repeats or repeats))
    first = other = tensors.make_buffer(xp, output, problem)
    if launches > 1:
        other = tensors.make_buffer(xp, output, problem)
    for repeat in range(launches):
        beat(repeat)
        result = other if repeat else first
        result.poison()
        launch(backend, subject, problem, {**inputs, output.name: result}, scalars, _clusters(subject, problem, repeat))
        faults += bands(backend, result, repeat)
        if repeat and not xp.same(first.view, result.view):
            faults.append(_nondeterminism(backend, first, result, repeat))
        faults += _trespasses(backend, inputs, before, factors)
        if faults:
            break
    expected = chain.apply(
        xp, factors.product, scalars, lambda name: _stored(backend, inputs[name], factors), factors.rows
    )
    view = first.view if factors.rows is None else first.view[:, factors.rows]
    agreement = compare(xp, xp.decode(view, output.dtype), expected.values, expected.error, output.dtype)
    if agreement.wrong:
        found = agreement.worst
        if factors.rows is not None:
            found["index"][1] = int(factors.rows[found["index"][1]])
        faults.append(
            f"{agreement.wrong} of {agreement.elements} elements are outside their bound; the first, {output.name}"
            f"{found['index']}, is {found['got']}, expected {found['expected']} within {found['bound']}"
        )
    return {
        **problem.figures(),
        "status": "incorrect" if faults else "correct",
        "faults": faults,
        "launches": launches,
        "elements": agreement.elements,
        "ratio": number(agreement.ratio),
        "relative": number(agreement.relative),
        "seconds": round(time.perf_counter() - started, 4),
    }


def scalars_of(plan: Plan, problem: Problem) -> dict[str, float]:
    """Return the scalar operands of a problem by name."""
    names = [a.name for a in plan.arguments if a.kind == "scalar" and a.name != CLUSTERS]
    return {name: scalar_value(name, problem.fill, problem.zero) for name in names}


def _factors(backend: Backend, subject: Subject, problem: Problem, seed: int, cache: ProductCache) -> _Factors:
    xp, named = backend.xp, subject.chain.arguments
    a, b = named["a"], named["b"]

    def make() -> tuple[_Factors, int]:
        bits = {operand.name: tensors.operand_values(xp, operand, problem, seed) for operand in (a, b)}
        rows = xp.index(sample_rows(problem.m)) if problem.sampled else None
        left = bits["a"] if rows is None else bits["a"][:, rows]
        exact = problem.fill != "normal"
        product = multiply(xp, xp.decode(left, a.dtype), xp.decode(bits["b"], b.dtype), exact)
        factors = _Factors(bits, product, rows, 0)
        factors.checksum = _checksum(backend, factors)
        return factors, 16 * xp.size(product.values) + 2 * sum(xp.size(x) for x in bits.values())

    return cache.get((seed, problem, a.dtype, b.dtype), make)


def _checksum(backend: Backend, factors: _Factors) -> int:
    return sum(backend.xp.checksum(bits) for bits in factors.bits.values())


def _input(
    backend: Backend, argument: Argument, problem: Problem, seed: int, factors: _Factors, unread: bool
) -> GuardedBuffer:
    buffer = tensors.make_buffer(backend.xp, argument, problem)
    if argument.name in factors.bits:
        buffer.view[...] = factors.bits[argument.name]
    elif unread:
        tensors.fill_nan(buffer)
    else:
        tensors.fill(backend.xp, buffer, problem, seed)
    return buffer


def _stored(backend: Backend, buffer: GuardedBuffer, factors: _Factors) -> Array:
    tile = buffer.argument.kind == "tensor" and factors.rows is not None
    return backend.xp.decode(buffer.view[:, factors.rows] if tile else buffer.view, buffer.argument.dtype)


def _clusters(subject: Subject, problem: Problem, repeat: int) -> int:
    """All clusters first; from the third launch on few, so that each walks over many tiles and its pipelines wrap."""
    most = subject.kernel.max_clusters
    if repeat < 2:
        return most
    tile = tiling(subject.variant.plan)
    tiles = problem.l * (problem.m // tile.m + 1) * (problem.n // tile.n + 1)
    return 1 if tiles <= 64 else max(1, most // 3)


def launch(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    buffers: dict[str, GuardedBuffer],
    scalars: dict[str, float],
    clusters: int,
) -> None:
    """Launch once and wait. Raises LaunchRefusedError or DeviceLostError: the context is over."""
    tensors_by_name = {name: backend.tensor(b.view, b.argument.dtype) for name, b in buffers.items()}
    try:
        subject.kernel(max_clusters=clusters, **tensors_by_name, **scalars)
    except Exception as error:
        raise LaunchRefusedError(f"{problem.name}: {type(error).__name__}: {error}") from error
    try:
        backend.synchronize()
    except Exception as error:
        raise DeviceLostError(f"{problem.name}: {type(error).__name__}: {error}") from error


def bands(backend: Backend, result: GuardedBuffer, repeat: int) -> list[str]:
    """Say in words what of an output was left unwritten, and what was written around it."""
    xp, name, faults = backend.xp, result.argument.name, []
    unwritten = result.unwritten(xp)
    if unwritten:
        at = _first(backend, result.view == POISON[result.argument.dtype])
        faults.append(f"launch {repeat}: {unwritten} elements of {name} were never written, the first at {at}")
    outside = result.trespasses(xp)
    if outside:
        at_offset = result.trespass_offset(xp)
        faults.append(f"launch {repeat}: {outside} elements outside {name} were written, the first {at_offset} from it")
    return faults


def _nondeterminism(backend: Backend, first: GuardedBuffer, other: GuardedBuffer, repeat: int) -> str:
    at = _first(backend, first.view != other.view)
    return f"launch {repeat} differs from launch 0 on the same operands, first at {first.argument.name}{at}"


def _first(backend: Backend, mask: Array) -> list[int]:
    return list(backend.xp.first(mask))


def _trespasses(
    backend: Backend, inputs: dict[str, GuardedBuffer], before: dict[str, int], factors: _Factors
) -> list[str]:
    changed = [name for name, buffer in inputs.items() if backend.xp.checksum(buffer.raw) != before[name]]
    faults = [f"input {name} or its guard band was overwritten" for name in changed]
    if _checksum(backend, factors) != factors.checksum:
        faults.append("memory of other tensors was overwritten")
    return faults
