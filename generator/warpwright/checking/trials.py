"""One launch over several schedules, from the same memory each time, and what of its findings is a note.

Where the memory model is stricter than what production kernels rely on, the rules that can be left out say so
(`Unit.rules`): what is found with them and not without them is a note. On-chip memory that nobody wrote may be read, as
long as it does not matter (a tile of which some rows lie outside the problem): what is left of the launch then is the
same whatever that memory holds, and a run with other contents tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from warpwright.checking.device_memory import Bytes
from warpwright.emulate import Finding, GlobalMemory, Module, Options, Result, TensorMap, run
from warpwright.emulate.machine.launch import Launch

__all__ = ["Found", "Trials"]

#: Findings, by kind and lines, with the seed that showed them first.
Found = dict[tuple[str, tuple[int, ...]], tuple[Finding, int]]

_UNWRITTEN = "uninitialised-read"
_OTHER = 0x00  # what on-chip memory holds in the run that tells whether that matters; else it is NaN


class Trials:
    """The runs of one launch. `found`, `noted`: what they showed. `runs`, `warp_instructions`, `seconds`: of all."""

    def __init__(
        self, module: Module, launch: Launch, maps: Mapping[int, TensorMap], memory: GlobalMemory, options: Options
    ) -> None:
        self.module, self.launch, self.maps, self.memory, self.options = module, launch, maps, memory, options
        self.found: Found = {}
        self.noted: Found = {}
        self.timeline: list[dict[str, Any]] = []
        self.runs = self.warp_instructions = 0
        self.seconds = 0.0
        self._buffers = list(memory.buffers.values())
        self._before = [buffer.data.copy() for buffer in self._buffers]
        self._after: list[list[Bytes]] = []

    def judge(self, seed: int, rules: frozenset[str]) -> bool:
        """Run with one schedule and weigh what is found; returns whether the launch came to its end."""
        result = self._run(seed, self.options)
        self.timeline = self.timeline or [event for event in result.timeline if not any(event["cta"])]
        left = self.options
        if result.findings and rules:
            left = replace(self.options, without=rules, trace=False)
            strict, result = result, self._run(seed, left)
            remaining = {(finding.kind, finding.lines) for finding in result.findings}
            self._add(self.noted, [f for f in strict.findings if (f.kind, f.lines) not in remaining], seed)
        findings = list(result.findings)
        after = self._contents()
        unwritten = [finding for finding in findings if finding.kind == _UNWRITTEN]
        if unwritten and result.complete and rules:
            other = self._run(seed, replace(left, garbage=_OTHER, trace=False))
            if other.complete and all(map(np.array_equal, after, self._contents())):
                self._add(self.noted, unwritten, seed)
                findings = [finding for finding in findings if finding.kind != _UNWRITTEN]
            for buffer, data in zip(self._buffers, after, strict=True):
                buffer.data[...] = data
        self._add(self.found, findings, seed)
        if result.complete:
            self._after.append(after)
        return result.complete

    def varying(self) -> dict[str, int]:
        """How many bytes of each buffer depend on the schedule, of those of which any does."""
        found = {}
        for index, buffer in enumerate(self._buffers):
            different = max(
                (int(np.count_nonzero(self._after[0][index] != end[index])) for end in self._after), default=0
            )
            if different:
                found[buffer.name] = different
        return found

    def _run(self, seed: int, options: Options) -> Result:
        for buffer, before in zip(self._buffers, self._before, strict=True):
            buffer.data[...] = before
            buffer.writes[...] = 0
        result = run(self.module, self.launch, self.maps, self.memory, seed, options, self.launch.kernel)
        self.runs += 1
        self.warp_instructions += int(result.statistics["warp_instructions"])
        self.seconds += result.statistics["seconds"]
        return result

    def _contents(self) -> list[Bytes]:
        return [buffer.data.copy() for buffer in self._buffers]

    @staticmethod
    def _add(to: Found, findings: list[Finding], seed: int) -> None:
        for finding in findings:
            to.setdefault((finding.kind, finding.lines), (finding, seed))
