"""Tensor maps that a kernel changes: tensormap.replace, tensormap.cp_fenceproxy, fence.proxy.tensormap.

Copies read maps through a proxy of their own. A map in global memory that threads have written is read as it was
written only by a thread that knows of the write, and that has since gone through fence.proxy.tensormap::generic.acquire
of that address; and the write must have been released to that proxy (PTX ISA, "Memory Consistency Model", proxies).
Of a map's 128 bytes the first 64 are read and written here: the others mean nothing, and the DSL leaves them unwritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import SHARED_WINDOW
from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.state import Fiber, Warp
from warpwright.emulate.units.memory.global_memory import global_load, global_store
from warpwright.emulate.units.memory.shared import shared_load, shared_store
from warpwright.emulate.units.tma.encoding import READ, changed

#: Fields that one value names, and those that have a value for each mode, with what they hold less one of.
ONE = {"global_address": "address", "rank": "rank", "interleave_layout": "interleave", "swizzle_mode": "swizzle",
       "swizzle_atomicity": "atom", "fill_mode": "fill", "elemtype": "type"}  # fmt: skip
EACH = {"box_dim": "box", "global_dim": "extent", "element_stride": "step", "global_stride": "stride"}
_TF32 = {11: 7, 12: 8}  # .tf32 and .tf32.ftz are f32 that is rounded
_PACKED = {13: 11, 14: 12, 15: 13}  # elements below a byte
_PART = 16  # bytes of one access


@dataclass
class Written:
    """A map in global memory that the kernel has written: the last write, its instruction, whether it is released to
    the proxy of tensor maps, and which warps have acquired it."""

    event: int
    warp: Warp
    number: int
    released: bool
    acquired: set[Warp]


def map_replace(f: Fiber, number: int, address: int, shared: bool | None, name: str, mode: int, value: int) -> None:
    """tensormap.replace of one field of a map (a read and a write). `shared`: None by the address."""
    _aligned(f, number, address)
    shared = address >= SHARED_WINDOW if shared is None else shared
    raw = _loaded(f, number, address, shared)
    for each, at, new in _fields(f, number, name, mode, value):
        raw = changed(raw, each, new, at)
    words = np.frombuffer(raw, np.uint64).reshape(-1, 2)
    for part, pair in enumerate(words):
        values = np.repeat(pair[:, None], 32, axis=1)
        if shared:
            shared_store(f, number, address + _PART * part, values, 8, False)
        else:
            global_store(f, number, address + _PART * part, values, 8)
    if not shared:
        _note(f, number, address, False)


def map_copy(f: Fiber, number: int, target: int, source: int) -> None:
    """tensormap.cp_fenceproxy: a map goes from shared to global memory, released to the proxy of tensor maps."""
    warp = f.warp
    if f.mask != warp.alive:
        warp.machine.fault("convergence", warp, number, "tensormap.cp_fenceproxy needs all lanes of the warp", True)
    _aligned(f, number, target)
    _aligned(f, number, source)
    raw = _loaded(f, number, source, True)
    for part, pair in enumerate(np.frombuffer(raw, np.uint64).reshape(-1, 2)):
        global_store(f, number, target + _PART * part, np.repeat(pair[:, None], 32, axis=1), 8)
    _note(f, number, target, True)


def map_fence(f: Fiber, acquire: int | None) -> None:
    """fence.proxy.tensormap: .release of what the warp has written, or .acquire of the map at an address."""
    warp = f.warp
    for address, found in _all(warp).items():
        if acquire is None and found.warp is warp:
            found.released = True
        elif address == acquire:
            found.acquired.add(warp)


def used(f: Fiber, number: int, address: int) -> None:
    """Report a copy by a map that the kernel has written, and that is not ordered behind that."""
    warp = f.warp
    found = _all(warp).get(address)
    if found is None:
        return
    machine = warp.machine
    if not warp.known >> found.event & 1:
        how = f"a barrier at which {found.warp} arrives after the write, and on which {warp} waits"
    elif not found.released:
        how = f"fence.proxy.tensormap::generic.release by {found.warp} after the write (or tensormap.cp_fenceproxy)"
    elif warp not in found.acquired:
        how = f"fence.proxy.tensormap::generic.acquire of that address by {warp}, behind its wait"
    else:
        return
    text = (
        f"the tensor map at {address:#x}\n  read by a tensor copy of {warp}\n    {machine.line(number)}\n"
        f"  is not ordered after the write by {found.warp}\n    {machine.line(found.number)}\n"
        f"  what would order them: {how}"
    )
    instructions = machine.program.instructions
    machine.report.add("race", text, (instructions[number].line, instructions[found.number].line))


class _Maps:
    """Of a launch, kept at its first cluster: the maps that it has written, by address."""

    def __init__(self, _cluster: Any) -> None:
        self.at: dict[int, Written] = {}


def _all(warp: Warp) -> dict[int, Written]:
    return warp.machine.clusters[0].own(_Maps).at


def _note(f: Fiber, number: int, address: int, released: bool) -> None:
    _all(f.warp)[address] = Written(f.warp.event(), f.warp, number, released, set())


def _aligned(f: Fiber, number: int, address: int) -> None:
    if address % 64:
        text = f"the address {address:#x} of a tensor map is not a multiple of 64"
        f.warp.machine.fault("misaligned", f.warp, number, text, fatal=True)


def _loaded(f: Fiber, number: int, address: int, shared: bool) -> bytes:
    parts = []
    for at in range(address, address + READ, _PART):
        found = shared_load(f, number, at, 8, 2, False) if shared else global_load(f, number, at, 8, 2)
        parts.append(np.ascontiguousarray(found[:, 0]).tobytes())
    return b"".join(parts)


def _fields(f: Fiber, number: int, name: str, mode: int, value: int) -> list[tuple[str, int, int]]:
    """(field, mode, what it holds then): PTX ISA, "tensormap.replace", and its table of values."""
    if name == "global_stride":  # in bytes
        if value % 16 or value >> 40:
            text = f"a stride of {value} bytes: it must be a multiple of 16 below 2^40"
            f.warp.machine.fault("tma", f.warp, number, text, fatal=True)
        return [("stride", mode, value >> 4), ("stride_high", mode, value >> 36)]
    if name in EACH:
        return [(EACH[name], mode, value - 1)]
    if name == "elemtype":
        kind = _TF32.get(value) or _PACKED.get(value) or value
        return [("type", 0, kind), ("tf32", 0, int(value in _TF32))]
    if name == "swizzle_mode" and value > 3:
        raise UnsupportedInstruction(f"{f.warp.machine.line(number)}: a swizzle of 96 bytes is not emulated")
    return [(ONE[name], 0, value)]
