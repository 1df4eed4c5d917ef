"""What to say when a launch does not end, and what is checked when it does."""

from __future__ import annotations

from typing import Any

from .machine import Machine
from .mbarriers import MBarrier
from .people import counted, ctas_of, warps_of
from .state import Fiber, Warp
from .tensor_memory import report_leaks

_SHOWN = 12  # groups of warps that wait alike


def _why(fiber: Fiber) -> tuple[str, dict[str, Any]]:
    """What a suspended fiber waits for, in words (first what, then what is known of it) and as numbers."""
    assert fiber.blocked is not None
    machine, (kind, _, detail) = fiber.warp.machine, fiber.blocked
    if kind == "mbarrier":
        barrier, parity = detail
        assert isinstance(barrier, MBarrier)
        facts = {"cta": barrier.cta.ctaid, "offset": barrier.offset, "parity": parity, "phase": barrier.phase}
        facts |= {"pending_arrivals": barrier.pending, "pending_bytes": barrier.tx}
        whose = "its CTA" if barrier.cta is fiber.warp.cta else f"CTA {barrier.cta}"
        text = f"the phase of parity {parity} of mbarrier {machine.name(barrier.offset)} of {whose}"
        text += f"\n    it is in {barrier.state()}"
        return text + barrier.history(), facts
    if kind == "named":
        identifier, named = detail
        facts = {"named": identifier, "arrived": named.arrived, "expected": named.expected}
        missing = named.expected - named.arrived
        text = f"{machine.named(identifier)}: {missing} of {named.expected} threads have not arrived"
        text += machine.planned(machine.options.named(identifier))
        text += f"\n    arrived in this phase: {warps_of([warp for warp, _ in named.members])}"
        return text, facts
    if kind == "cluster":
        text = f"the cluster barrier: {detail.warps - detail.arrived} of {detail.warps} warps have not arrived"
        return text, {"arrived": detail.arrived, "expected": detail.warps}
    if kind == "wgmma":
        group, through = detail
        done = group.commits[through - 1] if through <= len(group.commits) else 0
        return f"wgmma group {through}: {done} of 4 warps have committed it", {"group": through, "committed": done}
    if kind == "tensor-memory":
        columns, group = detail
        text = f"{columns} columns of tensor memory (tcgen05.alloc of cta_group::{group})"
        return text, {"columns": columns, "group": group}
    wanted, held, free = detail
    text = f"registers: {wanted} per thread wanted, {held} held, {free} free in the CTA's pool"
    return text, {"wanted": wanted, "held": held, "free": free}


def _waits(machine: Machine) -> tuple[list[str], list[dict[str, Any]]]:
    """Who waits: in words, those together that wait alike; and as numbers, each warp by itself."""
    alike: dict[tuple[str, str, str], list[Warp]] = {}
    facts = []
    ordered = sorted(machine.waiting, key=lambda f: (f.warp.cta.cluster.number, f.warp.cta.rank, f.warp.index))
    for fiber in ordered:
        assert fiber.blocked is not None
        why, numbers = _why(fiber)
        instruction = machine.program.instructions[fiber.blocked[1]]
        part = "" if fiber.mask == fiber.warp.alive else f" (lanes {fiber.mask:#010x})"
        alike.setdefault((part, why, instruction.where), []).append(fiber.warp)
        facts.append({"warp": fiber.warp.index, "in_cta": fiber.warp.cta.ctaid, "line": instruction.line,
                      "kind": fiber.blocked[0], **numbers})  # fmt: skip
    texts = []
    for (part, why, where), warps in alike.items():
        wait = "waits for" if len(warps) == 1 else "wait for"
        what, *known = why.split("\n")
        line = f"{warps_of(warps)} of {ctas_of(warps)}{part} {wait} {what}\n    {where}"
        texts.append("\n".join([line, *known]))
    if len(texts) > _SHOWN:
        texts[_SHOWN:] = [f"and {len(texts) - _SHOWN} more groups of warps"]
    return texts, facts


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
    """After the end: reaches into a peer that it did not have to wait for, and uneven register reallocation."""
    for event, cta, warp, number in machine.remote:
        if not cta.exit_known >> event & 1:
            text = (
                f"CTA {cta} may end before this reaches into its shared memory: no warp of it waits for that\n"
                "  what would keep it: a wait on the barrier that this completes, or on the cluster barrier after it"
            )
            machine.fault("exit", warp, number, text)
    for cluster in machine.clusters:
        for cta in cluster.ctas:
            report_leaks(cta)
            for first in range(0, len(cta.warps), 4):
                changes = {tuple(n for n, _ in w.register_changes) for w in cta.warps[first : first + 4]}
                if len(changes) > 1:
                    texts = [f"{w}: {[n for n, _ in w.register_changes]}" for w in cta.warps[first : first + 4]]
                    lines = tuple(
                        sorted(
                            {
                                machine.program.instructions[i].line
                                for w in cta.warps[first : first + 4]
                                for _, i in w.register_changes
                            }
                        )
                    )
                    text = "the warps of one warpgroup do not all execute the same setmaxnreg\n  " + "\n  ".join(texts)
                    machine.report.add("setmaxnreg", text, lines)
