"""One launch of a program that is checked: from what the runtime was given to what the emulator needs, and back."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.checking.device_memory import DeviceMemory, bytes_at
from warpwright.checking.kernels import Entry
from warpwright.checking.limits import Limits
from warpwright.checking.places import origin, places_of
from warpwright.checking.report import LaunchReport, Message
from warpwright.checking.runtime import LaunchConfig
from warpwright.checking.trials import Found, Trials
from warpwright.emulate import KINDS, Finding, GlobalMemory, Options, TensorMap
from warpwright.emulate.machine.launch import Launch
from warpwright.emulate.machine.people import counted
from warpwright.emulate.ptx.syntax import Kernel
from warpwright.emulate.units import UNITS
from warpwright.record import STATUSES

__all__ = ["Settings", "parameters", "run_launch"]

_MAP_BYTES, _MAP_ALIGNMENT = 128, 64  # of a CUtensorMap
_WARP_BUDGET, _LEAST_BUDGET = 1_000_000, 5_000_000


@dataclass(frozen=True)
class Settings:
    """How launches are run, on a device of such limits. seeds: schedules of each."""

    limits: Limits
    seeds: Sequence[int] = (1, 2)
    trace: bool = False
    strict: bool = False  # notes count as findings


def parameters(entry: Entry, arguments: int) -> tuple[bytes, ...]:
    """The bytes of each parameter of a kernel: `arguments` is an array of pointers to them."""
    kernel = entry.compiled.module.kernels[entry.name]
    pointers = (ctypes.c_void_p * len(kernel.params)).from_address(arguments) if kernel.params else ()
    return tuple(ctypes.string_at(at, p.bytes) for at, p in zip(pointers, kernel.params, strict=True) if at)


def _tensor_maps(kernel: Kernel, params: Sequence[bytes]) -> dict[int, TensorMap]:
    """What the parameters that can be tensor maps mean, by index.

    Raises EmulatorError for what the emulator has no such maps of. 128 bytes that are none (all zero) are passed over.
    """
    found = [
        index
        for index, (param, value) in enumerate(zip(kernel.params, params, strict=True))
        if param.bytes == _MAP_BYTES and param.align >= _MAP_ALIGNMENT and any(value)
    ]
    if not found:
        return {}
    from warpwright.emulate.units.tma.encoding import decode

    return {index: decode(params[index]) for index in found}


def _memory(known: DeviceMemory) -> GlobalMemory:
    memory = GlobalMemory()
    for index, each in enumerate(known.merged()):
        name = each.name or f"array {index}"
        while name in memory.buffers:
            name += "'"
        memory.add(name, bytes_at(each.address, each.bytes), "inout", each.address)
    return memory


def run_launch(
    number: int, entry: Entry, config: LaunchConfig, params: tuple[bytes, ...], known: DeviceMemory, settings: Settings
) -> tuple[LaunchReport, list[dict[str, Any]]]:
    """Run one launch and return its report, and its timeline where that is asked for; memory then is as it left it.

    Raises EmulatorError (UnsupportedInstruction) and PtxError where the kernel cannot be emulated.
    """
    module = entry.compiled.module
    kernel = module.kernels[entry.name]
    usage = entry.compiled.usage.get(entry.name)
    launch = Launch(config.grid, config.block, config.cluster, config.shared_bytes, params, entry.name)
    ctas, per_cluster = int(np.prod(config.grid)), int(np.prod(config.cluster))
    registers, static = (usage.registers, usage.static_shared_bytes) if usage else (0, 0)
    resident = settings.limits.resident(launch.threads, registers, launch.shared_bytes + static)
    options = Options(
        clusters=max(1, resident // per_cluster),
        budget=max(_LEAST_BUDGET, ctas * -(-launch.threads // 32) * _WARP_BUDGET),
        entry_registers=_at_launch(registers),
        trace=settings.trace,
    )
    report = LaunchReport(number, origin(kernel), config.grid, config.block, config.cluster,
                          config.shared_bytes, registers)  # fmt: skip
    trials = Trials(module, launch, _tensor_maps(kernel, params), _memory(known), options)
    rules = frozenset() if settings.strict else UNITS.hooks.rules
    for seed in settings.seeds:
        report.complete = trials.judge(seed, rules)
        if not report.complete:
            break
    if report.complete:
        trials.weigh_unwritten(settings.seeds[0], rules)
    report.runs, report.warp_instructions, report.seconds = trials.runs, trials.warp_instructions, trials.seconds
    if trials.found or trials.noted:
        places = places_of(module, entry.name)
        report.findings, report.notes = _messages(trials.found, places), _messages(trials.noted, places)
    for name, different in trials.varying().items():
        verb = "depends" if different == 1 else "depend"
        text = f"{counted(different, 'byte')} of {name!r} {verb} on the schedule: atomics in any order, or a race"
        (report.findings if settings.strict else report.notes).append(Message("schedule", text))
    return report, trials.timeline


def _rank(finding: Finding) -> tuple[int, ...]:
    """The gravest first. But what may still fly when a CTA ends follows from what nobody waited for, and is told last;
    and of what is wrong with the order, the read of what a copy has not brought yet is told first.
    """
    early = finding.kind == "race" and "is not ordered after the async proxy write" in finding.message
    return finding.kind == "exit", STATUSES.index(KINDS[finding.kind].status), not early


def _at_launch(registers: int) -> int:
    """Registers that a thread has when the kernel starts: allocated by the eight."""
    return -(-registers // 8) * 8


def _messages(found: Found, places: Any) -> list[Message]:
    """Findings in words, the gravest first; what happens at copies of the same lines is told once."""
    ordered = sorted((each for each in found.values()), key=lambda each: _rank(each[0]))
    races = [each[0].lines for each in ordered if each[0].kind == "race"]
    messages: dict[object, Message] = {}
    for finding, seed in ordered:
        told = [places.places[line] for line in finding.lines if line in places.places]
        lines = tuple(f"{place.file}:{place.line}" for place in told)
        key = (finding.kind, lines) if lines and len(told) == len(finding.lines) else finding
        if key in messages:
            continue
        message = finding.message
        late = [lines[0] for lines in races if finding.kind == "uninitialised-read" and lines[1:] == finding.lines]
        if late:  # who writes it comes later in this run
            message = message.replace("is read but was never written", "is read but was not yet written")
            message += f"\n  no barrier is between this read and what writes it later:\n    PTX line {late[0]}"
        text = f"{places.explain(message)}\n  with schedule seed {seed}"
        messages[key] = Message(finding.kind, text, lines)
    return list(messages.values())
