"""Fences, register reallocation, and the other instructions that concern one warp and no address."""

from __future__ import annotations

from .state import Fiber


def fence_proxy_async(f: Fiber) -> None:
    """fence.proxy.async: what the lanes know now is visible to the asynchronous proxy; later accesses are not yet."""
    warp = f.warp
    warp.segment = -1
    others = warp.unsynced if warp.accessing & ~f.mask else 0  # what only lanes that are not here did
    warp.known_async |= warp.known & ~others


def fence_mbarrier_init(f: Fiber) -> None:
    """fence.mbarrier_init.release.cluster: the warp's mbarrier.inits, for the async proxy and relaxed arrivals."""
    warp = f.warp
    if warp.inits >= 0:
        bit = 1 << warp.inits
        warp.known_async |= bit
        warp.released |= bit
        warp.released_async |= bit
        warp.inits = -1


def fence_thread(f: Fiber, cluster: bool) -> None:
    """fence.acq_rel and fence.sc: at cluster scope and above, later relaxed arrivals carry what came before."""
    warp = f.warp
    if cluster:
        warp.segment = -1
        warp.released, warp.released_async = warp.known, warp.known_async


def warp_barrier(f: Fiber, number: int, members: int) -> None:
    """bar.warp.sync: orders the accesses of the lanes of `members` (other instructions that converge do not)."""
    converged(f, number, members)
    if f.mask == f.warp.alive:
        f.warp.synchronise()


def setmaxnreg(f: Fiber, number: int, count: int, increase: bool) -> bool:
    """True when done; an increase waits for registers that other warps give back (PTX ISA, "setmaxnreg")."""
    warp, cta = f.warp, f.warp.cta
    machine = warp.machine
    if f.mask != warp.alive:
        machine.fault("convergence", warp, number, "setmaxnreg needs all lanes of the warp", fatal=True)
    held = warp.registers or machine.entry_registers
    if not 24 <= count <= 256 or count % 8:
        machine.fault("setmaxnreg", warp, number, f"{count} registers: 24 to 256, a multiple of 8", fatal=True)
    if (count < held) if increase else (count > held):
        word = "inc" if increase else "dec"
        machine.fault("setmaxnreg", warp, number, f"setmaxnreg.{word} to {count} by a warp that holds {held}")
    if (count - held) * 32 > cta.free_registers:
        cta.wanting.append(f)
        return machine.block(f, "registers", number, (count, held, cta.free_registers))
    cta.free_registers -= (count - held) * 32
    warp.registers = count
    warp.register_changes.append((count, number))
    machine.observed["registers"].setdefault(count, set()).add(warp.index)
    if cta.wanting and count < held:
        woken, cta.wanting = cta.wanting, []
        for fiber in woken:
            machine.ready(fiber)
    return True


def trap(f: Fiber, number: int) -> None:
    f.warp.machine.fault("trap", f.warp, number, "the kernel executed a trap", fatal=True)


def converged(f: Fiber, number: int, members: int) -> None:
    """Instructions with a membermask: all the lanes it names must be here."""
    if members & f.warp.alive & ~f.mask:
        text = f"lanes {members:#010x} are named but only {f.mask:#010x} are here"
        f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)
