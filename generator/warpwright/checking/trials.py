"""One launch over several schedules, from the same memory each time, and what of its findings is a note.

Where the memory model is stricter than what production kernels rely on, the rules that can be left out say so
(`Unit.rules`): what is found with them and not without them is a note. On-chip memory that nobody wrote may be read, as
long as it does not matter (a tile of which some rows lie outside the problem): what is left of the launch then is the
same whatever that memory holds, and a run with other contents tells. Global memory that nobody has written before the
launch (`device_memory.PATTERN`) is treated alike: other schedules find other contents there, and what they leave must
not differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from warpwright.checking.device_memory import PATTERN, Bytes
from warpwright.emulate import Finding, GlobalMemory, Module, Options, Result, TensorMap, run
from warpwright.emulate.machine.launch import Launch
from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.people import counted

__all__ = ["Found", "Trials"]

#: Findings, by kind and lines, with the seed that showed them first.
Found = dict[tuple[str, tuple[int, ...]], tuple[Finding, int]]

_UNWRITTEN = "uninitialised-read"
_OTHER_PATTERN = np.uint32(0x3F803F80)  # 1 in float32 and bfloat16
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
        self._unwritten = [_never_written(buffer) for buffer in self._buffers]

    def judge(self, seed: int, rules: frozenset[str]) -> bool:
        """Run with one schedule and weigh what is found; returns whether the launch came to its end."""
        other = bool(self._after)
        result = self._run(seed, self.options, other)
        self.timeline = self.timeline or [event for event in result.timeline if not any(event["cta"])]
        left = self.options
        if result.findings and rules:
            left = replace(self.options, without=rules, trace=False)
            strict, result = result, self._run(seed, left, other)
            remaining = {(finding.kind, finding.lines) for finding in result.findings}
            self._add(self.noted, [f for f in strict.findings if (f.kind, f.lines) not in remaining], seed)
        findings = list(result.findings)
        after = self._contents()
        unwritten = [finding for finding in findings if finding.kind == _UNWRITTEN]
        if unwritten and result.complete and rules:
            again = self._run(seed, replace(left, garbage=_OTHER, trace=False), other)
            if again.complete and all(map(np.array_equal, after, self._contents())):
                self._add(self.noted, unwritten, seed)
                findings = [finding for finding in findings if finding.kind != _UNWRITTEN]
            self._put(after)
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

    def weigh_unwritten(self, seed: int, rules: frozenset[str]) -> None:
        """Find results that depend on global memory which nobody had written before the launch.

        Call it when all schedules are through; `seed` is that of the first.
        """
        names = [b.name for b, words in zip(self._buffers, self._unwritten, strict=True) if words.any()]
        if not names or not self._after or (len(self._after) > 1 and not self.varying()):
            return
        last, first = self._after[-1], self._after[0]
        complete = self._run(seed, replace(self.options, without=rules, trace=False), True).complete
        if complete:
            for buffer, before, after in zip(self._buffers, first, self._contents(), strict=True):
                different = int(np.count_nonzero(before != after))
                if different:
                    held = " and ".join(map(repr, names))
                    verb = "depends" if different == 1 else "depend"
                    text = (
                        f"{counted(different, 'byte')} of {buffer.name!r} {verb} on what {held} held where nobody had"
                        " written before the launch"
                    )
                    self._add(self.found, [Finding(_UNWRITTEN, text)], seed)
        self._put(last)

    def _put(self, contents: list[Bytes]) -> None:
        for buffer, data in zip(self._buffers, contents, strict=True):
            buffer.data[...] = data

    def _run(self, seed: int, options: Options, other: bool) -> Result:
        """One run from the memory of the beginning; `other`: with other contents where nobody had written."""
        for buffer, before, words in zip(self._buffers, self._before, self._unwritten, strict=True):
            buffer.data[...] = before
            buffer.writes[...] = 0
            if other and words.any():
                _words(buffer)[words] = _OTHER_PATTERN
        result = run(self.module, self.launch, self.maps, self.memory, seed, options, self.launch.kernel)
        self.runs += 1
        self.warp_instructions += int(result.statistics["warp_instructions"])
        self.seconds += result.statistics["seconds"]
        for buffer, words in zip(self._buffers, self._unwritten, strict=True):
            if other and words.any():  # what is still unwritten shall be known as such
                still = words & ~_words(buffer, buffer.writes).astype(bool)
                _words(buffer)[still] = PATTERN
        return result

    def _contents(self) -> list[Bytes]:
        return [buffer.data.copy() for buffer in self._buffers]

    @staticmethod
    def _add(to: Found, findings: list[Finding], seed: int) -> None:
        for finding in findings:
            to.setdefault((finding.kind, finding.lines), (finding, seed))


def _words(buffer: Buffer, of: Bytes | None = None) -> Any:
    """The aligned words of a buffer's bytes, or of another array that has one byte for each of them."""
    data = buffer.data if of is None else of
    start = -buffer.address % 4
    return data[start : start + (len(data) - start) // 4 * 4].view(np.uint32)


def _never_written(buffer: Buffer) -> Any:
    """Which aligned words nobody has written."""
    found = _words(buffer) == PATTERN
    return found
