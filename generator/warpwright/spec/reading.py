"""The text of a YAML file: a regular one, of a bounded size, in UTF-8; nothing else is read at all."""

from __future__ import annotations

import os

from warpwright.kinds import kind_of_mode
from warpwright.spec.errors import SpecError, SpecErrors

__all__ = ["LARGEST", "read"]

#: Bytes: ten times what the largest sweep takes when every value stands on a line of its own.
LARGEST = 1 << 20


def read(file: str) -> str:
    """Return a file's text without a byte order mark. Raises SpecErrors where it cannot be read."""
    try:
        data = _bytes(file)
    except (OSError, ValueError) as error:
        raise _refused(file, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        rule = f"not UTF-8: byte 0x{data[error.start]:02x} (number {error.start} of the file)"
        raise SpecErrors([SpecError(file, line, column, "", None, rule)]) from None


def _bytes(file: str) -> bytes:
    # Without O_NONBLOCK a pipe that nobody writes to would be waited for here.
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
        status = os.fstat(stream.fileno())
        kind = kind_of_mode(status.st_mode)
        if kind:
            raise _refused(file, f"cannot be read: it is {kind}, and a configuration is a regular file")
        # Some regular files are longer than they say (those of /proc): what is read is bounded, whatever they say.
        data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            size = max(status.st_size, len(data))
            raise _refused(file, f"cannot be read: it has {size:,} bytes, and a configuration {LARGEST:,} at most")
    return data


def _refused(file: str, rule: str) -> SpecErrors:
    return SpecErrors([SpecError(file, 0, 0, "", None, rule)])
