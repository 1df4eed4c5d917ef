"""One of the emulator's cases on the device: the same operands to the bit, and how far the two outputs are apart.

Both are computed in float32 and rounded, each within the derived bound of the exact result: so they lie within twice
the error before rounding, and two roundings, of each other. More is wrong, of the kernel or of the emulator.
"""

from __future__ import annotations

from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.cases import StoredCase, case_inputs, inputs_digest
from warpwright.device.check import Subject, bands, launch, scalars_of
from warpwright.device.reference import multiply
from warpwright.device.tolerance import compare, number, output_rounding
from warpwright.device.xp import BYTES, Array, Xp

__all__ = ["check_case"]


def check_case(backend: Backend, subject: Subject, case: StoredCase) -> dict[str, Any]:
    """Run a case once and return its figures.

    status: `correct`, `incorrect` (with faults) or `skipped` where its operands cannot be made here. equal: share of
    elements that are equal bit by bit. difference: the largest; relative: norm of the difference over that of the
    emulator's output; ulps: the largest difference in units in the last place of the emulator's
    element; ratio: of what the bounds allow. device, emulator: the error of each against the float64 reference, as a
    part of its bound. Raises LaunchRefusedError or DeviceLostError: the context is over.
    """
    xp, plan, problem = backend.xp, subject.variant.plan, case.problem
    drawn = case_inputs(plan, problem, subject.chain.skips, case.seed)
    if inputs_digest(drawn) != case.inputs:
        why = "numpy draws other random numbers here than where the case was emulated; use the same version"
        return {**problem.figures(), "status": "skipped", "faults": [why]}
    buffers = {a.name: tensors.make_buffer(xp, a, problem) for a in plan.arguments if a.kind != "scalar"}
    for name, bits in drawn.items():
        buffers[name].view[...] = xp.index(bits)
    result = next(buffer for buffer in buffers.values() if buffer.argument.output)
    dtype, scalars = result.argument.dtype, scalars_of(plan, problem)
    launch(backend, subject, problem, buffers, scalars, min(case.clusters, subject.kernel.max_clusters))
    faults = bands(backend, result, 0)

    def stored(name: str) -> Array:
        return xp.decode(buffers[name].view, buffers[name].argument.dtype)

    product = multiply(xp, stored("a"), stored("b"), problem.fill != "normal")
    expected = subject.chain.apply(xp, product, scalars, stored)
    bits = _transfer(xp, case.output, dtype)
    got, emulated = xp.decode(result.view, dtype), xp.decode(bits, dtype)
    allowed = 2 * expected.error + output_rounding(xp, expected.values, expected.error, dtype)
    between = compare(xp, got, emulated, allowed, dtype)
    if between.wrong:
        worst = between.worst
        faults.append(
            f"{between.wrong} of {between.elements} elements differ from the emulator's by more than both bounds; the "
            f"first, {result.argument.name}{worst['index']}, is {worst['got']}, the emulator has {worst['expected']}, "
            f"within {worst['bound']}"
        )
    device, emulator = (compare(xp, each, expected.values, expected.error, dtype).ratio for each in (got, emulated))
    difference = xp.abs(got - emulated)
    difference = xp.where(difference == difference, difference, 0 * expected.error)  # no NaN, of infinities or NaNs
    ulp = 2 * output_rounding(xp, emulated, 0 * expected.error + _SOME, dtype)
    return {
        **problem.figures(),
        "status": "incorrect" if faults else "correct",
        "faults": faults,
        "elements": between.elements,
        "equal": xp.count(result.view - bits, 0) / max(1, between.elements),
        "difference": number(xp.largest(difference)),
        "relative": number(between.relative),
        "ulps": number(xp.largest(difference / ulp)),
        "ratio": number(between.ratio),
        "device": number(device),
        "emulator": number(emulator),
    }


#: An error that is not zero and that changes no exponent: output_rounding then gives half a unit in the last place.
_SOME = 1e-300


def _transfer(xp: Xp, bits: Array, dtype: str) -> Array:
    """Copy bits from the CPU to where `xp` computes."""
    there = xp.allocate(bits.size, BYTES[dtype])
    there[...] = xp.index(bits.reshape(-1))
    return there.reshape(bits.shape)
