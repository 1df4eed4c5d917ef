"""The instruction of the main loop: tcgen05.mma, and the descriptor that says its shape, dtypes and majors."""

from __future__ import annotations

from warpwright.families.gemm.parts.computed import Computed, Matrix
from warpwright.families.gemm.sm_100a.asked import Asked
from warpwright.families.gemm.sm_100a.tiles import MMA_M
from warpwright.plan.types import Mma

__all__ = ["KINDS", "depth", "descriptor", "mma"]

#: By dtype of A and B: the kind of tcgen05.mma, and the dtype's number in the instruction descriptor (PTX ISA 9.1,
#: tables of 9.7.16.4.2).
KINDS: dict[str, tuple[str, int]] = {"f16": ("f16", 0), "bf16": ("f16", 1)}
#: The accumulator's number there.
_SUMS = {"f16": 0, "f32": 1, "i32": 2}
#: Machine instruction by kind, as nvdisasm names it.
_SASS = {"f16": "UTCHMMA"}


def _kind(m: Matrix) -> tuple[str, int]:
    """Kind and number of an operand's dtype; of one that is not multiplied, any: a rule speaks of it."""
    return KINDS.get(m.word, KINDS["f16"])


def depth(a: Asked, c: Computed) -> int:
    """Elements of K of one MMA."""
    return a.arch.kind(_kind(c.a)[0]).k


def descriptor(a: Asked, c: Computed) -> int:
    """The instruction descriptor (PTX ISA 9.1, 9.7.16.4.2): M and N are those of the pair where there is one."""
    fields = (
        (_SUMS["f32"], 4),
        (_kind(c.a)[1], 7),
        (_kind(c.b)[1], 10),
        (int(c.a.major == "m"), 15),
        (int(c.b.major == "n"), 16),
        (a.tile_n >> 3, 17),
        (MMA_M * a.cta_group >> 4, 24),
    )
    return sum(value << bit for value, bit in fields)


def mma(a: Asked, c: Computed) -> Mma:
    """Return the MMA; each consumer issues so many per stage."""
    kind, _ = _kind(c.a)
    k = depth(a, c)
    return Mma(
        # The DSL adds the hint that A is not kept for a next MMA.
        instruction=f"tcgen05.mma.cta_group::{a.cta_group}.kind::{kind}.collector::a::discard",
        sass=_SASS[kind] + (".2CTA" if a.cta_group == 2 else ""),
        m=MMA_M * a.cta_group,
        n=a.tile_n,
        k=k,
        per_stage=a.tile_k // k,
        descriptor=descriptor(a, c),
    )
