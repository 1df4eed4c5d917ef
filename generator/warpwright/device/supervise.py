"""The parent of the process that touches the device: it watches, ends what hangs, and starts afresh for the next.

A hang, an abort or a lost context each become the status of the variant that was running, with what it was doing.
"""

from __future__ import annotations

import contextlib
import json
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from warpwright.child import child_command
from warpwright.device.backend import CUDA
from warpwright.device.lock import WAIT_SECONDS
from warpwright.errors import DeviceUnavailableError

__all__ = ["DeviceUnavailableError", "Outcome", "Supervisor"]

#: Seconds for a killed process to be gone: the driver first has to stop its kernels.
_REAP_SECONDS = 60
#: Endings that no kernel causes: somebody, or the system where memory is short, has ended the process.
_FROM_OUTSIDE = tuple(-number for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
#: What is said against a variant without having seen its results; a device that fails looks the same.
_BLAMED = frozenset({"launch_failed", "crash", "hang"})
#: Results are kept and shared: where files lie on this machine is nobody's business.
_FOLDERS = re.compile(r"(?<![\w/])/(?:[\w.+@-]+/)+")


@dataclass
class Outcome:
    """How a request ended. status: "" when it went through, else launch_failed, crash or hang, or `not_run` when the
    fault was not the variant's. doing, who: the last step told, and whose, where several take part."""

    status: str = ""
    diagnosis: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    doing: str = ""
    who: str = ""


class Supervisor:
    """Runs requests one after another in a child process, a fresh one after each failure.

    `backend` is a `module:callable`; `silence` the seconds without a sign of life that count as a hang; `wait` those
    that one waits for others of this package to leave the GPU, which `notice` tells. The child's import path is this
    process's, without the current directory, and then `paths`. Use as a context manager.
    """

    def __init__(
        self,
        backend: str = CUDA,
        silence: float = 30.0,
        startup: float = 300.0,
        paths: Sequence[Path] = (),
        wait: float = WAIT_SECONDS,
        notice: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    ) -> None:
        self.backend, self.silence, self.startup, self.paths = backend, silence, startup, paths
        self.wait, self.notice = wait, notice
        self.device: dict[str, Any] = {}
        self._gone = ""
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._log: IO[str] | None = None

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> dict[str, Any]:
        """Make sure that a child with a device is there, and return the device's description.

        Raises DeviceUnavailableError, from then on every time (a device that has gone is not waited for again), OSError
        where no process can be started.
        """
        if self._process is not None:
            return self.device
        if self._gone:
            raise DeviceUnavailableError(self._gone)
        try:
            self._start()
        except DeviceUnavailableError as error:
            self._gone = str(error)
            raise
        return self.device

    def _start(self) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            child_command("warpwright.device.worker", self.backend, *map(str, self.paths)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # Ctrl-C in a terminal is for this process: it would look like a crash there
        )
        self._lines = queue.Queue()
        threading.Thread(target=_forward, args=(self._process.stdout, self._lines), daemon=True).start()
        try:
            event = self._next(self.startup)
        except queue.Empty:
            self._end()
            raise DeviceUnavailableError(f"the device did not answer within {self.startup:g} s") from None
        if event is None or event["event"] != "ready":
            why = event["message"] if event else self._ending()
            self._end()
            raise DeviceUnavailableError(why)
        self.device = event["device"]

    def request(self, request: Mapping[str, Any]) -> Outcome:
        """Send one request and follow it to its end. Raises what `start` raises where there is no device for it.

        A variant is blamed for what ended its process as long as the device is there afterwards.
        """
        outcome = self._follow(request)
        if outcome.status or any(_incorrect(seen) for seen in outcome.events):
            self._end()
        gone = self._look(self.device.get("uuid")) if outcome.status in _BLAMED else ""
        if gone:
            outcome.diagnosis = f"{outcome.status}: {outcome.diagnosis}; then the device was gone: {gone}"
            outcome.status = "not_run"
        return outcome

    def _look(self, uuid: Any) -> str:
        """Say why the device of that UUID is not there, "" where it is."""
        try:
            found = self.start().get("uuid")
        except (DeviceUnavailableError, OSError) as error:
            return str(error)
        return "" if found == uuid else f"in its place is {found}"

    def _follow(self, request: Mapping[str, Any]) -> Outcome:
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        outcome, idle = Outcome(), False
        with contextlib.suppress(OSError):  # it has just ended: the loop below says how
            self._process.stdin.write(json.dumps({"wait": self.wait, **request}) + "\n")
            self._process.stdin.flush()
        while True:
            try:
                event = self._next(self.silence)
            except queue.Empty:
                outcome.status = "not_run" if idle else "hang"
                outcome.diagnosis = f"no sign of life for {self.silence:g} s: {outcome.doing or 'starting'}"
                outcome.diagnosis += "; nothing of the variant runs then: allow for more" if idle else ""
                return outcome
            if event is None:
                # Out of memory, or a person: that says nothing of the variant.
                outcome.status = "not_run" if self._code() in _FROM_OUTSIDE else "crash"
                outcome.diagnosis = f"{outcome.doing or 'starting'}: {self._ending()}"
            elif event["event"] == "beat":
                outcome.doing, outcome.who = event["doing"], event.get("who", "")
                idle = event.get("idle", False)
                continue
            elif event["event"] == "notice":
                self.notice(event["text"])
                continue
            elif event["event"] == "failed":
                outcome.status, outcome.diagnosis = event["status"], event["diagnosis"]
            elif event["event"] == "broken":
                outcome.status, outcome.diagnosis = "not_run", event["message"]
            elif event["event"] != "done":
                outcome.events.append(event)
                continue
            return outcome

    def close(self) -> None:
        """End the child, if there is one."""
        self._end()

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """The next event; None when the child has ended. Raises queue.Empty after `seconds`."""
        line = self._lines.get(timeout=seconds)
        if line is None:
            return None
        event: dict[str, Any] = json.loads(line)
        return event

    def _code(self) -> int | None:
        """The child's exit code, None where it does not end."""
        assert self._process is not None
        try:
            return self._process.wait(timeout=_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _ending(self) -> str:
        """Say how the child ended, with the last lines that it wrote to stderr."""
        assert self._log is not None
        code = self._code()
        if code is None:
            return "the process closed its pipe and does not end"
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self._log.seek(0)
        last = " | ".join(line.strip() for line in self._log.read().splitlines()[-8:] if line.strip())
        last = _FOLDERS.sub("", last)[-800:]
        return f"the process ended with {how}" + (f"; its last words: {last}" if last else "")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        try:
            process.wait(timeout=_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            self._gone = f"process {process.pid} cannot be ended; the device is stuck"
        finally:
            for pipe in (process.stdin, self._log):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # its reader is gone
                        pipe.close()


def _forward(stream: IO[str] | None, lines: queue.Queue[str | None]) -> None:
    if stream is not None:
        with stream:
            for line in stream:
                if line.endswith("\n"):  # else it was cut off by the child's end
                    lines.put(line)
    lines.put(None)


def _incorrect(event: Mapping[str, Any]) -> bool:
    return bool(event["event"] == "problem" and event["figures"]["status"] == "incorrect")
