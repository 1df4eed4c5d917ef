"""What a compile that gave no kernel says: something of the kernel, or only of the machine that tried.

A verdict must repeat, so what the machine could not do is none: nothing is recorded or cached, the variant stays
unbuilt with the reason, and the next run tries again. What is seen, and whose doing it is taken for:

| what is seen                                                                | whose       | recorded             |
|-----------------------------------------------------------------------------|-------------|----------------------|
| kernel.py does not import, or the DSL refuses it                            | the kernel  | compile_failed error |
| the compiling process dies by SIGABRT, SIGSEGV, SIGILL, SIGFPE or SIGTRAP   | the kernel  | compile_failed signal|
| the compiler leaves no PTX, no cubin, or several                            | the kernel  | compile_failed error |
| the host function refuses the arguments of its small problem                | the kernel  | incorrect            |
| OSError, MemoryError: a full disk or quota, no descriptors, no process      | the machine | nothing              |
| the words of one of these, in the error or in what the compiler printed     | the machine | nothing              |
| any other signal: SIGKILL (out of memory), SIGTERM, SIGBUS (a full tmpfs),  |             |                      |
| SIGXFSZ, SIGXCPU, SIGHUP                                                    | the machine | nothing              |
| it ends without leaving a reason                                            | the machine | nothing              |
| it takes longer than its limit                                              | the machine | nothing              |
| gcc, ld, objdump, cuobjdump or nvdisasm is missing, is killed, or fails     | the machine | nothing              |
| a file that was written is not what was written                             | the machine | nothing              |
| the build service does not start, or dies                                   | the machine | nothing              |
| the variant's folder cannot be written                                      | the machine | nothing              |
| the cache cannot be read or written                                         | nobody: the kernel is compiled again   |

And of what the kernel seems to have done, two things must hold: it is seen a second time when it is compiled again,
and there is room where it was compiled, since a compiler may well not say that there was none.
"""

from __future__ import annotations

import contextlib
import errno
import signal
import subprocess
from pathlib import Path

from warpwright.build.toolchain import ToolchainError

__all__ = ["MachineError", "has_room", "of_the_kernel", "of_the_machine", "words_of_the_machine"]


class MachineError(Exception):
    """Something that the machine could not do, whatever the kernel is."""


#: Signals that a compiler's own fault raises.
_FAULTS = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP})
#: What a machine has run out of where an error that was being handled says so, and another was raised in its place.
_SCARCE = frozenset(
    getattr(errno, name)
    for name in ["ENOSPC", "EDQUOT", "EFBIG", "ENOMEM", "EMFILE", "ENFILE", "EAGAIN", "EIO", "EROFS", "ESTALE"]
)
_WORDS = (
    "No space left on device", "Disk quota exceeded", "File too large", "Cannot allocate memory", "out of memory",
    "Out of memory", "bad_alloc", "Too many open files", "Resource temporarily unavailable", "Input/output error",
    "Read-only file system", "failed to map segment", "Text file busy", "Stale file handle",
)  # fmt: skip
#: More than any file of a compile.
_ROOM_BYTES = 1 << 20


def of_the_kernel(number: int) -> bool:
    """Whether a signal that ended the compiling process is taken for the kernel's doing."""
    return number in _FAULTS


def words_of_the_machine(*texts: str) -> bool:
    """Whether an error, or what a compiler printed, speaks of something that the machine lacks."""
    return any(word in text for text in texts for word in _WORDS)


def of_the_machine(error: BaseException) -> bool:
    """Whether an error that ended a compile, or one that it was raised from, is the machine's."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, (OSError, MemoryError, subprocess.SubprocessError, MachineError, ToolchainError)):
            return True
        behind = None if cause.__suppress_context__ else cause.__context__
        if isinstance(behind, MemoryError) or (isinstance(behind, OSError) and behind.errno in _SCARCE):
            return True
        cause = cause.__cause__
    return words_of_the_machine(str(error))


def has_room(folder: Path) -> bool:
    """Whether a file of a compile's size can be written in a folder now."""
    probe = folder / "room"
    try:
        probe.write_bytes(bytes(_ROOM_BYTES))
        return True
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
