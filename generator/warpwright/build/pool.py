"""The parent's side of the build service: hands out work, bounds it in time, and survives whatever a compile does."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from warpwright import scratch
from warpwright.build.artifact import COMPILED_FILES, Failure
from warpwright.build.compile import MACHINE, OPTIONS
from warpwright.build.toolchain import ToolchainError
from warpwright.build.trouble import has_room, of_the_kernel, words_of_the_machine
from warpwright.child import child_command

__all__ = ["Compiled", "Pool", "Task"]

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_SHORTEST_LULL_SECONDS = 1.0
_PATIENCE_SECONDS = 5.0  # for a service to go once its input has ended


@dataclass(frozen=True)
class Task:
    """One source to compile; `plan` is the plan's canonical JSON text, `options` are those of cute.compile."""

    key: str
    source: str
    plan: str
    options: str = OPTIONS


@dataclass(frozen=True)
class Compiled:
    """What became of a task: files and facts of the kernel, or a failure. `log` is what the compiler printed."""

    key: str
    log: str
    files: Mapping[str, bytes]
    facts: Mapping[str, Any]
    failure: Failure | None


def _environment(arch: str, folder: Path) -> dict[str, str]:
    """The service's environment: without the caller's DSL switches, which would change the result unseen."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUTE_DSL_")}
    env["TMPDIR"] = str(folder)  # what the compiler and its tools leave goes with it
    env["CUTE_DSL_ARCH"] = arch  # the DSL reads it once, at its first import
    env["PYTHONHASHSEED"] = "0"
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["NO_COLOR"] = "1"
    env.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")  # a compile fills 200 MB: fewer faults, 5 % less time
    return env


class Pool:
    """A build service for one arch, and at most `workers` compiles at a time. Use as a context manager.

    Leaving the context, by an exception or Ctrl-C too, ends the service and everything that it started. The service
    runs in a session of its own, so that a terminal's Ctrl-C reaches only this process.
    """

    def __init__(self, arch: str, workers: int, timeout: float) -> None:
        self._arch, self._workers, self._timeout = arch, workers, timeout
        self._service: subprocess.Popen[bytes] | None = None
        self._received = b""
        self._lull = _SHORTEST_LULL_SECONDS  # twice the slowest compile so far

    def __enter__(self) -> Pool:
        self._scratch = scratch.folder("build")
        self._folder = Path(self._scratch.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        with contextlib.suppress(OSError):
            self._scratch.cleanup()

    def run(self, tasks: list[Task]) -> Iterator[Compiled | None]:
        """Yield the outcome of each task as it ends, in any order, and None when nothing has ended for a while.

        A while is twice the slowest compile so far: what still runs then may hang.

        Raises ToolchainError where the service cannot start at all.
        """
        waiting, running = list(enumerate(tasks)), dict[int, Task]()
        again = set[int]()
        while waiting or running:
            service = self._service or self._start()
            self._fill(service, waiting, running)
            answer = self._answer(service, self._lull)
            if answer == {}:
                yield None
                continue
            if answer is None:  # the service died (out of memory, say): only what was running is lost
                self._stop()
                lost, running = running, {}
                for number, task in lost.items():
                    yield self._collect(number, task, {"end": "lost", "code": 0})
                continue
            number, task = answer["id"], running.pop(answer["id"])
            done = self._collect(number, task, answer)
            if done.failure and done.failure.final and number not in again:  # a verdict must repeat
                again.add(number)
                waiting.append((number, task))
                continue
            if done.failure is None:
                self._lull = max(self._lull, 2 * done.facts["seconds"])
            self._fill(service, waiting, running)  # first, as the caller may take its time over what it gets
            yield done

    def _fill(
        self, service: subprocess.Popen[bytes], waiting: list[tuple[int, Task]], running: dict[int, Task]
    ) -> None:
        """Hand out work until every worker has some; a dead service is left for the next answer to find.

        What cannot be written down for the service is handed out all the same: it ends without a reason.
        """
        while waiting and len(running) < self._workers:
            number, task = waiting.pop(0)
            running[number] = task
            with contextlib.suppress(BrokenPipeError):
                self._send(service, number, task)

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._folder / "service.log").open("w") as log:
            service = subprocess.Popen(
                child_command("warpwright.build.worker", str(self._folder)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                env=_environment(self._arch, self._folder),
                start_new_session=True,
            )
        self._service, self._received = service, b""
        if self._answer(service) is None:
            self._stop()
            lines = (self._folder / "service.log").read_text(errors="replace").strip().splitlines()
            raise ToolchainError(
                f"the build service did not start: {lines[-1] if lines else 'it left no message'}; check that"
                f" `{sys.executable} -c 'import cutlass.cute'` works"
            )
        return service

    def _stop(self) -> None:
        service, self._service = self._service, None
        if service is None:
            return
        if service.stdin:
            with contextlib.suppress(BrokenPipeError):
                service.stdin.close()  # the service ends its children, then itself
        try:
            service.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            service.kill()  # its children die with it, by PR_SET_PDEATHSIG
            service.wait()
        if service.stdout:
            service.stdout.close()

    def _answer(self, service: subprocess.Popen[bytes], wait: float | None = None) -> dict[str, Any] | None:
        """Return the next answer, {} where none came within `wait` seconds, None where the service has gone."""
        assert service.stdout
        while b"\n" not in self._received:
            if wait is not None and not select.select([service.stdout], [], [], wait)[0]:
                return {}
            chunk = os.read(service.stdout.fileno(), 1 << 16)
            if not chunk:
                return None
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _job_folder(self, number: int) -> Path:
        return self._folder / f"job{number}"

    def _send(self, service: subprocess.Popen[bytes], number: int, task: Task) -> None:
        folder = self._job_folder(number)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.mkdir()
            (folder / "kernel.py").write_text(task.source)
            (folder / "plan.json").write_text(task.plan)
        assert service.stdin
        request = {"id": number, "folder": str(folder), "timeout": self._timeout, "options": task.options}
        service.stdin.write(json.dumps(request).encode() + b"\n")
        service.stdin.flush()

    def _collect(self, number: int, task: Task, answer: dict[str, Any]) -> Compiled:
        folder = self._job_folder(number)
        log = _ANSI.sub("", _read(folder / "compile.log").replace(f"{folder}{os.sep}", ""))
        try:
            failure = self._failure(folder, answer, log)
            if failure:
                return Compiled(task.key, log, {}, {}, failure)
            files = {name: (folder / name).read_bytes() for name in COMPILED_FILES if name != "compile.log"}
            facts = json.loads(_read(folder / "facts.json"))
            return Compiled(task.key, log, {**files, "compile.log": log.encode()}, facts, None)
        except (OSError, ValueError) as error:
            why = f"the compiled files could not be read: {error}".replace(f"{folder}{os.sep}", "")
            return Compiled(task.key, log, {}, {}, _machine(why))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _failure(self, folder: Path, answer: dict[str, Any], log: str) -> Failure | None:
        """What a compile that ended says (`trouble`), None where there is a kernel."""
        end, code = answer["end"], answer["code"]
        if end == "exit" and code == 0:
            return None
        if end == "timeout":
            return _machine(f"the compile was not done after {self._timeout:g} s and was ended")
        if end == "lost":
            return _machine("the build service died while this was being compiled")
        if end == "refused":
            return _machine(f"no process could be started for the compile: {os.strerror(code)}")
        error = _ANSI.sub("", _read(folder / "error.txt")).replace(f"{folder}{os.sep}", "").strip()
        if end == "signal":
            error = f"the compiler process died by {_name(code)}"
            ours = not of_the_kernel(code)
        else:
            ours = code == MACHINE or not error
        room = has_room(folder)
        if room and not ours and not words_of_the_machine(error, log):
            return Failure(end if end == "signal" else "error", error)
        where = "" if room else f"; there is no room in {tempfile.gettempdir()} (TMPDIR chooses another place)"
        return _machine(f"{error or f'the compiler process ended with exit code {code} and no message'}{where}")


def _machine(why: str) -> Failure:
    return Failure("machine", why)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
