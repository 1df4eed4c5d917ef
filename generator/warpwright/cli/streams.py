"""stdout and stderr as a command needs them: open when it starts, and never what decides its exit code.

What a command found out stands, whether or not somebody read it: a reader that has gone (`| head`) costs the rest of
the text and nothing else. A full disk is told: the file that was asked for is then not what it should be.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from typing import Any

__all__ = ["Lenient", "finish", "open_streams"]


class Lenient(io.FileIO):
    """A file descriptor that takes everything: once it cannot be written, `failure` says why and the rest is dropped.

    `failure` stays None where the reader of a pipe has gone: that is no failure.
    """

    failure: OSError | None = None

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: Any) -> int:
        length = len(memoryview(data))
        try:
            while (written := super().write(data)) is None:
                select.select([], [self], [])  # somebody made it non-blocking, and it is full
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.failure = error
            # Children and the interpreter's own last flush write to the same descriptor.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return length
        return int(written)


def open_streams() -> None:
    """Give the process a stdin, stdout and stderr where it was started without (`>&-`), and make the last two lenient.

    Without that, the next file that is opened becomes descriptor 1, and a child's output ends up in it. Whatever cannot
    be encoded is written as an escape.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free, and so this one
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        before = getattr(sys, name)
        with contextlib.suppress(OSError, ValueError, AttributeError):
            before.flush()
        raw = Lenient(descriptor)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=getattr(before, "encoding", None) or "utf-8",
            errors="backslashreplace",
            line_buffering=descriptor == 2 or raw.isatty(),
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def finish() -> str:
    """Write out what is buffered; return why stdout could not be written, "" where it could."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    failure = raw.failure if isinstance(raw, Lenient) else None
    return f"stdout: {failure.strerror or failure}" if failure else ""
