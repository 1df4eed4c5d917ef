"""Compiled templates, kept in the cache by content: a run that finds its work done spends half its time on them.

Jinja2's own cache of that kind raises where the disk is full, and runs what it reads, flipped bits and all. Here each
file begins with the digest of the rest, and what cannot be read or written is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from warpwright.scratch import beside

__all__ = ["KeptTemplates"]

_DIGEST_BYTES = 32


class KeptTemplates(BytecodeCache):
    """Keeps compiled templates in a folder, which need not exist, nor be one that can be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            data = self._path(bucket).read_bytes()
        except OSError:
            return
        if hashlib.sha256(data[_DIGEST_BYTES:]).digest() == data[:_DIGEST_BYTES]:
            bucket.bytecode_from_string(data[_DIGEST_BYTES:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        code = bucket.bytecode_to_string()
        path = self._path(bucket)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = beside(path)
            try:
                temporary.write_bytes(hashlib.sha256(code).digest() + code)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def _path(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.template"
