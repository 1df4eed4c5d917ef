"""One of the emulator's cases on the device: the same operands to the bit, and how far the two outputs are apart.

Both are computed in float32 and rounded, each within the derived bound of the exact result: so they lie within twice
the error before rounding, and two roundings, of each other. More is wrong, of the kernel or of the emulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.cases import StoredCase, case_inputs, inputs_digest
from warpwright.device.held import numbers
from warpwright.device.memo import fresh
from warpwright.device.problem import shared
from warpwright.device.subject import Subject, bands, in_place, launch
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.tolerance import compare, number, output_rounding
from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype
from warpwright.families.running import Expected

__all__ = ["check_case"]

#: An error that is not zero and that changes no exponent: output_rounding then gives half a unit in the last place.
_SOME = 1e-300


def check_case(backend: Backend, subject: Subject, case: StoredCase) -> dict[str, Any]:
    """Run a case once and return its figures.

    status: `correct`, `incorrect` (with faults) or `skipped` where its inputs cannot be made here. equal: share of
    elements that are equal bit by bit. difference: the largest; relative: norm of the difference over that of the
    emulator's output; ulps: the largest difference in units in the last place of the emulator's element; all three
    where that is finite. ratio: of what the bounds allow. device, emulator: the error of each against the float64
    reference, as a part of its bound. Of several outputs, the worst. Raises LaunchRefusedError or DeviceLostError: the
    context is over.
    """
    xp, plan, problem = backend.xp, subject.plan, case.problem
    drawn = case_inputs(plan, problem, case.seed)
    if inputs_digest(drawn) != case.inputs:
        why = "numpy draws other random numbers here than where the case was emulated; use the same version"
        return {**problem.figures(), "status": "skipped", "faults": [why]}
    same = shared(subject.arguments(), problem)
    placed = {output.name: output for output in same.values()}
    buffers = {a.name: tensors.make_buffer(xp, placed.get(a.name, a), problem) for a in subject.arguments()}
    for name, bits in drawn.items():
        buffers[name].view[...] = xp.index(bits)
    given = {**buffers, **in_place(same, buffers, buffers)}
    launch(backend, subject, problem, given, min(case.clusters, subject.kernel.grid_limit))
    faults = [fault for a in subject.arguments("output", "workspace") for fault in bands(backend, buffers[a.name], 0)]

    def stored(name: str) -> Array:
        return numbers(xp, buffers[name].argument, buffers[name].view)

    expected = subject.workload.expected(xp, plan, problem, stored, fresh)
    found = [_against(xp, buffers[name], bits, expected[name], faults) for name, bits in case.outputs.items()]
    elements = sum(one.elements for one in found)
    return {
        **problem.figures(),
        "status": "incorrect" if faults else "correct",
        "faults": faults,
        "elements": elements,
        "equal": sum(one.equal for one in found) / max(1, elements),
        "difference": _worst([one.difference for one in found]),
        "relative": _worst([one.relative for one in found]),
        "ulps": _worst([one.ulps for one in found]),
        "ratio": _worst([one.ratio for one in found]),
        "device": _worst([one.device for one in found]),
        "emulator": _worst([one.emulator for one in found]),
    }


@dataclass(frozen=True)
class _Between:
    """One output of the device beside the emulator's: `equal` counts elements, the rest is as in a case's figures."""

    elements: int
    equal: int
    difference: float
    relative: float
    ulps: float
    ratio: float
    device: float
    emulator: float


def _against(xp: Xp, result: GuardedBuffer, stored: Array, expected: Expected, faults: list[str]) -> _Between:
    """Compare one output with the emulator's bits and add what is wrong to the faults."""
    name = result.argument.dtype
    bits = _transfer(xp, stored, name)
    got, emulated = xp.decode(result.view, name), xp.decode(bits, name)
    allowed = 2 * expected.error + output_rounding(xp, expected.values, expected.error, name)
    between = compare(xp, got, emulated, allowed, name)
    if between.wrong:
        worst = between.worst
        faults.append(
            f"{between.wrong} of {between.elements} elements differ from the emulator's by more than both bounds; the "
            f"first, {result.argument.name}{worst['index']}, is {worst['got']}, the emulator has {worst['expected']}, "
            f"within {worst['bound']}"
        )
    device, emulator = (compare(xp, each, expected.values, expected.error, name).ratio for each in (got, emulated))
    # No distance to what is NaN or infinite; whether it is right is said above.
    finite = ~(xp.isnan(emulated) | xp.isinf(emulated))
    zero = xp.array(0.0)
    difference = xp.abs(xp.where(finite, got, zero) - xp.where(finite, emulated, zero))
    difference = xp.where(xp.isnan(difference), zero, difference)  # a NaN of the device's alone is a fault
    ulp = 1.0
    if not dtype(name).integral:
        ulp = 2 * output_rounding(xp, xp.where(finite, emulated, zero), 0 * difference + _SOME, name)
    return _Between(
        between.elements,
        xp.count(result.view - bits, 0),
        xp.largest(difference),
        between.relative,
        xp.largest(difference / ulp),
        between.ratio,
        device,
        emulator,
    )


def _worst(values: Sequence[float]) -> float | str:
    return number(max(values, default=0.0))


def _transfer(xp: Xp, bits: Array, name: str) -> Array:
    """Copy bits from the CPU to where `xp` computes."""
    there = xp.allocate(bits.size, dtype(name).bytes)
    there[...] = xp.index(bits.reshape(-1))
    return there.reshape(bits.shape)
