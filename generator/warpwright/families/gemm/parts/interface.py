"""The arguments of the function that is exported."""

from __future__ import annotations

import functools
from dataclasses import replace

from warpwright.archs import SM90A
from warpwright.dtypes import SCALED, dtype
from warpwright.families.gemm.parts.computed import Computed, Matrix
from warpwright.plan.types import ATOM, Argument, ArgumentRole

__all__ = ["arguments"]


@functools.lru_cache(maxsize=1024)
def arguments(computed: Computed, by_tma: bool, persistent: bool) -> tuple[Argument, ...]:
    """Return the arguments in call order: matrices, of A and B their scales too, vectors, scalars, the grid limit."""

    def matrix(
        name: str, m: Matrix, shape: tuple[str, ...], meaning: str, role: ArgumentRole = "input", alignment: int = 16
    ) -> Argument:
        return Argument(name, "tensor", m.dtype.name, shape, m.major.upper(), role, alignment, meaning)

    tma = SM90A.tma_alignment
    operands = [(step, operand.kind, argument) for step in computed.steps for operand, argument in step.arguments]
    found = [
        matrix("a", computed.a, ("L", "M", "K"), "A", alignment=tma),
        matrix("b", computed.b, ("L", "K", "N"), "B", alignment=tma),
        *(
            _scales(name, m, rows)
            for name, m, rows in (("sfa", computed.a, "M"), ("sfb", computed.b, "N"))
            if m.word in SCALED
        ),
    ]
    if computed.read:
        found += [
            matrix(argument, computed.read, ("L", "M", "N"), "C", alignment=tma)
            for _, kind, argument in operands
            if kind == "tile"
        ]
    aligned = tma if by_tma else computed.d.bytes
    # A tile of C has landed before the same tile of D is stored, and no other CTA reads it: D may be C.
    same = computed.read is computed.d
    tile = next((argument for _, kind, argument in operands if kind == "tile"), "") if same else ""
    d = matrix("d", computed.d, ("L", "M", "N"), "D, the output", "output", aligned)
    found.append(replace(d, in_place=tile))
    for step, kind, argument in operands:
        if kind in ("vector_m", "vector_n"):
            extent, size = kind[-1].upper(), dtype(step.dtype).bytes
            found.append(Argument(argument, "vector", step.dtype, (extent,), extent, "input", size, step.op.summary))
    found += [
        Argument(argument, "scalar", "f32", meaning=step.op.summary)
        for step, kind, argument in operands
        if kind == "scalar"
    ]
    if persistent:
        meaning = "clusters that the device holds at once"
        found.append(Argument("max_clusters", "scalar", "i32", role="grid_limit", meaning=meaning))
    return tuple(found)


def _scales(name: str, m: Matrix, rows: str) -> Argument:
    """The scales of an operand, of so many rows of it, as `Argument` says."""
    scaled = SCALED[m.word]
    shape = ("L", f"{rows}/128", f"K/{4 * scaled.block}", ATOM)
    meaning = f"a scale for each row and {scaled.block} elements along K of {name[-1].upper()}, in atoms of 128 x 4"
    return Argument(name, "tensor", scaled.scale, shape, ATOM, "input", SM90A.tma_alignment, meaning)
