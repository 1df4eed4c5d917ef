"""Many variants at once: one process each, so that whatever one of them does, the others' results stand."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from warpwright import scratch
from warpwright.child import die_with_parent, import_path
from warpwright.errors import UserError, VocabularyError

__all__ = ["LIMIT_SECONDS", "Answer", "cores", "each"]

#: A socket's path has at most 107 characters, and multiprocessing adds /pymp-xxxxxxxx/listener-xxxxxxxx to this.
_LONGEST_FOLDER = 107 - 32
#: Where sockets lie when TMPDIR's path is longer than that: nothing else does, and they take no room.
_SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
LIMIT_SECONDS = 600.0  # a hang of the emulator itself: a kernel's own is caught by its instruction budget


@dataclass(frozen=True)
class Answer:
    """What one process returned: a value, or why there is none."""

    value: Any = None
    error: str = ""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Running:
    """A child at work on the folder `index`, `since` a time of the monotonic clock; `late`: it was ended for that."""

    index: int
    process: BaseProcess
    since: float
    late: bool = False


def each(
    work: Callable[[Path], Any],
    folders: Sequence[Path],
    jobs: int | None,
    on_step: Callable[[], None],
    limit: float = LIMIT_SECONDS,
) -> list[Answer]:
    """Call `work(folder)` for every folder in at most `jobs` processes; answers in the order of `folders`.

    `work` must be a function of a module. Whatever it raises is an answer's error; so is a process that dies, and one
    that takes more than `limit` seconds. No process outlives this one.
    """
    answers: dict[int, Answer] = {}
    waiting = list(enumerate(folders))
    running: dict[Connection, _Running] = {}
    with _own_imports(), _environment():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([f"{__package__}.server", f"{__package__}.harness", "numpy.random"])
        with _elsewhere():
            forkserver.ensure_running()
        try:
            while waiting or running:
                while waiting and len(running) < max(1, jobs or cores()):
                    index, folder = waiting.pop(0)
                    ours, theirs = context.Pipe(duplex=False)
                    process: BaseProcess = context.Process(target=_serve, args=(work, folder, theirs), daemon=True)
                    try:
                        process.start()
                    except (EOFError, OSError) as error:  # no memory for one, or their server has just died
                        answers[index] = Answer(error=f"no process could be started for it: {error or 'try again'}")
                        on_step()
                        continue
                    finally:
                        theirs.close()
                    running[ours] = _Running(index, process, time.monotonic())
                for pipe in _ready(running, limit):
                    child = running.pop(pipe)
                    answers[child.index] = _collect(pipe, child, limit)
                    on_step()
        finally:
            for child in running.values():
                child.process.kill()
    return [answers[index] for index in range(len(folders))]


def _ready(running: dict[Connection, _Running], limit: float) -> list[Connection]:
    """Wait a while; the pipes that have an answer, have ended, or whose time is over."""
    ready = [pipe for pipe in wait(list(running), timeout=min(1.0, limit)) if isinstance(pipe, Connection)]
    for pipe, child in running.items():
        if time.monotonic() - child.since > limit and pipe not in ready:
            child.late = True
            child.process.kill()
            ready.append(pipe)
    return ready


def _collect(pipe: Connection, child: _Running, limit: float) -> Answer:
    """The answer of a process, or how it ended without one."""
    try:
        answer = pipe.recv()
    except Exception:  # nothing came, or a part of something
        answer = None
    pipe.close()
    child.process.join()
    if isinstance(answer, Answer):
        return answer
    if child.late:
        return Answer(
            error=f"the emulation was not done after {limit:g} s and was ended: it hangs, or the host function does"
        )
    return Answer(error=_ending(child.process.exitcode or 0))


def _ending(code: int) -> str:
    """How a process ended that left no answer, by its exit code: below zero a signal."""
    if code >= 0:
        return f"the emulating process ended with exit code {code} and without an answer"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    killed = code == -signal.SIGKILL
    why = ": the machine ran out of memory, if nobody else did it; fewer at once (--jobs) take less" if killed else ""
    return f"the emulating process was ended by {name}{why}"


def _serve(work: Callable[[Path], Any], folder: Path, pipe: Connection) -> None:
    """The child: whatever happens to the work, there is an answer."""
    from warpwright.emulate.variant.server import SERVER

    die_with_parent(SERVER if os.getpid() != SERVER else None)
    with contextlib.suppress(OSError):  # where memory runs out, this goes first, and not whoever waits for it
        Path("/proc/self/oom_score_adj").write_text("900")
    try:
        answer = Answer(work(folder))
        pickle.dumps(answer)
    except BaseException as error:
        answer = Answer(error=_told(error))
    with contextlib.suppress(OSError):  # who asked is no more
        pipe.send(answer)


def _told(error: BaseException) -> str:
    """What a person should know of an error: its own words where it has been foreseen, else what and where."""
    from warpwright.emulate.machine.findings import EmulatorError
    from warpwright.emulate.ptx.syntax import PtxError

    if isinstance(error, EmulatorError | PtxError | UserError | VocabularyError):
        return str(error)
    if isinstance(error, MemoryError):
        return "the emulation ran out of memory; fewer at once (--jobs) take less"
    if isinstance(error, OSError) and error.filename is not None:
        return str(error)
    words = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno} ({frames[-1].name})" if frames else ""
    return f"a fault of the emulator, not of the kernel: {words}{where}"


@contextmanager
def _own_imports() -> Iterator[None]:
    """Start processes that import nothing from the current directory: they take over this one's import path."""
    before = list(sys.path)
    sys.path[:] = import_path()
    try:
        yield
    finally:
        sys.path[:] = before


@functools.cache
def _folder() -> str:
    """What the server is started in, and where it is reached, until this process ends."""
    return _made()


def _made() -> str:
    made = scratch.kept_folder("emulate")
    # After multiprocessing has removed its own folder below it, at -100.
    Finalize(None, shutil.rmtree, (made,), {"ignore_errors": True}, exitpriority=-101)
    return str(made)


@functools.cache
def _folder_for_sockets() -> str:
    """Like `_folder`, in a place with a short path. UserError where there is none."""
    place = tempfile.tempdir
    try:
        for short in _SHORT_FOLDERS:
            tempfile.tempdir = short
            with contextlib.suppress(OSError):
                return _made()
    finally:
        tempfile.tempdir = place
    raise UserError(
        f"TMPDIR is {tempfile.gettempdir()}, whose path is too long for a socket, and none could be made in "
        f"{', '.join(_SHORT_FOLDERS)}: choose one of at most {_LONGEST_FOLDER} characters"
    )


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Start the server in an empty folder, since before it is told an import path, it looks where it is.

    The folder of its sockets is made below it, and so found again where this process is killed.
    """
    here, place, own = Path.cwd(), tempfile.tempdir, _folder()
    if len(own) <= _LONGEST_FOLDER:
        tempfile.tempdir = own
    elif len(tempfile.gettempdir()) > _LONGEST_FOLDER:
        tempfile.tempdir = _folder_for_sockets()
    os.chdir(own)
    try:
        yield
    finally:
        os.chdir(here)
        tempfile.tempdir = place


@contextmanager
def _environment() -> Iterator[None]:
    """What the processes that start now are to find: numpy's BLAS keeps to one thread, since every core has a variant
    of its own, and the server looks for what it imports where this process does, and nowhere else."""
    own = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    own["PYTHONPATH"] = os.pathsep.join(sys.path)
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
