"""Runs an instrumented twin on the device and tells what it wrote down, also where it never ends.

The kernel is launched with its notes in host memory and polled: what hangs is read while it hangs, and the process is
then over. What ends is compared with the reference and launched again with its notes in device memory, where they cost
nothing, for the stamps.
"""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.inputs import Inputs, along, shared_inputs
from warpwright.device.lock import shared_with
from warpwright.device.marks import NOTES, STAMPS, layout_of
from warpwright.device.memo import Store
from warpwright.device.problem import Problem, shared
from warpwright.device.subject import DeviceLostError, LaunchRefusedError, Subject, in_place, load_subject
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.tolerance import compare
from warpwright.device.variant import load_variant
from warpwright.families.running import Memo

__all__ = ["UNSET", "as_timed", "bound", "packed", "watch"]

#: What a word is that nobody has written: no clock, and no note.
UNSET = -1
#: Launches for the stamps, of which the last counts: the clocks have risen by then, and what is read lies in the L2.
_LAUNCHES = 4
_TIMED = 5
_POLL_SECONDS = 0.005
Tell = Callable[[dict[str, Any]], None]


def watch(backend: Backend, request: Mapping[str, Any], store: Store, tell: Tell, unheld: str = "") -> bool:
    """Run a twin on one problem and tell its marks; returns whether the context may serve another request.

    request: `folder` of the twin; `sizes` of the problem (mode, extent); `limit` in seconds for a launch; `seed`;
    `quiet`: the folder of a twin in which only what is stamped marks ("": the same twin is stamped); `plain`: that of
    the kernel without marks, to be timed beside it ("": it is not). `shared` of what is told says why others may have
    been on the device meanwhile: `unheld`, and whom one sees there.
    """
    tell({"event": "beat", "doing": "loading the twin"})
    subject = load_subject(backend, load_variant(Path(request["folder"])))
    sizes = tuple((str(mode), int(extent)) for mode, extent in request["sizes"])
    problem = Problem("x".join(str(extent) for _, extent in sizes), sizes)
    memo = store.within(subject.plan.family, request["seed"], problem)
    sample = subject.workload.sample(subject.plan, problem)
    inputs = shared_inputs(backend, subject, problem, request["seed"], sample, memo)
    same = shared(subject.arguments(), problem)
    outputs = {a.name: tensors.make_buffer(backend.xp, a, problem, aligned=True) for a in subject.arguments("output")}
    aligned = {name: as_timed(backend, buffer, problem) for name, buffer in inputs.buffers.items()}
    given = {**aligned, **outputs, **in_place(same, inputs.buffers, outputs)}
    of = layout_of(subject.plan)
    notes, noted = backend.mapped(of.note_words, UNSET)
    stamps = backend.words(of.stamp_words, UNSET)
    tell({"event": "beat", "doing": f"problem {problem.name}, watched launch"})
    try:
        ended = _launch(backend, subject, problem, given, {NOTES: notes, STAMPS: stamps}, request["limit"])
    except DeviceLostError:
        tell(_marks(noted, False))  # host memory outlives the context
        raise
    marks = _marks(noted, ended)
    if not ended:
        tell(marks)
        doing = f"problem {problem.name}: the launch of the twin has not ended after {request['limit']:g} s"
        tell({"event": "failed", "status": "hang", "diagnosis": doing})
        return False
    tell({"event": "beat", "doing": f"problem {problem.name}, comparing", "idle": True})
    right = _right(backend, subject, problem, inputs, outputs, memo)
    stamping = load_subject(backend, load_variant(Path(request["quiet"]))) if request.get("quiet") else subject
    cheap, seen = backend.words(layout_of(stamping.plan).note_words, UNSET), backend.others()
    for _ in range(_LAUNCHES):
        tell({"event": "beat", "doing": f"problem {problem.name}, stamped launch"})
        stamps.fill_(UNSET)
        if not _launch(backend, stamping, problem, given, {NOTES: cheap, STAMPS: stamps}, request["limit"]):
            tell({"event": "failed", "status": "hang", "diagnosis": "a later launch of the twin has not ended"})
            return False
    found = stamps.cpu().numpy().copy()
    took = {"microseconds": _time(backend, stamping, problem, given, {NOTES: cheap, STAMPS: stamps})}
    if request.get("plain"):
        plain = load_subject(backend, load_variant(Path(request["plain"])))
        took["plain_microseconds"] = _time(backend, plain, problem, given, {})
    others = shared_with(unheld, max(seen, backend.others()))
    tell({**marks, "right": right, "stamps": packed(found), **took, "shared": others})
    tell({"event": "done"})
    return right


def as_timed(backend: Backend, buffer: GuardedBuffer, problem: Problem) -> GuardedBuffer:
    """Return an input where `bench` has it: those that are checked lie on 16 bytes and no more, which costs a load of
    TMA up to half its speed."""
    found = tensors.make_buffer(backend.xp, buffer.argument, problem, aligned=True)
    found.view[...] = buffer.view
    return found


def _marks(noted: Any, ended: bool) -> dict[str, Any]:
    return {"event": "marks", "notes": packed(noted), "ended": ended, "right": False, "stamps": ""}


def packed(words: Any) -> str:
    """Words as text of one line."""
    return base64.b64encode(zlib.compress(words.tobytes(), 1)).decode("ascii")


def _time(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    buffers: Mapping[str, GuardedBuffer],
    marks: Mapping[str, Any],
) -> float:
    """Microseconds of a launch with a cold L2, the median of a few."""
    timer = backend.timer()
    given = bound(backend, subject, problem, buffers, marks)
    for _ in range(_TIMED):
        timer.cold(lambda: subject.kernel(**given))
    return round(median(timer.collect(lambda _: None)), 1)


def bound(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    buffers: Mapping[str, GuardedBuffer],
    marks: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what the kernel is called with, by name: tensors, those of the marks, and scalars."""
    given = {name: backend.tensor(b.view, b.argument.dtype) for name, b in buffers.items()} | dict(marks)
    return given | subject.workload.scalars(subject.plan, problem)


def _launch(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    buffers: Mapping[str, GuardedBuffer],
    marks: Mapping[str, Any],
    limit: float,
) -> bool:
    """Launch once; whether it ended within `limit` seconds. Raises LaunchRefusedError, DeviceLostError."""
    given = bound(backend, subject, problem, buffers, marks)
    try:
        subject.kernel(**given)
    except Exception as error:
        raise LaunchRefusedError(f"{problem.name}: {type(error).__name__}: {error}") from error
    began = time.monotonic()
    try:
        while not backend.ended():
            if time.monotonic() - began > limit:
                return False
            time.sleep(_POLL_SECONDS)
    except Exception as error:
        raise DeviceLostError(f"{problem.name}: {type(error).__name__}: {error}") from error
    return True


def _right(
    backend: Backend,
    subject: Subject,
    problem: Problem,
    inputs: Inputs,
    outputs: Mapping[str, GuardedBuffer],
    memo: Memo,
) -> bool:
    """Whether the outputs are within their bounds."""
    xp, right = backend.xp, True
    expected = subject.workload.expected(xp, subject.plan, problem, inputs.stored, memo)
    for name, buffer in outputs.items():
        got = xp.decode(along(xp, buffer.argument, buffer.view, inputs.sample), buffer.argument.dtype)
        found = compare(xp, got, expected[name].values, expected[name].error, buffer.argument.dtype)
        right = right and not found.wrong
    return right
