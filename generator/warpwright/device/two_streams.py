"""The same work as two kernels, in the child process: one makes what the other reads, chunk by chunk.

What a ring of stages is within a kernel, two buffers of a chunk are between two: the maker fills one while the reader
reads the other, and events say when one is full and when it is empty. Beside that, all is done on one stream, and the
reader alone reads what was made before, in one launch and in as many as there are chunks. Every way is first run on
poisoned buffers: its result must be, bit by bit, that of the reader alone, which is held against the reference.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.call import CallError
from warpwright.device.inputs import along
from warpwright.device.lock import shared_with
from warpwright.device.memo import fresh
from warpwright.device.problem import Problem, shape_of
from warpwright.device.subject import DeviceLostError, LaunchRefusedError, Subject, load_subject
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.tolerance import compare, number
from warpwright.device.variant import load_variant
from warpwright.plan.types import Argument

__all__ = ["BUFFERS", "MAKER", "NARROW", "ONE", "READER", "TWO", "chunk_length", "run_two_streams"]

#: The ways: the maker alone, the reader alone, one after the other, side by side, and so with a narrow maker: of as
#: many CTAs as the reader has, of which one fits beside each of the reader's, where all of them would fill the SMs.
MAKER, READER, ONE, TWO, NARROW = "maker", "reader", "one stream", "two streams", "two streams, narrow maker"
#: Of a chunk each, between maker and reader.
BUFFERS = 2
_WARM_UP = 2
Launch = Callable[[], object]
NONE: Mapping[str, int] = {}


@dataclass
class _Way:
    """One way to do the work, with what it took: on the device, and to enqueue."""

    name: str
    chunks: int
    launches: int
    run: Launch
    between: Sequence[GuardedBuffer] = ()  # what the maker writes
    us: list[float] = field(default_factory=list)
    host_us: list[float] = field(default_factory=list)

    def timed(self) -> None:
        started = time.perf_counter()
        self.run()
        self.host_us.append((time.perf_counter() - started) * 1e6)


def chunk_length(length: int, unit: int, chunks: int) -> int:
    """The length of each of so many chunks at most, but of the last: a multiple of the unit."""
    return -(-length // chunks // unit) * unit


def run_two_streams(
    backend: Backend, request: Mapping[str, Any], tell: Callable[[dict[str, Any]], None], unheld: str = ""
) -> bool:
    """Check all ways of request["problem"], time them where all are right, and tell `measured`.

    Of the request: `maker` and `reader` are folders; `argument` of the reader is what the maker's output becomes, cut
    along `mode` into chunks of multiples of `unit`; `chunks` are the numbers of them to be tried; `scalars` are the
    maker's. Raises LaunchRefusedError or DeviceLostError.
    """

    def beat(name: str, doing: str, idle: bool = False) -> None:
        tell({"event": "beat", "who": name, "doing": f"{doing}, {name}", "idle": idle})

    maker, reader = (load_subject(backend, load_variant(Path(request[who]))) for who in ("maker", "reader"))
    beat(reader.variant.name, "making operands", idle=True)
    pair = _Pair(backend, maker, reader, request)
    beat(f"{maker.variant.name} and {reader.variant.name}", "first launches")
    checked, faults = pair.check_alone()
    ways = pair.ways(request["chunks"])
    for way in ways if not faults else ():
        beat(f"{way.name} of {way.chunks}", "check")
        faults += pair.check(way)
        if faults:
            break
    if faults:
        tell({"event": "measured", "checked": {**checked, "faults": faults}, "ways": [], "shared": ""})
        tell({"event": "done"})
        return True
    shuffled, seen, timer = random.Random(request["seed"]), backend.others(), backend.timer()
    for turn in range(-_WARM_UP, request["rounds"]):
        for way in shuffled.sample(ways, len(ways)):
            who, doing = f"{way.name} of {way.chunks}", f"round {turn}"
            beat(who, doing)
            timer.cold(way.timed, way.launches)
            way.us += timer.collect(functools.partial(_waiting, beat, who, doing))
    seen = max(seen, backend.others())
    told = [
        {
            "way": way.name,
            "chunks": way.chunks,
            "us": [round(each, 3) for each in way.us[_WARM_UP:]],
            "host_us": [round(each, 3) for each in way.host_us[-request["rounds"] :]],
        }
        for way in ways
    ]
    shared = shared_with(unheld, seen)
    tell({"event": "measured", "checked": {**checked, "faults": []}, "ways": told, "shared": shared})
    tell({"event": "done"})
    return True


def _waiting(beat: Callable[[str, str], None], who: str, doing: str, index: int) -> None:
    beat(who, doing)


class _Pair:
    """Maker and reader with all their operands, on one problem of the reader."""

    def __init__(self, backend: Backend, maker: Subject, reader: Subject, request: Mapping[str, Any]) -> None:
        self.backend, self.xp, self.maker, self.reader = backend, backend.xp, maker, reader
        self.mode, self.unit, self.scalars = request["mode"], request["unit"], request["scalars"]
        sizes = tuple((mode.upper(), extent) for mode, extent in request["problem"].items())
        self.problem = Problem("two streams", sizes)
        (self.source,), (self.made,) = maker.arguments("input"), maker.arguments("output")
        (self.fed,) = (each for each in reader.arguments("input") if each.name == request["argument"])
        extents = self.problem.extents
        self.length, self.inner = extents[self.mode], prod(shape_of(self.fed, {**extents, self.mode: 1}))
        at = self.fed.shape.index(self.mode)
        outer = prod(shape_of(self.fed, extents)[:at])
        if outer != 1 or tensors.layout(self.fed, extents)[at] != self.inner:
            why = f"{self.fed.name} is not one dense piece per {self.mode}, of one batch and rows without padding"
            raise LaunchRefusedError(f"{why}: it cannot be made in pieces; take other extents")
        self.input = self._filled(maker, self.source, self._flat(self.length), request["seed"])
        self.operands = {
            each.name: self._filled(reader, each, self.problem, request["seed"])
            for each in reader.arguments("input")
            if each is not self.fed
        }
        (self.output,) = reader.arguments("output")
        self.result = tensors.make_buffer(self.xp, self.output, self.problem, aligned=True)
        self.whole = self._buffer(self.length)

    def _flat(self, length: int) -> Problem:
        """The maker's problem of so much of the mode that is cut."""
        (mode,) = self.made.shape
        return Problem("made", ((mode, length * self.inner),))

    def _filled(self, subject: Subject, argument: Argument, problem: Problem, seed: int) -> GuardedBuffer:
        buffer = tensors.make_buffer(self.xp, argument, problem, aligned=True)
        draw = lambda given: subject.workload.inputs(self.xp, subject.plan, argument, given, seed)  # noqa: E731
        tensors.fill(buffer, problem, draw)
        return buffer

    def _buffer(self, length: int) -> GuardedBuffer:
        return tensors.make_buffer(self.xp, self.made, self._flat(length), aligned=True)

    def _cut(self, chunks: int) -> list[slice]:
        """Of the mode: so many chunks at most."""
        length = chunk_length(self.length, self.unit, chunks)
        return [slice(at, min(at + length, self.length)) for at in range(0, self.length, length)]

    def make(self, part: slice, into: GuardedBuffer, narrow: bool = False) -> Launch:
        """The maker's launch for a part of the mode, bound once; `narrow`: of no more CTAs than the reader has."""
        given = {
            self.source.name: self.input.view[part.start * self.inner : part.stop * self.inner],
            self.made.name: into.view[: (part.stop - part.start) * self.inner],
        }
        limits = [argument.name for argument in self.maker.plan.arguments if argument.role == "grid_limit"]
        ctas = self.reader.kernel.grid_limit * prod(self.reader.plan.main.cluster)
        few = min(self.maker.kernel.grid_limit, ctas)
        return self._bound(self.maker, given, self.scalars, dict.fromkeys(limits, few) if narrow else {})

    def read(self, part: slice, whence: GuardedBuffer, start: int = 0) -> Launch:
        """The reader's launch for a part, which lies in `whence` from `start` on, in units of the mode."""
        given = {self.fed.name: self._as_fed(whence, start, part.stop - part.start)}
        for name, buffer in (*self.operands.items(), (self.output.name, self.result)):
            modes = buffer.argument.shape
            cut = (slice(None),) * modes.index(self.mode) + (part,) if self.mode in modes else ()
            given[name] = buffer.view[cut] if cut else buffer.view
        return self._bound(self.reader, given, self.reader.workload.scalars(self.reader.plan, self.problem))

    def _as_fed(self, made: GuardedBuffer, start: int, length: int) -> Any:
        """What was made, from `start` on, as the tensor that the reader takes: so much of the mode."""
        extents = {**self.problem.extents, self.mode: length}
        shape, strides = shape_of(self.fed, extents), tensors.layout(self.fed, extents)
        return self.xp.strided(made.raw, made.start + start * self.inner, shape, strides)

    def _bound(
        self, subject: Subject, given: Mapping[str, Any], scalars: Mapping[str, float], limits: Mapping[str, int] = NONE
    ) -> Launch:
        dtypes = {argument.name: argument.dtype for argument in subject.arguments()}
        try:
            bound = subject.kernel.bind(
                **{name: self.backend.tensor(bits, dtypes[name]) for name, bits in given.items()},
                **{**scalars, **limits},
            )
        except CallError as error:
            raise LaunchRefusedError(f"{subject.variant.name}: {error}") from error
        function = subject.kernel.function
        return lambda: function(*bound)

    def ways(self, numbers: Sequence[int]) -> list[_Way]:
        """Every way, of each number of chunks that the mode can be cut into."""
        everything = slice(0, self.length)
        found = [_Way(MAKER, 1, 1, self.make(everything, self.whole), [self.whole])]
        for chunks in sorted({len(self._cut(each)) for each in numbers} | {1}):
            parts = self._cut(chunks)
            ring = [self._buffer(parts[0].stop) for _ in parts[:BUFFERS]]
            turns = [(part, ring[turn % BUFFERS]) for turn, part in enumerate(parts)]
            pairs = [(self.make(*turn), self.read(*turn)) for turn in turns]
            narrow = [(self.make(*turn, narrow=True), self.read(*turn)) for turn in turns]
            alone = [self.read(part, self.whole, part.start) for part in parts]
            found += [
                _Way(READER, chunks, chunks, _in_turn(alone)),
                _Way(ONE, chunks, 2 * chunks, _in_turn([launch for pair in pairs for launch in pair]), ring),
                _Way(TWO, chunks, 2 * chunks, self._side_by_side(pairs), ring),
                _Way(NARROW, chunks, 2 * chunks, self._side_by_side(narrow), ring),
            ]
        return found

    def _side_by_side(self, pairs: Sequence[tuple[Launch, Launch]]) -> Launch:
        """Maker and reader on a stream each, with a ring of two buffers between them."""
        streams = self.backend.streams(2)

        def run() -> None:
            streams.fork()
            read: list[Any] = []
            for chunk, (make, take) in enumerate(pairs):
                if chunk >= BUFFERS:
                    streams.wait(0, read[chunk - BUFFERS])  # its buffer is empty again
                streams.wait(1, streams.launch(0, make))
                read.append(streams.launch(1, take))
            streams.join()

        return run

    def check_alone(self) -> tuple[dict[str, Any], list[str]]:
        """Run both kernels once, whole, and compare each with its reference; keep what the reader gives."""
        xp, everything = self.xp, slice(0, self.length)
        self._run(self.make(everything, self.whole))
        made = xp.encode(xp.decode(self.input.view, self.source.dtype), self.made.dtype)
        faults = [] if xp.same(made, self.whole.view) else ["what was made is not its input, rounded"]
        self._run(self.read(everything, self.whole))
        views = {name: (buffer.argument, buffer.view) for name, buffer in self.operands.items()}
        views[self.fed.name] = self.fed, self._as_fed(self.whole, 0, self.length)
        workload, plan = self.reader.workload, self.reader.plan
        sample = workload.sample(plan, self.problem)

        def stored(name: str) -> Any:
            argument, view = views[name]
            return xp.decode(along(xp, argument, view, sample), argument.dtype)

        expected = workload.expected(xp, plan, self.problem, stored, fresh)[self.output.name]
        got = xp.decode(along(xp, self.output, self.result.view, sample), self.output.dtype)
        agreement = compare(xp, got, expected.values, expected.error, self.output.dtype)
        if agreement.wrong:
            faults.append(f"{agreement.wrong} of {agreement.elements} elements are outside their bound")
        self.right = self.result.view + 0
        told = {"elements": agreement.elements, "ratio": number(agreement.ratio)}
        return told, faults

    def check(self, way: _Way) -> list[str]:
        """Run a way on a poisoned output; say what of it differs from what the reader alone gives."""
        for buffer in (self.result, *way.between):
            buffer.poison()
        self._run(way.run)
        if way.name == MAKER:
            self._run(self.read(slice(0, self.length), self.whole))
        who = f"{way.name} of {way.chunks}"
        if not self.xp.same(self.right, self.result.view):
            at = list(self.xp.first(self.right != self.result.view))
            return [f"{who}: {self.output.name}{at} is not what the reader alone gives"]
        beside = [each.argument.name for each in (self.result, *way.between) if each.trespasses(self.xp)]
        return [f"{who}: elements outside {name} were written" for name in beside]

    def _run(self, launch: Launch) -> None:
        try:
            launch()
        except Exception as error:
            raise LaunchRefusedError(f"{type(error).__name__}: {error}") from error
        try:
            self.backend.synchronize()
        except Exception as error:
            raise DeviceLostError(f"{type(error).__name__}: {error}") from error


def _in_turn(launches: Sequence[Launch]) -> Launch:
    def run() -> None:
        for launch in launches:
            launch()

    return run
