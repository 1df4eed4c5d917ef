"""What to say when a launch does not end, and what is checked when it does."""

from __future__ import annotations

from typing import Any

from .machine import Machine
from .mbarriers import MBarrier
from .state import Fiber


def _why(fiber: Fiber) -> tuple[str, dict[str, Any]]:
    """What a suspended fiber waits for, in words and as numbers."""
    assert fiber.blocked is not None
    kind, _, detail = fiber.blocked
    if kind == "mbarrier":
        barrier, parity = detail
        assert isinstance(barrier, MBarrier)
        facts = {"cta": barrier.cta.ctaid, "offset": barrier.offset, "parity": parity, "phase": barrier.phase}
        facts |= {"pending_arrivals": barrier.pending, "pending_bytes": barrier.tx}
        return f"the phase of parity {parity} of {barrier}: it is in {barrier.state()}", facts
    if kind == "named":
        identifier, barrier = detail
        missing = barrier.expected - barrier.arrived
        facts = {"named": identifier, "arrived": barrier.arrived, "expected": barrier.expected}
        return f"named barrier {identifier}: {missing} of {barrier.expected} threads have not arrived", facts
    if kind == "cluster":
        text = f"the cluster barrier: {detail.warps - detail.arrived} of {detail.warps} warps have not arrived"
        return text, {"arrived": detail.arrived, "expected": detail.warps}
    if kind == "wgmma":
        group, through = detail
        done = group.commits[through - 1] if through <= len(group.commits) else 0
        return f"wgmma group {through}: {done} of 4 warps have committed it", {"group": through, "committed": done}
    wanted, held, free = detail
    text = f"registers: {wanted} per thread wanted, {held} held, {free} free in the CTA's pool"
    return text, {"wanted": wanted, "held": held, "free": free}


def _waits(machine: Machine) -> tuple[list[str], list[dict[str, Any]]]:
    texts, facts = [], []
    ordered = sorted(machine.waiting, key=lambda f: (f.warp.cta.cluster.number, f.warp.cta.rank, f.warp.index))
    for fiber in ordered:
        assert fiber.blocked is not None
        why, numbers = _why(fiber)
        instruction = machine.program.instructions[fiber.blocked[1]]
        part = "" if fiber.mask == fiber.warp.alive else f" (lanes {fiber.mask:#010x})"
        texts.append(f"{fiber.warp}{part} waits for {why}\n    {instruction.where}")
        facts.append({"warp": fiber.warp.index, "in_cta": fiber.warp.cta.ctaid, "line": instruction.line,
                      "loc": instruction.loc, "kind": fiber.blocked[0], **numbers})  # fmt: skip
    return texts, facts


def report_deadlock(machine: Machine) -> None:
    """Nothing can run: one finding that lists every warp that is left."""
    texts, facts = _waits(machine)
    lines = tuple(sorted({f["line"] for f in facts}))
    head = f"{len(texts)} warps wait and nothing can run"
    machine.report.add("deadlock", "\n  ".join([head, *texts]), lines, True, waits=facts)


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
            text = f"CTA {cta} may end before this reaches into its shared memory: no warp of it waits for the result"
            machine.fault("exit", warp, number, text)
    for cluster in machine.clusters:
        for cta in cluster.ctas:
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
