"""Stand-ins for a function's arguments, from its plan: what the DSL compiles against where there are no tensors yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpwright.dtypes import dtype
from warpwright.plan.types import Argument

__all__ = ["stand_ins"]


def stand_ins(arguments: Sequence[Argument]) -> tuple[Any, ...]:
    """Return one stand-in per argument, in order, and one for the stream. Imports the DSL.

    Extents and strides stay symbolic: equal modes of several tensors are one extent, the contiguous mode has stride 1,
    and the stream is the caller's current one. Where several elements share a byte, rows consist of whole bytes.
    Extents are 32-bit unless larger ones are legal. What is said here the function itself demands of its callers:
    types, extents that fit, an aligned base, and strides that are multiples of the alignment, but in modes of extent 1.
    """
    import cutlass
    import cutlass.cute as cute

    per_byte = {argument.name: max(1, 8 // dtype(argument.dtype).bits) for argument in arguments}
    multiples: dict[str, int] = {}
    for argument in arguments:
        for mode in argument.shape:
            multiple = per_byte[argument.name] if mode == argument.contiguous else 1
            multiples[mode] = max(multiples.get(mode, 1), multiple)
    wide = {mode for argument in arguments if argument.largest_extent >= 2**31 for mode in argument.shape}
    extents = {
        mode: (cute.sym_int64 if mode in wide else cute.sym_int)(divisibility=multiple)
        for mode, multiple in multiples.items()
    }
    found = []
    for argument in arguments:
        element = getattr(cutlass, dtype(argument.dtype).dsl)
        if argument.kind == "scalar":
            found.append(element(1))
            continue
        shape = tuple(extents[mode] for mode in argument.shape)
        unit = max(per_byte[argument.name], 8 * argument.alignment // dtype(argument.dtype).bits)
        strides = tuple(
            1 if mode == argument.contiguous else cute.sym_int64(divisibility=unit) for mode in argument.shape
        )
        found.append(cute.runtime.make_fake_tensor(element, shape, strides, assumed_align=argument.alignment))
    return (*found, cute.runtime.make_fake_stream(use_tvm_ffi_env_stream=True))
