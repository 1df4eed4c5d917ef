"""One launch of a program that is checked, in the emulator: over several schedules, from the same memory each time.

Where the memory model is stricter than what production kernels rely on, the rules that can be left out say so
(`Unit.rules`): what is found with them and not without them is a note, and no finding.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpwright.checking.device_memory import PATTERN, Bytes, DeviceMemory, bytes_at
from warpwright.checking.kernels import Entry
from warpwright.checking.places import origin, places_of
from warpwright.checking.report import LaunchReport, Message
from warpwright.checking.runtime import LaunchConfig
from warpwright.emulate import KINDS, Finding, GlobalMemory, Options, Result, TensorMap, run
from warpwright.emulate.machine.launch import Launch
from warpwright.emulate.ptx.syntax import Kernel
from warpwright.emulate.units import UNITS
from warpwright.record import STATUSES

__all__ = ["Settings", "run_launch"]

_MAP_BYTES, _MAP_ALIGNMENT = 128, 64  # of a CUtensorMap
_WARP_BUDGET, _LEAST_BUDGET = 1_000_000, 5_000_000


@dataclass(frozen=True)
class Settings:
    """How launches are run. seeds: schedules of each. resident: CTAs that the device holds at once."""

    seeds: Sequence[int] = (1, 2)
    resident: int = 64
    trace: bool = False
    strict: bool = False  # notes count as findings


def _parameters(kernel: Kernel, arguments: int) -> tuple[bytes, ...]:
    """The bytes of each parameter: `arguments` is an array of pointers to them."""
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


class _Saved:
    """The contents of all buffers before a launch."""

    def __init__(self, memory: GlobalMemory) -> None:
        self._buffers = list(memory.buffers.values())
        self._before = [buffer.data.copy() for buffer in self._buffers]

    def restore(self) -> None:
        for buffer, before in zip(self._buffers, self._before, strict=True):
            buffer.data[...] = before
            buffer.writes[...] = 0

    def written(self) -> list[Bytes]:
        return [buffer.data.copy() for buffer in self._buffers]


def run_launch(
    number: int, entry: Entry, config: LaunchConfig, arguments: int, known: DeviceMemory, settings: Settings
) -> tuple[LaunchReport, list[dict[str, Any]]]:
    """Run one launch and return its report, and its timeline where that is asked for; memory then is as it left it.

    Raises EmulatorError (UnsupportedInstruction) and PtxError where the kernel cannot be emulated.
    """
    module = entry.compiled.module
    kernel = module.kernels[entry.name]
    usage = entry.compiled.usage.get(entry.name)
    params = _parameters(kernel, arguments)
    launch = Launch(config.grid, config.block, config.cluster, config.shared_bytes, params, entry.name)
    maps = _tensor_maps(kernel, params)
    memory = _memory(known)
    saved = _Saved(memory)
    ctas = int(np.prod(config.grid))
    per_cluster = int(np.prod(config.cluster))
    options = Options(
        clusters=max(1, settings.resident // per_cluster),
        budget=max(_LEAST_BUDGET, ctas * -(-launch.threads // 32) * _WARP_BUDGET),
        entry_registers=_at_launch(usage.registers) if usage else 0,
        trace=settings.trace,
    )
    report = LaunchReport(number, origin(kernel), config.grid, config.block, config.cluster,
                          config.shared_bytes, usage.registers if usage else 0)  # fmt: skip
    rules = frozenset() if settings.strict else UNITS.hooks.rules
    found: dict[tuple[str, tuple[int, ...]], tuple[Finding, int]] = {}
    noted: dict[tuple[str, tuple[int, ...]], tuple[Finding, int]] = {}
    timeline: list[dict[str, Any]] = []
    ends: list[list[Bytes]] = []
    for seed in settings.seeds:
        saved.restore()
        result = _counted(report, run(module, launch, maps, memory, seed, options, entry.name))
        timeline = timeline or [event for event in result.timeline if not any(event["cta"])]
        if result.findings and rules:
            saved.restore()
            relaxed = replace(options, without=rules, trace=False)
            strict, result = result, _counted(report, run(module, launch, maps, memory, seed, relaxed, entry.name))
            remaining = {(f.kind, f.lines) for f in result.findings}
            for f in strict.findings:
                if (f.kind, f.lines) not in remaining:
                    noted.setdefault((f.kind, f.lines), (f, seed))
        for f in result.findings:
            found.setdefault((f.kind, f.lines), (f, seed))
        report.complete = result.complete
        if not result.complete:
            break
        ends.append(saved.written())
    places = places_of(module, entry.name) if found or noted else None
    if places is not None:
        report.findings = _messages(found, places)
        report.notes = _messages(noted, places)
    report.notes += _schedule(memory, ends)
    return report, timeline


def _counted(report: LaunchReport, result: Result) -> Result:
    report.runs += 1
    report.warp_instructions += int(result.statistics["warp_instructions"])
    report.seconds += result.statistics["seconds"]
    return result


def _at_launch(registers: int) -> int:
    """Registers that a thread has when the kernel starts: allocated by the eight."""
    return -(-registers // 8) * 8


def _messages(found: Mapping[Any, tuple[Finding, int]], places: Any) -> list[Message]:
    """Findings in words, the gravest first; what happens at copies of the same lines is told once."""
    ordered = sorted(found.values(), key=lambda each: STATUSES.index(KINDS[each[0].kind].status))
    messages: dict[object, Message] = {}
    for finding, seed in ordered:
        told = [places.places[line] for line in finding.lines if line in places.places]
        lines = tuple(f"{place.file}:{place.line}" for place in told)
        key = (finding.kind, lines) if lines and len(told) == len(finding.lines) else finding
        if key in messages:
            continue
        text = f"{places.explain(finding.message)}\n  with schedule seed {seed}"
        messages[key] = Message(finding.kind, text, lines)
    return list(messages.values())


def _schedule(memory: GlobalMemory, ends: Sequence[Sequence[Bytes]]) -> list[Message]:
    """Buffers whose contents depend on the schedule: sums of floats in any order are right, and nothing else is."""
    notes = []
    for index, buffer in enumerate(memory.buffers.values()):
        different = sum(int(np.count_nonzero(ends[0][index] != end[index])) for end in ends[1:])
        if different:
            text = f"{different} bytes of {buffer.name!r} depend on the schedule: atomics in any order, or a race"
            notes.append(Message("schedule", text))
    return notes


def never_written(data: Bytes) -> int:
    """How many aligned words of some memory still hold the pattern of fresh allocations."""
    start = -data.ctypes.data % 4
    words = data[start : start + (len(data) - start) // 4 * 4].view(np.uint32)
    return int(np.count_nonzero(words == PATTERN))
