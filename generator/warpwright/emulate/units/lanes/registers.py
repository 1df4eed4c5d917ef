"""Register reallocation (setmaxnreg), and the end of a kernel by a trap."""

from __future__ import annotations

from typing import Any

from warpwright.emulate.machine.state import Cta, Fiber, Warp


class Holding:
    """What a warp holds: registers per thread once it has changed that, and (count, instruction) of each change."""

    def __init__(self, warp: Warp) -> None:
        self.registers = warp.machine.entry_registers
        self.changes: list[tuple[int, int]] = []


class Pool:
    """Registers of a CTA that nobody holds, and who waits for them."""

    def __init__(self, _cta: Cta) -> None:
        self.free = 0
        self.wanting: list[Fiber] = []


def setmaxnreg(f: Fiber, number: int, count: int, increase: bool) -> bool:
    """True when done; an increase waits for registers that other warps give back (PTX ISA, "setmaxnreg")."""
    warp = f.warp
    machine, holding, pool = warp.machine, warp.own(Holding), warp.cta.own(Pool)
    if f.mask != warp.alive:
        machine.fault("convergence", warp, number, "setmaxnreg needs all lanes of the warp", fatal=True)
    held = holding.registers
    if not 24 <= count <= 256 or count % 8:
        machine.fault("setmaxnreg", warp, number, f"{count} registers: 24 to 256, a multiple of 8", fatal=True)
    if (count < held) if increase else (count > held):
        word = "inc" if increase else "dec"
        machine.fault("setmaxnreg", warp, number, f"setmaxnreg.{word} to {count} by a warp that holds {held}")
    if (count - held) * 32 > pool.free:
        pool.wanting.append(f)
        return machine.block(f, "registers", number, (count, held, pool.free))
    pool.free -= (count - held) * 32
    holding.registers = count
    holding.changes.append((count, number))
    machine.observed["registers"].setdefault(count, set()).add(warp.index)
    if pool.wanting and count < held:
        woken, pool.wanting = pool.wanting, []
        for fiber in woken:
            machine.ready(fiber)
    return True


def explain(_fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a setmaxnreg.inc waits for."""
    wanted, held, free = detail
    text = f"registers: {wanted} per thread wanted, {held} held, {free} free in the CTA's pool"
    return text, {"wanted": wanted, "held": held, "free": free}


def check_alike(cta: Cta) -> None:
    """At the end of a CTA: the warps of a warpgroup have all made the same changes."""
    machine = cta.machine
    for first in range(0, len(cta.warps), 4):
        group = cta.warps[first : first + 4]
        changes = {warp: held.changes if (held := warp.owned(Holding)) else [] for warp in group}
        if len({tuple(count for count, _ in made) for made in changes.values()}) > 1:
            texts = [f"{warp}: {[count for count, _ in made]}" for warp, made in changes.items()]
            lines = {machine.program.instructions[at].line for made in changes.values() for _, at in made}
            text = "the warps of one warpgroup do not all execute the same setmaxnreg\n  " + "\n  ".join(texts)
            machine.report.add("setmaxnreg", text, tuple(sorted(lines)))


def trap(f: Fiber, number: int, why: str = "the kernel executed a trap") -> None:
    f.warp.machine.fault("trap", f.warp, number, why, fatal=True)
