"""Matrices that a tcgen05 instruction reads: in shared memory by a matrix descriptor, A in tensor memory as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.order import Cells
from warpwright.emulate.machine.state import Cta, Warp
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.descriptors import convert, gather
from warpwright.emulate.units.tcgen05.memory import BANDS, TensorMemory, access, cells_of, inside

_COLUMNS = 8  # of a row of A in tensor memory
_ATOMS_OF_32 = 1  # the swizzle whose parts are 32 bytes
#: Elements in tensor memory, each in a byte of its own, of formats that shared memory holds sixteen at a time.
_IN_BYTES = {"e2m1_p64": "e2m1_b8", "e2m3_p32": "e2m3_b8", "e3m2_p32": "e3m2_b8"}


class Converted:
    """Of a CTA: matrices of shared memory as float32, each with the events that wrote it."""

    def __init__(self, _cta: Cta) -> None:
        self.matrices: dict[Any, tuple[list[int], Array]] = {}


def shared_matrix(
    warp: Warp, number: int, cta: Cta, descriptor: int, rows: int, kind: str, mn: bool, event: int
) -> Array:
    """The (rows, K) float32 matrix that `descriptor` names in the shared memory of `cta`."""
    key, index, base, cells = _place(warp, number, cta, descriptor, rows, kind, mn, 2)
    seen = _read(warp, number, cta, cells, event)
    # two MMAs share B where one CTA has two accumulators: keep its conversion until something else is written there
    writers = sorted({value >> 32 for value in seen})
    kept = cta.own(Converted).matrices
    found = kept.get((key, base))
    events = warp.machine.order.events
    if found is not None and found[0] == writers and all(w > 0 and events[w - 1].asynchronous for w in writers):
        return found[1]
    values = convert(cta.chunks[index + base], kind)
    matrix = values.T if mn else values
    kept[key, base] = writers, matrix
    return matrix


def shared_chunks(warp: Warp, number: int, cta: Cta, descriptor: int, rows: int, across: int, event: int) -> Array:
    """(rows, `across`) chunks of 16 bytes, as complex128, that a K-major descriptor names: the source of tcgen05.cp."""
    _, index, base, cells = _place(warp, number, cta, descriptor, rows, "u8", False, across)
    _read(warp, number, cta, cells, event)
    chunks: Array = cta.chunks[index + base]
    return chunks


def _place(warp: Warp, number: int, cta: Cta, descriptor: int, rows: int, kind: str, mn: bool, across: int) -> Any:
    """(key, chunk numbers relative to a base, the base, cells of the shadow).

    The fields are those of sm_90, but for the version in bits 46..48 and bit 61, which chooses parts of 32 bytes.
    """
    machine = warp.machine
    if descriptor >> 46 & 7 != 1:
        text = f"matrix descriptor {descriptor:#x}: bits 46..48 are {descriptor >> 46 & 7}, on sm_100 they are 1"
        machine.fault("tcgen05", warp, number, text, fatal=True)
    mode = descriptor >> 61 & 7
    if mode in (3, 5, 7):
        text = f"matrix descriptor {descriptor:#x}: bits 61..63 are {mode}, which is no swizzle"
        machine.fault("tcgen05", warp, number, text, fatal=True)
    if descriptor >> 49 & 0xF:
        text = "a base offset or an absolute leading offset in a matrix descriptor"
        raise UnsupportedInstruction(f"{machine.line(number)}: {text} is not emulated")
    if (mode == _ATOMS_OF_32) != (mn and kind == "tf32"):
        text = (
            f"matrix descriptor {descriptor:#x} of {'M/N' if mn else 'K'}-major {kind}: the swizzle with parts of 32"
            f" bytes is for M/N-major tf32, which takes no other"
        )
        machine.fault("tcgen05", warp, number, text, fatal=True)
    start = descriptor & 0x3FFF
    key, index, span = gather([descriptor & ~(7 << 46)], rows, kind, mn, across)
    base = start - start % 64
    low = span.start if isinstance(span, slice) else int(span[0])
    high = span.stop if isinstance(span, slice) else int(span[-1]) + 1
    if (base + low) * 16 < RESERVED or (base + high) * 16 > cta.size:
        text = f"the matrix descriptor {descriptor:#x} reaches outside the shared memory of CTA {cta}"
        machine.fault("shared-bounds", warp, number, text, fatal=True)
    cells: Cells = slice(base + low, base + high) if isinstance(span, slice) else span + base
    return key, index, base, cells


def _read(warp: Warp, number: int, cta: Cta, cells: Cells, event: int) -> Any:
    """Note the read and report its races; returns the different states of the cells."""
    seen = cta.shadow.seen(cells)
    bad = cta.shadow.read_seen(cells, seen, event, warp.known_async, number)
    if bad:
        warp.machine.check_order(bad, cta, event, warp, number, False, True)
    return seen[1]


def tensor_matrix(memory: TensorMemory, warp: Warp, number: int, address: int, low: int, kind: str, bands: slice,
                  folded: bool, event: int, visible: int) -> Array:  # fmt: skip
    """A from tensor memory: 32 bytes of a row in eight columns of its lane, which is that of its sums.

    low: the lane at which sums begin; bands: the lanes that have sums. folded: lanes 64 and up repeat the 64 rows.
    """
    if address >> 16 != low:
        text = f"A at lane {address >> 16} of tensor memory: its sums begin at lane {low}, and so must A"
        warp.machine.fault("tcgen05", warp, number, text, fatal=True)
    first = address & 0xFFFF
    inside(memory, warp, number, first, _COLUMNS)
    access(memory, warp, number, cells_of(first, _COLUMNS, bands), event, visible, False)
    lanes = memory.words[:, first : first + _COLUMNS].reshape(BANDS, -1, _COLUMNS)[bands]
    words = np.ascontiguousarray(lanes.reshape(-1, _COLUMNS))
    if folded:
        half = len(words) // 2
        if (words[:half] != words[half:]).any():
            text = f"A in tensor memory of a pair with M = 128: lanes {half} and up must hold what those below hold"
            warp.machine.fault("tcgen05", warp, number, text)
        words = words[:half]
    return convert(words.view(np.complex128), _IN_BYTES.get(kind, kind))
