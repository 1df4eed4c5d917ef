"""Compiled kernels by content: the same source, arch, toolchain and options are compiled once per machine.

An entry is a folder that appears by one rename, with a manifest of digests that every read verifies. So a kill at
any moment leaves no half entry, and a truncated or edited one is thrown away and built again. Nothing depends on the
cache: where it cannot be read or written, kernels are compiled again, and that is all.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright import dtypes
from warpwright.build.toolchain import Toolchain
from warpwright.canonical import canonical_json, digest
from warpwright.errors import UserError, naming
from warpwright.plan.types import Plan
from warpwright.resources import cache_root
from warpwright.scratch import beside
from warpwright.sealed import sha256

__all__ = ["LIMIT_VARIABLE", "Cache", "Entry", "cache_key", "cache_limit"]

_MANIFEST = "manifest.json"
#: How much the cache may hold, as 500M or 4G.
LIMIT_VARIABLE = "WARPWRIGHT_CACHE_LIMIT"
_DEFAULT_LIMIT = 4 << 30
#: Entries lie in as many folders, by the first two digits of their keys, and each has its share of the limit.
_PARTS = 256
#: What lies in the cache beside compiled kernels: compiled templates, and which files a verdict rests on.
_OTHERS = ("templates", "emulator_files.json")


@functools.cache
def _recipe() -> str:
    """Digest of this package, and of what it knows of dtypes: what it extracts from a kernel is part of an entry."""
    own = [p for p in sorted(Path(__file__).parent.iterdir()) if p.suffix in (".py", ".c")]
    return digest({p.name: p.read_text() for p in (*own, Path(dtypes.__file__))})


def cache_key(source: str, plan: Plan, toolchain: Toolchain, options: str) -> str:
    """Return the key (64 hex digits) of everything that decides the outcome of a build.

    Of the plan that is what is compiled and called, and how; all else in it is only compared with the outcome.
    """
    interface = {"entry": plan.entry, "symbol": plan.symbol, "arguments": plan.arguments}
    return digest(
        {
            "source": source,
            "arch": plan.arch,
            "interface": interface,
            "toolchain": toolchain,
            "options": options,
            "recipe": _recipe(),
        },
    )


@dataclass(frozen=True)
class Entry:
    """A verified cache entry: contents by file name, and the facts that were read off the kernel."""

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]


class Cache:
    """A folder of entries; any number of processes may use it at once.

    `trouble` says why something could not be kept, "" while everything could.
    """

    def __init__(self, root: Path | None = None, limit: int | None = None) -> None:
        self.root = root or cache_root()
        self.trouble = ""
        self._share = (cache_limit() if limit is None else limit) // _PARTS

    def path(self, key: str) -> Path:
        return self.root / "kernels" / key[:2] / key

    def get(self, key: str) -> Entry | None:
        """Return the entry of `key`, or None where there is none; a damaged entry is removed."""
        folder = self.path(key)
        try:
            manifest = json.loads((folder / _MANIFEST).read_bytes())
            body = {"files": manifest["files"], "facts": manifest["facts"]}
            files = {name: (folder / name).read_bytes() for name in manifest["files"]}
            if manifest["digest"] == digest(body) and all(sha256(files[n]) == d for n, d in manifest["files"].items()):
                with contextlib.suppress(OSError):
                    os.utime(folder / _MANIFEST)  # used now: what has not been for longest goes first
                return Entry(files, manifest["facts"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        self._discard(folder)
        return None

    def put(self, key: str, files: Mapping[str, bytes], facts: Mapping[str, Any], over: bool = False) -> Entry:
        """Store an entry as far as that can be done; where another process stored a sound one first, that one stays
        and is returned, unless this one is to be put `over` it."""
        folder = self.path(key)
        temporary = None
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(folder)
            temporary.mkdir()
            body = {"files": {name: sha256(data) for name, data in files.items()}, "facts": facts}
            with naming(folder):
                for name, data in files.items():
                    (temporary / name).write_bytes(data)
                (temporary / _MANIFEST).write_text(canonical_json({**body, "digest": digest(body)}))
            if over:
                self._discard(folder)
            try:
                os.rename(temporary, folder)
            except OSError:  # there is an entry already: keep it, unless it is damaged (then get removes it)
                present = None if over else self.get(key)
                if present is not None:
                    return present
                os.rename(temporary, folder)
            self._prune(folder)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            self.trouble = self.trouble or f"{where}{error.strerror or error}"
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
        return Entry(dict(files), dict(facts))

    def discard(self, key: str) -> None:
        """Remove an entry that is sound but of no use."""
        self._discard(self.path(key))

    def clear(self) -> tuple[int, int]:
        """Remove everything; return how many entries and bytes that were. Raises OSError where it cannot be read."""
        entries = [entry for part in _folders(self.root / "kernels") for entry in _folders(part)]
        others = [self.root / name for name in _OTHERS]
        freed = sum(map(_size, (*entries, *others)))
        for entry in entries:
            self._discard(entry)
        for other in others:
            shutil.rmtree(other, ignore_errors=True)
            with contextlib.suppress(OSError):
                other.unlink()
        left = sum(map(_size, (*entries, *others)))
        if left:
            raise OSError(errno.EACCES, f"{left} bytes could not be removed", str(self.root))
        return len(entries), freed

    def _prune(self, newest: Path) -> None:
        """Remove what was not used for longest from the folder of a new entry, beyond that folder's share of the limit.

        So no put looks at more than a 256th of the cache, and nothing has to be counted between processes.
        """
        others = [entry for entry in _folders(newest.parent) if entry != newest]
        sizes = {entry: _size(entry) for entry in (newest, *others)}
        excess = sum(sizes.values()) - self._share
        for entry in sorted(others, key=_used) if excess > 0 else ():
            self._discard(entry)
            excess -= sizes[entry]
            if excess <= 0:
                break

    def _discard(self, folder: Path) -> None:
        """Move a folder aside before deleting it, so that nobody reads it half deleted."""
        with contextlib.suppress(OSError):
            grave = beside(folder)
            os.rename(folder, grave)
            shutil.rmtree(grave, ignore_errors=True)


def cache_limit() -> int:
    """Return how many bytes the cache may hold: WARPWRIGHT_CACHE_LIMIT, else 4 GiB. Raises UserError."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return _DEFAULT_LIMIT
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if not found:
        raise UserError(f"{LIMIT_VARIABLE}={text}: not a size; write it as 500M or 4G")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def _folders(place: Path) -> list[Path]:
    """The folders in a folder, without those that are being made or removed."""
    try:
        with os.scandir(place) as entries:
            return [Path(e.path) for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _size(place: Path) -> int:
    """The bytes of a file, or of the files in a folder; what goes meanwhile counts nothing."""
    with contextlib.suppress(OSError):
        if place.is_dir():
            with os.scandir(place) as entries:
                return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
        return place.stat().st_size
    return 0


def _used(entry: Path) -> float:
    """When an entry was last used; one without a manifest never was."""
    try:
        return (entry / _MANIFEST).stat().st_mtime
    except OSError:
        return 0.0
