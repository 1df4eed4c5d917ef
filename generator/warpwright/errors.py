"""The one error that a command turns into a message: something asked for that cannot be done, and the way out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["DeviceUnavailableError", "UserError", "VocabularyError", "naming"]


class UserError(Exception):
    """A request that cannot be carried out; its text names the thing, what is wrong and what to do (exit code 2)."""


class DeviceUnavailableError(RuntimeError):
    """No process with a usable device can be started; the message says why."""


class VocabularyError(Exception):
    """What a user added to a vocabulary (operations, say) cannot be used; `field` is the key that it adds values to."""

    field = ""


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an OSError from within the path that it lacks: a full disk does not say where it is."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
