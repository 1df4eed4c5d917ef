"""The file of a bundle's results: JSON lines, each written at once and for good, by one run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from warpwright.device import validate
from warpwright.errors import naming

__all__ = ["ResultsFile"]


class ResultsFile:
    """A JSON-lines file to which each result is appended, and is on the disk when `add` returns.

    `added` counts those of this run. A later run goes on in the same file: what it finds out stands beside what is
    there. Two at once are refused. Use as a context manager. Raises OSError, with the file's name, where it cannot be
    written, BlockingIOError where another run writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.added = 0
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            self._lock()
            self._end_line()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def begin(self, header: Mapping[str, Any]) -> None:
        """Append a run's header. Raises what `add` raises."""
        self._write(_line(header))

    def add(self, result: Mapping[str, Any]) -> None:
        """Append one result. Raises OSError, with the file's name, where the disk is full, say."""
        self._write(_line(result))
        self.added += 1

    def validated(self) -> set[tuple[str, str]]:
        """(variant, library) of every variant whose every verdict in the file is `correct`."""
        verdicts: dict[tuple[str, str], set[str]] = {}
        for line in self.path.read_bytes().split(b"\n"):
            try:
                result = json.loads(line)
                method, protocol = result["method"], result["protocol"]
                variant, library, status = (str(result[key]) for key in ("variant", "library_sha", "status"))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # a killed run's last line, a header, or nothing of ours
            if (method, protocol) == (validate.METHOD, validate.PROTOCOL):
                verdicts.setdefault((variant, library), set()).add(status)
        return {key for key, found in verdicts.items() if found - {"not_run"} == {"correct"}}

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            why = "another run is writing it; wait for it, or give this one a file of its own (--out)"
            raise BlockingIOError(11, why, str(self.path)) from None
        except OSError:
            pass  # a file system without locks: the lines are whole all the same

    def _end_line(self) -> None:
        """End the line that a killed run has left."""
        size = os.fstat(self._file).st_size
        with contextlib.suppress(OSError):  # not a file that can be read at a place: a pipe, say
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                self._write(b"\n")

    def _write(self, data: bytes) -> None:
        """Append in one call, so that lines of several writers never mix."""
        with naming(self.path):
            while data:
                data = data[os.write(self._file, data) :]
            with contextlib.suppress(OSError):  # /dev/null, a pipe
                os.fsync(self._file)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, allow_nan=False).encode() + b"\n"
