"""What a GEMM computes, as its label says it."""

from __future__ import annotations

import functools

from warpwright.families.gemm.parts.computed import Computed

__all__ = ["named"]

_LONGEST_CHAIN = 36


@functools.lru_cache(maxsize=1024)
def named(c: Computed) -> tuple[str, str]:
    """The label's beginning and end."""
    a, d = c.a.word if c.a.word == c.b.word else f"{c.a.word}.{c.b.word}", c.d.word
    head = f"{a if a == d else f'{a}.{d}'}-{c.a.major}{c.b.major}{c.d.major}"
    tail = ""
    if c.steps:
        chain = "+".join(step.op.name if step.dtype == "f32" else f"{step.op.name}.{step.dtype}" for step in c.steps)
        # A label is part of file names and of a line in the kernel's head.
        tail += f"-{chain if len(chain) <= _LONGEST_CHAIN else f'{len(c.steps)}ops'}"
    if c.c is not None:
        tail += f"-c.{c.c.dtype.name}.{c.c.major}"
    return head, tail
