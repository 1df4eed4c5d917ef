"""The child process that touches the device: it takes requests on stdin and tells each step on stdout, as JSON lines.

A kernel that hangs or kills the context takes this process with it and nothing else; its parent
(device/supervise.py) watches the steps and starts another. It serves several variants in a row, since
starting torch takes seconds, and ends after the first that is not correct: no later result can then be due to it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from math import prod
from pathlib import Path
from typing import Any

from warpwright.child import die_with_parent
from warpwright.device.backend import Backend, NoDeviceError, make_backend
from warpwright.device.cases import read_case
from warpwright.device.check import check_problem
from warpwright.device.check_case import check_case
from warpwright.device.contest import run_contest
from warpwright.device.contrast import KIND
from warpwright.device.coverage import asked_problems
from warpwright.device.launch import HostError
from warpwright.device.lock import holding
from warpwright.device.memo import Store
from warpwright.device.problem import Problem, shape_of
from warpwright.device.subject import DeviceLostError, LaunchRefusedError, Subject, load_subject
from warpwright.device.two_streams import run_two_streams
from warpwright.device.variant import load_variant
from warpwright.device.watch import watch

__all__ = ["main", "select_problems"]

#: Words of CUDA errors that no kernel causes: of the device, and of a driver that is too old for the kernel's binary.
_OF_THE_HOST = (
    "out of memory", "busy or unavailable", "uncorrectable ECC error", "no longer available", "GPU is lost",
    "no kernel image is available", "NoKernelImageForDevice", "NO_BINARY_FOR_GPU", "driver version is insufficient",
)  # fmt: skip
Tell = Callable[[dict[str, Any]], None]


def main(arguments: list[str]) -> int:
    """Serve requests until stdin ends; `arguments`: the backend's `module:callable`, and import folders."""
    # Libraries may print: what they write to stdout goes to stderr, and the protocol has a descriptor of its own.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    faulthandler.enable()

    def tell(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event) + "\n")
        channel.flush()

    sys.path += arguments[1:]
    try:
        backend = make_backend(arguments[0])
        store = Store(budget=backend.free_bytes() // 4)
        device = backend.describe()
    except NoDeviceError as error:
        tell({"event": "unusable", "message": str(error)})
        return 1
    except Exception as error:
        tell({"event": "unusable", "message": f"{type(error).__name__}: {error}"})
        return 1
    tell({"event": "ready", "device": device})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            finished = _serve(backend, request, store, tell)
        except Exception as error:
            finished = _explain(error, tell)
        if not finished:
            return 1
    return 0


def _serve(backend: Backend, request: Mapping[str, Any], store: Store, tell: Tell) -> bool:
    """Do what is asked for, with the device's lock; returns whether the context may serve another request."""
    timed = request["do"] in ("bench", KIND)
    alone = timed or bool(request.get("plain"))  # what is watched is timed where the kernel is beside it
    waiting = False

    def on_wait(seconds: float) -> None:
        nonlocal waiting
        if not waiting:
            limit = f"at most {request['wait']:g} s"
            tell({"event": "notice", "text": f"another process of warpwright is on this GPU; waiting for it, {limit}"})
        waiting = True
        tell({"event": "beat", "doing": "waiting for another process", "idle": True})

    with holding(backend.key(), alone, request["wait"], on_wait) as unheld:
        if timed:
            store.clear()
            return (run_two_streams if request["do"] == KIND else run_contest)(backend, request, tell, unheld)
        if request["do"] == "watch":
            return watch(backend, request, store, tell, unheld)
        return (
            _validate(backend, request, store, tell)
            if request["do"] == "validate"
            else _compare(backend, request, tell)
        )


def select_problems(subject: Subject, request: Mapping[str, Any]) -> list[Problem]:
    """Return a request's problems, `standard` or a list of extents; `names` (globs) and `max_elements` keep some."""
    asked = request["problems"]
    problems = asked_problems(subject.plan, asked)
    most = request.get("max_elements")

    def largest(problem: Problem) -> int:
        return max(prod(shape_of(argument, problem.extents)) for argument in subject.arguments())

    return [
        problem
        for problem in problems
        if any(fnmatchcase(problem.name, glob) for glob in request.get("names", ["*"]))
        and (most is None or largest(problem) <= most)
    ]


def _validate(backend: Backend, request: Mapping[str, Any], store: Store, tell: Tell) -> bool:
    """Check one variant on every problem; returns whether the context may serve another variant."""
    tell({"event": "beat", "doing": "loading"})
    subject = load_subject(backend, load_variant(Path(request["folder"])))
    right = True
    for problem in select_problems(subject, request):

        def beat(repeat: int | None, name: str = problem.name) -> None:
            doing = "computing the reference" if repeat is None else f"launch {repeat}"
            tell({"event": "beat", "doing": f"problem {name}, {doing}", "idle": repeat is None})

        tell({"event": "beat", "doing": f"problem {problem.name}, preparing", "idle": True})
        try:
            figures = check_problem(backend, subject, problem, request["repeats"], request["seed"], store, beat)
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryError":  # torch's, which is not imported here
                raise
            figures = {**problem.figures(), "status": "skipped", "faults": ["the device's memory does not hold it"]}
        right = right and figures["status"] != "incorrect"
        tell({"event": "problem", "figures": figures})
    tell({"event": "done"})
    return right


def _compare(backend: Backend, request: Mapping[str, Any], tell: Tell) -> bool:
    """Run one variant on the emulator's cases; returns whether the context may serve another variant."""
    tell({"event": "beat", "doing": "loading"})
    subject = load_subject(backend, load_variant(Path(request["folder"])))
    right = True
    for path in request["cases"]:
        case = read_case(Path(path))
        tell({"event": "beat", "doing": f"case {case.problem.name}"})
        figures = check_case(backend, subject, case)
        right = right and figures["status"] != "incorrect"
        tell({"event": "problem", "figures": figures})
    tell({"event": "done"})
    return right


def _explain(error: Exception, tell: Tell) -> bool:
    """Tell why a request ended early; the context is lost in any case."""
    text = str(error)
    if isinstance(error, HostError) or any(words in text for words in _OF_THE_HOST):
        tell({"event": "broken", "message": text})
    elif isinstance(error, LaunchRefusedError):
        tell({"event": "failed", "status": "launch_failed", "diagnosis": text})
    elif isinstance(error, DeviceLostError) or "CUDA error" in text:
        tell({"event": "failed", "status": "crash", "diagnosis": text})
    else:
        tell({"event": "broken", "message": f"{type(error).__name__}: {text}"})
    return False


if __name__ == "__main__":
    die_with_parent()  # a kernel that hangs would stay on the GPU for ever
    code = main(sys.argv[1:])
    sys.stderr.flush()
    # Not through atexit: with a lost context, the libraries' own cleaning up can hang.
    os._exit(code)
