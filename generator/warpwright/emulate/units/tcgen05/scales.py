"""Scale factors of tcgen05.mma with block scaling, which lie in tensor memory.

PTX ISA, "Block Scaling": row r of A has its scales in the 32-bit column r / 32 of lane r % 32, in the byte that the
instruction descriptor says and those behind it, and all four quarters of the lanes hold the same. B likewise, by
columns of B; but where the second half of N has its sums on lanes 64 and up (a pair with M = 128), its scales lie there
as well, and those of the first half on the lanes below (CUTLASS, `ScaleFactorDuplicated2by2`).
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from warpwright.emulate.machine.state import Warp
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.tcgen05.memory import ALL, TensorMemory, access, cells_of, inside

_CODES = np.arange(256, dtype=np.int32)
_UE8M0 = np.where(_CODES == 255, np.nan, np.ldexp(1.0, _CODES - 127))
_UE4M3 = np.where(_CODES > 127, np.nan, _CODES.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64))
_FEW = 60  # powers of two that the products and sums of two scaled matrices have to spare in float32
_QUARTER = 32  # lanes


def scales_of(memory: TensorMemory, warp: Warp, number: int, address: int, rows: int, byte: int, count: int,
              ue8m0: bool, halves: bool, event: int, visible: int) -> Array:  # fmt: skip
    """(rows, `count`) float64: the scales of `rows` rows of A, or columns of B, from `byte` on.

    halves: the second half of the rows on lanes 64 and up. What is not the same on all lanes is reported.
    """
    first, lane = address & 0xFFFF, address >> 16 & 0x3FFF  # the DSL keeps the byte in bits 30 and 31
    if lane:
        text = f"scale factors at lane {lane} of tensor memory: they begin at lane 0"
        warp.machine.fault("tcgen05", warp, number, text, fatal=True)
    parts = 2 if halves else 1
    each = rows // parts
    columns = -(-each // _QUARTER)
    inside(memory, warp, number, first, columns)
    access(memory, warp, number, cells_of(first, columns, ALL), event, visible, False)
    words = np.ascontiguousarray(memory.words[:, first : first + columns])
    octets = words.view(np.uint8).reshape(parts, 4 // parts, _QUARTER, columns, 4)[..., byte : byte + count]
    if rest := each % _QUARTER:
        whole, last = octets[..., :-1, :], octets[:, :, :rest, -1, :]
        same = not (whole != whole[:, :1]).any() and not (last != last[:, :1]).any()
    else:
        same = not (octets != octets[:, :1]).any()
    if not same:
        text = (
            f"scale factors in columns {first}..{first + columns - 1} of the tensor memory of CTA {memory.cta} differ"
            f" between the {'quarters of each half' if halves else 'four quarters'} of its lanes, which must be alike"
        )
        warp.machine.fault("tcgen05", warp, number, text)
    codes = octets[:, 0].transpose(0, 2, 1, 3).reshape(parts, -1, count)[:, :each].reshape(rows, count)
    values: Array = (_UE8M0 if ue8m0 else _UE4M3).take(codes)
    return values


def scaled_product(left: Array, right: Array, a: Array, b: Array) -> Array:
    """(rows of A, rows of B) float32: `left` (rows, K) and `right` (rows, K), each with its scales (rows, any)."""
    wide = any(_far(each) for each in (a, b))
    kind: Any = np.float64 if wide else np.float32
    first, second = (
        (matrix.reshape(*scale.shape, -1) * scale[..., None].astype(kind)).reshape(matrix.shape)
        for matrix, scale in ((left, a), (right, b))
    )
    product: Array = (first @ second.T).astype(np.float32)
    return product


def _far(scales: Array) -> bool:
    """Whether a scale is so large, or so small, that float32 may not hold its products."""
    size = scales[~np.isnan(scales)]
    return bool(len(size) and (size.max() > 2.0**_FEW or ((size < 2.0**-_FEW) & (size > 0)).any()))
