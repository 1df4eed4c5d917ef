"""The names of the kernel families: the one line to edit when one is added.

By itself, since no verdict rests on which other families there are: a new one leaves all evidence valid.
"""

from __future__ import annotations

__all__ = ["NAMES"]

#: Every family; the first is that of a file which names none.
NAMES = ("gemm", "copy", "ladder", "sgemm", "norm_act")
