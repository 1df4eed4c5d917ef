"""What to say when a launch does not end, and what is checked when it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from warpwright.emulate.machine.people import counted, ctas_of, warps_of

if TYPE_CHECKING:
    from warpwright.emulate.machine.scheduler import Machine
    from warpwright.emulate.machine.state import Cta, Warp

_SHOWN = 12  # groups of warps that wait alike


_OWN = """CTA {} may end while this is in flight into its shared memory, which may be another CTA's by then
  what would keep it: {}"""
_WAIT = "a wait, by any warp of the CTA, on the barrier that this completes"
_PEER = """CTA {} may end before this reaches into its shared memory: no warp of it waits for that
  what would keep it: a wait on the barrier that this completes, or on the cluster barrier after it"""


def _waits(machine: Machine) -> tuple[list[str], list[dict[str, Any]]]:
    """Who waits: in words, those together that wait alike; and as numbers, each warp by itself."""
    alike: dict[tuple[str, str, str], dict[Cta, list[tuple[Warp, str]]]] = {}
    facts = []
    ordered = sorted(machine.waiting, key=lambda f: (f.warp.cta.cluster.number, f.warp.cta.rank, f.warp.index))
    for fiber in ordered:
        assert fiber.blocked is not None
        kind, _, detail = fiber.blocked
        why, numbers = machine.program.hooks.waits[kind](fiber, detail)
        instruction = machine.program.instructions[fiber.blocked[1]]
        part = "" if fiber.mask == fiber.warp.alive else f" (lanes {fiber.mask:#010x})"
        cta = fiber.warp.cta
        key = part, why.replace(f"CTA {cta}", "its CTA"), instruction.where
        alike.setdefault(key, {}).setdefault(cta, []).append((fiber.warp, why))
        facts.append({"warp": fiber.warp.index, "in_cta": fiber.warp.cta.ctaid, "line": instruction.line,
                      "kind": kind, **numbers})  # fmt: skip
    texts = []
    for part, why, where, warps in _together(alike):
        wait = "waits for" if len(warps) == 1 else "wait for"
        what, *known = why.split("\n")
        line = f"{warps_of(warps)} of {ctas_of(warps)}{part} {wait} {what}\n    {where}"
        texts.append("\n".join([line, *known]))
    if len(texts) > _SHOWN:
        texts[_SHOWN:] = [f"and {len(texts) - _SHOWN} more groups of warps"]
    return texts, facts


def _together(
    alike: dict[tuple[str, str, str], dict[Cta, list[tuple[Warp, str]]]],
) -> Iterator[tuple[str, str, str, list[Warp]]]:
    """Lanes, reason, place and warps: those of CTAs of which the same warps wait for the same, each for its own."""
    for (part, why, where), ctas in alike.items():
        same: dict[tuple[int, ...], list[tuple[Warp, str]]] = {}
        for waiting in ctas.values():
            same.setdefault(tuple(warp.index for warp, _ in waiting), []).extend(waiting)
        for waiting in same.values():
            own = {reason for _, reason in waiting}
            yield part, own.pop() if len(own) == 1 else why, where, [warp for warp, _ in waiting]


def _ended(machine: Machine) -> list[str]:
    """The warps that have ended, of CTAs where others wait: they will not arrive any more."""
    stuck = {fiber.warp.cta for fiber in machine.waiting}
    ended: dict[str, list[Warp]] = {}
    for cta in sorted(stuck, key=lambda cta: (cta.cluster.number, cta.rank)):
        warps = [warp for warp in cta.warps if warp.done]
        if warps:
            ended.setdefault(warps_of(warps), []).extend(warps)
    return [f"already ended: {names} of {ctas_of(warps)}" for names, warps in ended.items()]


def report_deadlock(machine: Machine) -> None:
    """Nothing can run: one finding that tells of every warp that is left."""
    texts, facts = _waits(machine)
    lines = tuple(sorted({f["line"] for f in facts}))
    head = f"{counted(len(facts), 'warp')} {'waits' if len(facts) == 1 else 'wait'} and nothing can run"
    machine.report.add("deadlock", "\n  ".join([head, *texts, *_ended(machine)]), lines, True, waits=facts)


def report_livelock(machine: Machine) -> None:
    """The budget is spent: one finding with where the running warps are."""
    texts = []
    for fiber in machine.runnable:
        block = machine.program.blocks[fiber.block]
        held = [*block.instructions, *([block.branch] if block.branch else [])]
        texts.append(f"{fiber.warp} runs at\n    {held[0].where if held else 'its end'}")
    waits, facts = _waits(machine)
    head = f"{machine.instructions} warp instructions and no end (budget {machine.options.budget})"
    machine.report.add("livelock", "\n  ".join([head, *texts, *waits]), (), True, waits=facts)


def report_exits(machine: Machine) -> None:
    """After the end: what reaches into a CTA that did not have to wait for it, and what units check then."""
    for event, cta, warp, number in machine.remote:
        if not cta.exit_known >> event & 1:
            begun = machine.order.events[event]
            own = begun.source.remedy is not None and not begun.asynchronous  # its own thread waits for it
            lacks = begun.source.remedy(warp, warp) if own and begun.source.remedy else _WAIT
            text = _OWN.format(cta, lacks) if cta is warp.cta else _PEER.format(cta)
            machine.fault("exit", warp, number, text)
    for cluster in machine.clusters:
        for cta in cluster.ctas:
            for check in machine.program.hooks.at_end:
                check(cta)
