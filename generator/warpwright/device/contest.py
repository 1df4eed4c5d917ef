"""Timing in the child process: all contestants of one problem, its peers among them, interleaved in rounds.

Every timed launch finds a cold L2 (256 MB are written in between) and a GPU that is still busy when it is enqueued, so
that the events around it measure the kernel and not the queue. A peer, the vendor's say, takes part twice: the
difference between its two medians is the noise, and anything within it is a tie.
"""

from __future__ import annotations

import contextlib
import functools
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend, Timer
from warpwright.device.call import CallError
from warpwright.device.lock import shared_with
from warpwright.device.problem import Problem
from warpwright.device.subject import DeviceLostError, LaunchRefusedError, Subject, load_subject
from warpwright.device.variant import load_variant
from warpwright.families.running import Peer
from warpwright.plan.types import Argument

__all__ = ["peer_contestant", "run_contest"]

#: What the names of all peers begin with.
_PEER = "beside: "
_WARM_UP = 3
#: Shorter kernels are not launched back to back: the host would not keep up.
_HOST_BOUND_US = 50.0
#: Launches in the queue at once. More than the driver's queue holds would wait in `launch`, for another one's end.
_QUEUED = 32
#: Seconds that peers may take to be made ready, for which torch.compile may need minutes; after which a person is told;
#: between signs of life.
PREPARE_SECONDS, NOTICE_SECONDS = 600.0, 10.0
_BEAT_SECONDS = 0.5


@dataclass
class _Contestant:
    name: str
    launch: Callable[[], object]
    cold_us: list[float]
    sustained_us: list[float]
    again: bool = False  # a peer's second part, of which the cold launches alone count


def peer_contestant(kind: str, number: int, part: int) -> str:
    """Name a part (1 or 2) of a peer: of plans whose `peer_key` is `kind`, the number that its results have."""
    return f"{_PEER}{kind}, {number}.{part}"


def run_contest(
    backend: Backend, request: Mapping[str, Any], tell: Callable[[dict[str, Any]], None], unheld: str = ""
) -> bool:
    """Time the variants of request["folders"] on request["problem"] and tell `measured`.

    Its `shared` says in words why others may have been on the device meanwhile: `unheld`, and whom one sees there.

    Every launch is told ahead of it and ahead of the wait for it: a silence is about one launch, of the contestant that
    the last beat names. Raises LaunchRefusedError or DeviceLostError.
    """

    def beat(name: str, doing: str, idle: bool = False) -> None:
        tell({"event": "beat", "who": name, "doing": f"{doing}, {name}", "idle": idle})

    sizes = tuple((mode.upper(), extent) for mode, extent in request["problem"].items())
    operands = _Operands(backend, Problem("bench", sizes), request["seed"])
    timer = backend.timer()
    contestants: list[_Contestant] = []
    peers: dict[str, list[str]] = {}
    for folder in request["folders"]:
        variant = load_variant(Path(folder))
        beat(variant.name, "loading")
        subject = load_subject(backend, variant)
        beat(variant.name, "making operands", idle=True)
        contestants.append(_Contestant(variant.name, operands.launch(subject), [], []))
        kind = subject.workload.peer_key(subject.plan)
        if kind not in peers:
            with _telling(functools.partial(beat, peer_contestant(kind, 0, 1), "preparing", True), tell):
                found = _in_order(backend.peers(subject.plan, operands.given(subject)))
            peers[kind] = [peer.name if peer else "" for peer in found]
            for number, peer in ((number, peer) for number, peer in enumerate(found) if peer):
                names = [peer_contestant(kind, number, part) for part in (1, 2)]
                contestants += [_Contestant(names[i], peer.launch, [], [], again=i > 0) for i in range(2)]
    for contestant in contestants:
        for number in range(_WARM_UP):
            beat(contestant.name, f"warm-up {number}")
            _run(contestant.launch)
            _wait(backend)
    shuffled, seen = random.Random(request["seed"]), backend.others()
    for number in range(request["rounds"]):
        order = shuffled.sample(contestants, len(contestants))
        for first in range(0, len(order), _QUEUED):
            _time_cold(order[first : first + _QUEUED], timer, f"round {number}", beat)
    loads = _sustain(backend, request, contestants, shuffled, timer, beat)
    seen = max(seen, backend.others())
    measured = [
        {"name": c.name, "cold_us": _rounded(c.cold_us), "sustained_us": _rounded(c.sustained_us)} for c in contestants
    ]
    shared = shared_with(unheld, seen)
    tell({"event": "measured", "contestants": measured, "peers": peers, "clocks": loads, "shared": shared})
    tell({"event": "done"})
    return True


