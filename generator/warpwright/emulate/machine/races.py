"""What reports say of accesses that nothing orders: both of them, and what the kernel lacks to order them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.cells import CELL
from warpwright.emulate.machine.order import Event

if TYPE_CHECKING:
    from warpwright.emulate.machine.scheduler import Machine
    from warpwright.emulate.machine.shadow import Bad
    from warpwright.emulate.machine.state import Cta, Warp


def report(machine: Machine, bad: Bad, cta: Cta, event: int, warp: Warp, number: int, write: bool,
           asynchronous: bool) -> None:  # fmt: skip
    """Report what `Shadow.read` or `Shadow.write` returned: (earlier event, offset); -1: never written, -2: held."""
    actor = machine.order.events[event].actor
    mine = f"{'async' if asynchronous else 'generic'} proxy {'write' if write else 'read'} by {actor}"
    line = machine.program.instructions[number].line
    for other, offset in bad:
        where = machine.place(cta, offset)
        if other == -2:
            kind, what = cta.shadow.holder(offset)
            machine.report.add(kind, f"{where} holds {what}\n  {mine}\n  {machine.line(number)}", (line,))
            continue
        if other < 0:
            text = f"{where} is read but was never written\n  {mine}\n  {machine.line(number)}"
            machine.report.add("uninitialised-read", text, (line,))
            continue
        earlier = machine.order.events[other]
        before, wrote = earlier.access(offset, not write, CELL) or (number, True)
        access = "write" if wrote else "read"
        text = (
            f"{where}\n  {mine}\n    {machine.line(number)}\n  is not ordered after the {earlier.proxy} proxy"
            f" {access} by {earlier.actor}\n    {machine.line(before)}\n"
            f"  what would order them: {_remedy(machine, earlier, other, access, warp, asynchronous)}"
        )
        lines = (line, machine.program.instructions[before].line)
        machine.report.add("race", text, lines, False, offset=offset, cta=cta.ctaid)


def _remedy(machine: Machine, earlier: Event, number: int, access: str, warp: Warp, asynchronous: bool) -> str:
    apart = any(events >> number & 1 for _, events in warp.apart)  # some lanes know of it
    if earlier.source.remedy is not None and not apart:
        return earlier.source.remedy(earlier.warp, warp)
    return machine.program.hooks.remedy(earlier, number, access, warp, asynchronous)
