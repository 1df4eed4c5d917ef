"""What addresses mean: the windows of generic addresses, shared memory across a cluster, swizzles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.numbers.formats import Array

if TYPE_CHECKING:
    from warpwright.emulate.machine.state import Cta, Fiber, Warp

RESERVED = 1024  # bytes at the start of shared memory that the system keeps: dynamic shared memory starts above
RANK_SHIFT = 24
OFFSET = (1 << RANK_SHIFT) - 1
SHARED_WINDOW = 1 << 56  # generic addresses of shared memory and of parameters: no process has memory there
PARAM_WINDOW = 1 << 57
PARAM_BYTES = 1 << 16  # from one parameter to the next there
LOCAL_WINDOW = 1 << 58  # and of the memory of each thread
SWIZZLE_MASKS = {"none": 0, "32B": 1, "64B": 3, "128B": 7}


def swizzle(chunks: Array, mask: int) -> Array:
    """16-byte chunk numbers of absolute shared addresses, swizzled: address bits 4..6 ^= bits 7..9, by `mask`."""
    result: Array = chunks ^ ((chunks >> 3) & mask)
    return result


def locate(f: Fiber, number: int, address: int, cluster: bool, size: int, align: int) -> tuple[Cta, int]:
    """The CTA and offset that a shared address means; reports what is out of bounds, misaligned or not ours."""
    warp = f.warp
    if address >= SHARED_WINDOW:
        address -= SHARED_WINDOW
    rank, offset = address >> RANK_SHIFT, address & OFFSET
    ctas = warp.cta.cluster.ctas
    if rank >= len(ctas) or offset < RESERVED or offset + size > ctas[rank].size:
        text = f"shared address {address:#x}, {size} bytes: outside the {warp.cta.size - RESERVED} bytes of the CTA"
        warp.machine.fault("shared-bounds", warp, number, text, fatal=True)
    if rank != warp.cta.rank and not cluster:
        text = f"shared address {address:#x} is in the CTA of rank {rank}, but the instruction is .shared::cta"
        warp.machine.fault("shared-bounds", warp, number, text, fatal=True)
    if offset % align:
        text = f"shared offset {offset - RESERVED} is not a multiple of {align}"
        warp.machine.fault("misaligned", warp, number, text, fatal=True)
    return ctas[rank], offset


def reach(warp: Warp, number: int, cta: Cta, event: int) -> None:
    """Note that the operation `event` of `warp` reaches into a CTA, which must not be able to end before that."""
    if not cta.running:
        text = f"CTA {cta} has ended when its peer reaches into its shared memory"
        warp.machine.fault("exit", warp, number, text)
    warp.machine.remote.append((event, cta, warp, number))
