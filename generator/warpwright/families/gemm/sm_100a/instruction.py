"""The instruction of the main loop: tcgen05.mma, and the descriptor that says its shape, dtypes and majors."""

from __future__ import annotations

from warpwright.archs import Arch
from warpwright.families.gemm.parts.computed import Computed, Matrix
from warpwright.families.gemm.sm_100a.asked import Asked
from warpwright.families.gemm.sm_100a.scaled import scales
from warpwright.families.gemm.sm_100a.tiles import MMA_M
from warpwright.plan.types import Mma

__all__ = ["depth", "descriptor", "mma", "words"]

#: By dtype of A and B: the kind of tcgen05.mma, and the dtype's number in the instruction descriptor (PTX ISA 9.1,
#: tables of 9.7.16.4.2).
KINDS: dict[str, tuple[str, int]] = {
    "f16": ("f16", 0), "bf16": ("f16", 1), "tf32": ("tf32", 2), "e4m3": ("f8f6f4", 0), "e5m2": ("f8f6f4", 1),
    "i8": ("i8", 1), "mxf8_e4m3": ("mxf8f6f4", 0), "mxf8_e5m2": ("mxf8f6f4", 1), "mxf4": ("mxf4nvf4", 1),
    "nvf4": ("mxf4nvf4", 1),
}  # fmt: skip
#: The accumulator's number there.
_SUMS = {"f16": 0, "f32": 1, "i32": 2}
#: Machine instruction by kind, as nvdisasm names it.
_SASS = {
    "f16": "UTCHMMA",
    "tf32": "UTCHMMA",
    "f8f6f4": "UTCQMMA",
    "i8": "UTCIMMA",
    "mxf8f6f4": "UTCQMMA",
    "mxf4": "UTCOMMA",
    "mxf4nvf4": "UTCOMMA",
}


def words(arch: Arch) -> list[str]:
    """The dtypes of A and B that an arch multiplies."""
    there = {kind.name for kind in arch.kinds}
    return [word for word, (kind, _) in KINDS.items() if kind in there]


def _kind(a: Asked, m: Matrix) -> tuple[str, int]:
    """Kind and number of an operand's dtype; of one that is not multiplied, any: a rule speaks of it."""
    return KINDS[m.word if m.word in words(a.arch) else "f16"]


def depth(a: Asked, c: Computed) -> int:
    """Elements of K of one MMA."""
    return a.arch.kind(_kind(a, c.a)[0]).k


def descriptor(a: Asked, c: Computed) -> int:
    """The instruction descriptor (PTX ISA 9.1, 9.7.16.4.2): M and N are those of the pair where there is one.

    Which of a column's scales an MMA takes stands in it, too, and is left at 0: it changes along K.
    """
    scaled = scales(a)
    sums = ((int(scaled.dtype.name == "ue8m0"), 23),) if scaled else ((_SUMS[c.accumulator.name], 4),)
    fields = (
        (int(c.accumulator.integral), 3),  # saturating, as the DSL has it: beyond K = 131 071 alone
        *sums,
        (_kind(a, c.a)[1], 7),
        (_kind(a, c.b)[1], 10),
        (int(c.a.major == "m"), 15),
        (int(c.b.major == "n"), 16),
        (a.tile_n >> 3, 17),
        (MMA_M * a.cta_group >> 4, 24),
    )
    return sum(value << bit for value, bit in fields)


def _sixteenths(a: Asked) -> str:
    """How SASS tells a scale for 16 elements, of words that begin with a digit; for sm_103a it is .BLOCK16,
    and the PTX alone is held against the plan."""
    return "" if a.arch.name == "sm_103a" else ".4X"


def mma(a: Asked, c: Computed) -> Mma:
    """Return the MMA; each consumer issues so many per stage."""
    kind, _ = _kind(a, c.a)
    k = depth(a, c)
    scaled = scales(a)
    blocks = f".block_scale.block{scaled.block}" if scaled else ""
    return Mma(
        # The DSL adds the hint that A is not kept for a next MMA.
        instruction=f"tcgen05.mma.cta_group::{a.cta_group}.kind::{kind}{blocks}.collector::a::discard",
        sass=_SASS[kind] + ".2CTA" * (a.cta_group == 2) + _sixteenths(a) * (scaled is not None and scaled.block == 16),
        m=MMA_M * a.cta_group,
        n=a.tile_n,
        k=k,
        per_stage=a.tile_k // k,
        descriptor=descriptor(a, c),
    )