@contextlib.contextmanager
def _telling(beat: Callable[[], None], tell: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Give signs of life while peers are made ready, which give none, for at most PREPARE_SECONDS."""
    over = threading.Event()

    def go() -> None:
        begun, told = time.monotonic(), False
        while (gone := time.monotonic() - begun) < PREPARE_SECONDS:
            if gone >= NOTICE_SECONDS and not told:
                tell({"event": "notice", "text": "what is timed beside is being compiled; that may take minutes"})
                told = True
            beat()
            if over.wait(_BEAT_SECONDS):
                return

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _in_order(peers: Sequence[Peer]) -> list[Peer | None]:
    """The first that does the same (None where none does), then the others."""
    first = next((peer for peer in peers if peer.same), None)
    return [first, *(peer for peer in peers if peer is not first)]


def _time_cold(order: Sequence[_Contestant], timer: Timer, doing: str, beat: Callable[[str, str], None]) -> None:
    """One launch of each, all enqueued before the first is waited for."""
    for contestant in order:
        beat(contestant.name, doing)
        timer.cold(contestant.launch)
    times = timer.collect(lambda index: beat(order[index].name, doing))
    for contestant, microseconds in zip(order, times, strict=True):
        contestant.cold_us.append(microseconds)


def _sustain(
    backend: Backend,
    request: Mapping[str, Any],
    contestants: list[_Contestant],
    shuffled: random.Random,
    timer: Timer,
    beat: Callable[[str, str], None],
) -> list[dict[str, float]]:
    """Back-to-back launches of each contestant, where the power limit sets the clock; reads the clocks meanwhile."""
    loads: list[dict[str, float]] = []
    for number in range(request["sustained_rounds"]):
        for contestant in shuffled.sample(contestants, len(contestants)):
            typical = sorted(contestant.cold_us)[len(contestant.cold_us) // 2]
            if contestant.again or typical < _HOST_BOUND_US:
                continue

            def waiting(_: int = 0, name: str = contestant.name, doing: str = f"sustained round {number}") -> None:
                beat(name, doing)

            waiting()
            count = max(3, int(request["sustained_seconds"] * 1e6 / typical))
            timer.sustained(contestant.launch, count)
            contestant.sustained_us += timer.collect(waiting)
            if contestant.name.startswith(_PEER) and len(loads) <= number:
                timer.sustained(contestant.launch, 3 * count)  # the GPU is busy while the clocks are read
                waiting()
                loads.append(backend.clocks())
                timer.collect(waiting)
    return loads


class _Operands:
    """Arguments for one problem, whose tensors all contestants share that agree on dtype and layout."""

    def __init__(self, backend: Backend, problem: Problem, seed: int) -> None:
        self.backend, self.problem, self.seed = backend, problem, seed
        self._tensors: dict[tuple[object, ...], Any] = {}

    def given(self, subject: Subject) -> dict[str, Any]:
        """All arguments of a variant by name but the grid limit, which follows from the device."""
        scalars = subject.workload.scalars(subject.plan, self.problem)
        return {a.name: self._tensor(subject, a) for a in subject.arguments()} | scalars

    def _tensor(self, subject: Subject, argument: Argument) -> Any:
        xp, workload = self.backend.xp, subject.workload
        key = (argument.name, argument.dtype, argument.shape, argument.contiguous)
        if key not in self._tensors:
            buffer = tensors.make_buffer(xp, argument, self.problem, aligned=True)
            if argument.role == "input":
                tensors.fill(
                    buffer, self.problem, lambda given: workload.inputs(xp, subject.plan, argument, given, self.seed)
                )
            self._tensors[key] = self.backend.tensor(buffer.view, argument.dtype)
        return self._tensors[key]

    def launch(self, subject: Subject) -> Callable[[], object]:
        """Bind the operands once, checked, so that the loop calls the kernel itself."""
        try:
            bound = subject.kernel.bind(**self.given(subject))
        except CallError as error:
            raise LaunchRefusedError(str(error)) from error
        function = subject.kernel.function
        return lambda: function(*bound)


def _run(launch: Callable[[], object]) -> None:
    try:
        launch()
    except Exception as error:
        raise LaunchRefusedError(f"{type(error).__name__}: {error}") from error


def _wait(backend: Backend) -> None:
    try:
        backend.synchronize()
    except Exception as error:
        raise DeviceLostError(f"{type(error).__name__}: {error}") from error


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 3) for value in values]
