"""The six rungs for Blackwell: what each adds to the one before it, and what is published of a kernel that does so."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.plan.step import Published

__all__ = ["FIRST_OF_ROLES", "FIRST_TMA", "RUNGS", "UNTRIED", "Rung", "published"]

#: Whose sequence it is: one B200, f16, M = N = K = 4096, one run of theirs. Their steps 1, 3, 4, 7, 8 and 9.
SOURCE = "the end-to-end table of mlc.ai/modern-gpu-programming-for-mlsys, 'Scaling GEMM', a B200"

UNTRIED = "No Blackwell device has run these kernels: predicted times are a model's, evidence is the emulator's"


class Rung(NamedTuple):
    """A rung's name in labels, what it adds in a few words, the published seconds, and what of a GEMM's design it
    chooses: stages are the published ones, unless a file says otherwise."""

    name: str
    adds: str
    seconds: float
    stages: int = 1
    persistent: bool = False
    cta_group: int = 1
    consumers: int = 1


RUNGS = (
    Rung("synchronous", "threads load, synchronise, one issues the MMAs, all wait: one CTA", 70e-3),
    Rung("tiled", "tiled over space: a CTA per tile", 53.6e-3),
    Rung("tma", "TMA loads, one buffer", 0.49e-3),
    Rung("specialised", "warp-specialised and persistent: producer, consumer and epilogue warps", 0.23e-3, 2, True),
    Rung("pair", "a CTA pair: one MMA over two CTAs, each with half of B", 0.104e-3, 4, True, 2),
    Rung("two", "two consumers that share B", 0.094e-3, 4, True, 2, 2),
)
#: From which rung on TMA loads, and warps have roles.
FIRST_TMA, FIRST_OF_ROLES = 3, 4


def published(rung: Rung) -> Published:
    """What others say that their kernel of this rung takes."""
    return Published(rung.seconds, {"m": 4096, "n": 4096, "k": 4096}, SOURCE)
