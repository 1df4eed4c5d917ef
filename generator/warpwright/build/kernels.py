"""Which compiled kernel is which of the plan: the compiler works the name in the source into a longer one."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["pair"]

#: The DSL calls `copy_kernel` kernel_cutlass_copy_kernel_<types of its arguments>_<number of the kernel>.
_PREFIX = "kernel_cutlass_"


def pair(planned: Sequence[str], compiled: Sequence[str]) -> list[str | None]:
    """Return the compiled name of each planned kernel, None where there is none.

    Of planned names that fit (`sum`, `sum_rows`) the longest counts. A name that is planned twice is launched twice,
    of one compiled kernel or of two. Where each side has one kernel, they are the same, whatever they are called.
    """
    if len(planned) == len(compiled) == 1:
        return [compiled[0]]
    of: dict[str, list[str]] = {}
    for name in compiled:
        stem = name.removeprefix(_PREFIX)
        fitting = [p for p in planned if p == name or f"{stem}_".startswith(f"{p}_")]
        if fitting:
            of.setdefault(max(fitting, key=len), []).append(name)
    return [_next(of.get(name, [])) for name in planned]


def _next(names: list[str]) -> str | None:
    """Take the first of several, keep the last."""
    return (names.pop(0) if len(names) > 1 else names[0]) if names else None
