"""Compiled kernels by content: the same source, arch, toolchain and options are compiled once per machine.

An entry is a folder that appears by one rename, with a manifest of digests that every read verifies. So a kill at
any moment leaves no half entry, and a truncated or edited one is thrown away and built again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright import dtypes
from warpwright.build.toolchain import Toolchain
from warpwright.canonical import canonical_json, digest
from warpwright.errors import naming
from warpwright.plan.types import Plan
from warpwright.resources import cache_root

__all__ = ["Cache", "Entry", "cache_key", "sha256"]

_MANIFEST = "manifest.json"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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
    """A folder of entries; any number of processes may use it at once."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_root()

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
                return Entry(files, manifest["facts"])
        except FileNotFoundError:
            if not folder.exists():
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        self._discard(folder)
        return None

    def put(self, key: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Entry:
        """Store an entry; where another process stored a sound one first, that one stays and is returned."""
        folder = self.path(key)
        folder.parent.mkdir(parents=True, exist_ok=True)
        body = {"files": {name: sha256(data) for name, data in files.items()}, "facts": facts}
        temporary = Path(tempfile.mkdtemp(prefix=f".{key[:12]}-", suffix=".tmp", dir=folder.parent))
        try:
            with naming(folder):
                for name, data in files.items():
                    (temporary / name).write_bytes(data)
                (temporary / _MANIFEST).write_text(canonical_json({**body, "digest": digest(body)}))
            for _ in range(2):
                try:
                    os.rename(temporary, folder)
                    break
                except OSError:  # there is an entry already: keep it, unless it is damaged (then get removes it)
                    present = self.get(key)
                    if present is not None:
                        return present
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return Entry(dict(files), dict(facts))

    def discard(self, key: str) -> None:
        """Remove an entry that is sound but of no use."""
        self._discard(self.path(key))

    def _discard(self, folder: Path) -> None:
        """Move a folder aside before deleting it, so that nobody reads it half deleted."""
        try:
            grave = Path(tempfile.mkdtemp(prefix=".damaged-", suffix=".tmp", dir=folder.parent))
            os.rename(folder, grave / folder.name)
            shutil.rmtree(grave, ignore_errors=True)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
