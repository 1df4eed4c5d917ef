"""One timing at a time on a GPU: a lock per GPU, which every process of this package takes, whoever started it.

A timing takes it alone, validations share it. It is a file lock, so that it is gone with the process that held it,
however that ended. The file lies where all users of a machine see it, and containers that share its /dev/shm
(`--ipc=host`); others can be given one folder with WARPWRIGHT_LOCKS.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["LOCKS_VARIABLE", "WAIT_SECONDS", "holding", "lock_file", "shared_with"]

LOCKS_VARIABLE = "WARPWRIGHT_LOCKS"
#: How long one waits for another.
WAIT_SECONDS = 120.0
_STEP_SECONDS = 0.25
#: In the order in which they are looked for; what comes after is not asked of anybody.
_PLACES = (Path("/dev/shm"), Path("/tmp"))


def lock_file(key: str) -> Path:
    """Return the file of a GPU's lock by what tells the GPU from every other."""
    place = os.environ.get(LOCKS_VARIABLE) or next((str(p) for p in _PLACES if p.is_dir()), os.curdir)
    return Path(place) / f"warpwright-gpu-{hashlib.sha256(key.encode()).hexdigest()[:16]}.lock"


def shared_with(unheld: str, others: int) -> str:
    """Say in words why others may have been on a GPU while something was timed there, "" where nobody was: `unheld` is
    what `holding` gives, `others` how many processes were seen."""
    seen = f"{others} other compute process{'es' if others > 1 else ''} seen" if others else ""
    return "; ".join(each for each in (unheld, seen) if each)


@contextlib.contextmanager
def holding(key: str, alone: bool, wait: float, on_wait: Callable[[float], None]) -> Iterator[str]:
    """Hold a GPU's lock; gives "" where it is held, else why not, in a few words: whoever gets those is not alone.

    `on_wait(seconds)` is called again and again while another holds it, for at most `wait` seconds. Without a `key`,
    nothing can be known and nothing is said.
    """
    if not key:
        yield ""
        return
    try:
        descriptor = _open(lock_file(key))
    except OSError as error:
        yield f"its lock could not be used ({error.strerror}): nobody knows who else was there"
        return
    try:
        held = _take(descriptor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, wait, on_wait)
        yield "" if held else f"another process held the GPU for more than {wait:g} s"
    finally:
        os.close(descriptor)


def _take(descriptor: int, kind: int, wait: float, on_wait: Callable[[float], None]) -> bool:
    started = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            waited = time.monotonic() - started
        if waited >= wait:
            return False
        on_wait(waited)
        time.sleep(min(_STEP_SECONDS, wait - waited))


def _open(path: Path) -> int:
    """Open the lock's file, made where there is none. OSError where that cannot be, or it is no file.

    For reading alone, and never both at once: in a folder where everybody may write, others' files are not opened to be
    created (fs.protected_regular), and not to be written by all but one.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    while True:
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):  # another one was quicker
                descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
                os.fchmod(descriptor, 0o644)  # whatever the umask
                return descriptor
            continue
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(22, "it is no file", str(path))
        return descriptor
