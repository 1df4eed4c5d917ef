"""Files that say of themselves, or of which a record says, what they must hold: what was changed is never believed.

Every JSON file that is kept ends with the SHA-256 of all that stands before it, its seal:

     ...,
     "sha256": "9f86d0..."
    }

A file of which seal and text do not fit is *damaged*. One without a seal is from before there were any: whether it may
still be used is for its reader to say. What is not JSON (libraries, PTX, sources) is held against the digests in the
record of the build. A seal protects from accidents (a disk, a hand, half a copy), not from somebody who forges: who can
write the file can seal it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from warpwright.canonical import digest
from warpwright.errors import UserError

__all__ = [
    "Built", "DamagedError", "Stored", "check_digest", "load_built", "load_record", "read_regular", "seal", "sha256",
    "unseal",
]  # fmt: skip

SEAL = "sha256"
_BEFORE, _AFTER, _DIGITS = f'\n "{SEAL}": "'.encode(), b'"\n}\n', 64
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


_WAY = "`warpwright run {config}` makes it again"
#: How to get again what a run alone does not make.
_WAYS = {
    **dict.fromkeys(
        ("gpu.json", "compared.json", "bench.json"),
        "`warpwright run {config}` keeps it beside its place; then import the variant's results again, or validate it",
    ),
    "current.json": "remove it, and run every configuration of this name again",
    "variant.json": "copy the bundle again",
}


class DamagedError(UserError):
    """A stored file that cannot be used: it was changed since it was written, or is no file.

    The text names the file, what is wrong with it, and how to get it again.
    """

    def __init__(self, path: Path, what: str, way: str = "") -> None:
        config = path.absolute().parent.parent.name
        super().__init__(f"{path}: {what}; {(way or _WAYS.get(path.name, _WAY)).format(config=config)}")
        self.path, self.what, self.way = path, what, way

    def __reduce__(self) -> tuple[type[DamagedError], tuple[Path, str, str]]:
        return type(self), (self.path, self.what, self.way)  # it travels between processes


@dataclass(frozen=True)
class Stored:
    """The object of a JSON file, without its seal; `sealed`: it had one, which fitted."""

    value: dict[str, Any]
    sealed: bool


def sha256(data: bytes) -> str:
    """Return the digest (64 hex digits) of a file's content."""
    return hashlib.sha256(data).hexdigest()


def read_regular(path: Path) -> bytes:
    """Return the content of a file, never waiting for one.

    Raises FileNotFoundError where there is nothing, DamagedError for what is no file or cannot be read.
    """
    try:
        # A pipe without a writer is opened at once then; for a file it makes no difference.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise DamagedError(path, "a link to something that is not there") from None
        raise FileNotFoundError(2, "there is no such file", str(path)) from None
    except (OSError, ValueError) as error:
        raise DamagedError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = next((name for test, name in _KINDS if test(mode)), "no file")
        raise DamagedError(path, f"{kind}, where a file should be")
    try:
        with os.fdopen(descriptor, "rb") as file:
            return file.read()
    except OSError as error:
        raise DamagedError(path, f"cannot be read: {error.strerror or error}") from None


def check_digest(path: Path, expected: str) -> bytes:
    """Return the content of a file that must have the SHA-256 `expected`.

    Raises DamagedError where it has not, or is no file, FileNotFoundError where there is none.
    """
    data = read_regular(path)
    actual = sha256(data)
    if actual != expected:
        size = f"{len(data):,} bytes" if data else "empty"
        raise DamagedError(path, f"changed: its SHA-256 is {actual[:12]} ({size}), the build wrote {expected[:12]}")
    return data


def seal(text: str) -> str:
    """Return the JSON text of an object with its seal as the last entry."""
    body = text.rstrip().removesuffix("}").rstrip()
    comma = "," if len(body) > 1 else ""
    return f"{body}{comma}{_BEFORE.decode()}{sha256(body.encode())}{_AFTER.decode()}"


def load_record(path: Path) -> Stored:
    """Return what a JSON file holds.

    Raises FileNotFoundError where there is none, DamagedError where its seal does not fit, or it is no JSON object.
    """
    return unseal(path, read_regular(path))


def unseal(path: Path, data: bytes) -> Stored:
    """Return what `data`, the content of `path`, says; raises DamagedError like `load_record`."""

    def damaged(what: str) -> NoReturn:
        raise DamagedError(path, what)

    start = max(0, len(data) - len(_BEFORE) - _DIGITS - len(_AFTER))
    body, tail = data[:start].removesuffix(b","), data[start:]
    shaped = tail.startswith(_BEFORE) and tail.endswith(_AFTER)
    fits = tail[len(_BEFORE) : len(_BEFORE) + _DIGITS] == sha256(body).encode()
    if shaped != fits:
        damaged("damaged: it is not as it was written, its SHA-256 at the end says")
    try:
        value = json.loads(data.decode(), parse_constant=lambda name: damaged(f"damaged: {name} is no number"))
    except (ValueError, RecursionError):
        damaged("damaged: it is not JSON" if data else "damaged: it is empty")
    if not isinstance(value, dict):
        damaged("damaged: it is not a JSON object")
    if shaped:
        del value[SEAL]
    elif SEAL in value:
        damaged("damaged: it was written anew by another tool, its SHA-256 no longer tells anything")
    return Stored(value, sealed=shaped)


@dataclass(frozen=True)
class Built:
    """What build.json in `folder` says, and the files that this build wrote."""

    folder: Path
    record: dict[str, Any]

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file, by its name."""
        files = self.record.get("files")
        return {str(name): str(expected) for name, expected in files.items()} if isinstance(files, dict) else {}

    def read(self, name: str) -> bytes:
        """Return the content of a file that the build wrote; DamagedError where it has been changed, or is gone."""
        path = self.folder / name
        if name not in self.files:
            raise DamagedError(path, "build.json beside it does not say what it should be")
        try:
            return check_digest(path, self.files[name])
        except FileNotFoundError:
            raise DamagedError(path, "missing; the build wrote it") from None

    def source(self) -> str:
        """Return the module that was built, "" where it is gone; DamagedError where kernel.py is another."""
        path = self.folder / "kernel.py"
        try:
            data = read_regular(path)
        except FileNotFoundError:
            return ""
        if sha256(data) != self.record.get("source_sha"):
            what = "not the source that was built, but edited or rendered since"
            raise DamagedError(path, what, "`warpwright build {config}` builds it")
        return data.decode()

    def plan(self) -> dict[str, Any]:
        """Return the plan that was built; DamagedError where plan.json is another."""
        path = self.folder / "plan.json"
        try:
            value = load_record(path).value
        except FileNotFoundError:
            raise DamagedError(path, "missing") from None
        if digest(value) != self.record.get("plan_sha"):
            raise DamagedError(path, "it is not the plan that was built: changed since, or planned anew")
        return value


def load_built(folder: Path) -> Built:
    """Return the record of a folder's build.

    Raises FileNotFoundError where nothing is built, DamagedError where what was is not told, or not by a sealed record.
    """
    path = folder / "build.json"
    stored = load_record(path)
    if not stored.sealed:
        raise DamagedError(path, "from before records had a seal")
    return Built(folder, stored.value)
