"""Many variants at once: one process each, so that whatever one of them does, the others' results stand."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from warpwright.child import import_path

__all__ = ["Answer", "cores", "each"]

_LIMIT_SECONDS = 600.0  # a hang of the emulator itself: a kernel's own is caught by its instruction budget


@dataclass(frozen=True)
class Answer:
    """What one process returned: a value, or why there is none."""

    value: Any = None
    error: str = ""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(
    work: Callable[[Path], Any], folders: Sequence[Path], jobs: int | None, on_step: Callable[[], None]
) -> list[Answer]:
    """Call `work(folder)` for every folder in at most `jobs` processes; answers in the order of `folders`.

    `work` must be a function of a module. What it raises as a ValueError or EmulatorError is an answer's error; so is
    a process that dies or takes ten minutes.
    """
    answers: dict[int, Answer] = {}
    waiting = list(enumerate(folders))
    running: dict[Connection, tuple[int, BaseProcess, float]] = {}
    with _one_thread(), _own_imports():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["warpwright.emulate.variant.harness", "numpy.random"])
        with _elsewhere():
            forkserver.ensure_running()
        try:
            while waiting or running:
                while waiting and len(running) < max(1, jobs or cores()):
                    index, folder = waiting.pop(0)
                    ours, theirs = context.Pipe(duplex=False)
                    process: BaseProcess = context.Process(target=_serve, args=(work, folder, theirs), daemon=True)
                    process.start()
                    theirs.close()
                    running[ours] = index, process, time.monotonic()
                for pipe in _ready(running):
                    index, process, _ = running.pop(pipe)
                    answers[index] = _collect(pipe, process)
                    on_step()
        finally:
            for _, process, _ in running.values():
                process.kill()
    return [answers[index] for index in range(len(folders))]


def _ready(running: dict[Connection, tuple[int, BaseProcess, float]]) -> list[Connection]:
    """Wait a while; the pipes that have an answer, have ended, or whose time is over."""
    ready = [pipe for pipe in wait(list(running), timeout=1.0) if isinstance(pipe, Connection)]
    for pipe, (_, process, since) in running.items():
        if time.monotonic() - since > _LIMIT_SECONDS and pipe not in ready:
            process.kill()
            ready.append(pipe)
    return ready


def _collect(pipe: Connection, process: BaseProcess) -> Answer:
    try:
        answer = pipe.recv()
    except (EOFError, OSError):
        process.join()
        answer = Answer(error=f"the emulating process ended with code {process.exitcode}")
    pipe.close()
    process.join()
    assert isinstance(answer, Answer)
    return answer


def _serve(work: Callable[[Path], Any], folder: Path, pipe: Connection) -> None:
    from warpwright.emulate.machine.findings import EmulatorError

    try:
        pipe.send(Answer(work(folder)))
    except (EmulatorError, ValueError) as error:
        pipe.send(Answer(error=str(error)))


@contextmanager
def _own_imports() -> Iterator[None]:
    """Start processes that import nothing from the current directory: they take over this one's import path."""
    before = list(sys.path)
    sys.path[:] = import_path()
    try:
        yield
    finally:
        sys.path[:] = before


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Start the server in an empty folder, since before it is told an import path, it looks where it is."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="warpwright-") as empty:
        os.chdir(empty)
        try:
            yield
        finally:
            os.chdir(here)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep numpy's BLAS to one thread in the processes that start now: every core has a variant of its own."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
