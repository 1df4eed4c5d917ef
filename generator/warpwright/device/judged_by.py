"""The digest of the code that judges a kernel on the device: problems, inputs, reference, bounds and their comparison.

Computed from the files that are there, on the GPU host too: a result then says what judged it, and counts as long as
that is the code at hand. What only launches, watches or times is no part of it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.closure import closure
from warpwright.epilogue.registry import source_path

__all__ = ["checking_digest", "operations_of"]

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOTS = ("device/check.py", "families/{family}/workload/**/*.py")
#: These reach the device, load what is launched, and hand over its arguments: none of it decides what is right.
_NO_JUDGES = frozenset({"device/backend.py", "device/call.py", "device/variant.py"})
#: Holds the version of the package and nothing else: a release alone makes no evidence stale.
_VERSION = "__init__.py"


def checking_digest(family: str, operations: tuple[str, ...] = ()) -> str:
    """Digest (16 hex digits) of what a verdict on the device rests on, for a family and its kernel's operations.

    Raises VocabularyError for an operation that is not there, OSError where a file cannot be read.
    """
    texts = dict(_files(family))
    for operation in operations:
        texts[f"operation {operation}"] = _sha(source_path(operation))
    return digest(texts)[:16]


def operations_of(kernel: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a plan's epilogue operations, by what the plan says of its kernel."""
    return tuple(sorted({step["op"] for step in kernel.get("epilogue", ())}))


@functools.cache
def _files(family: str) -> Mapping[str, str]:
    """The digest of each file by its path below the package."""
    contents = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))}
    roots = [path.relative_to(_PACKAGE).as_posix() for r in _ROOTS for path in _PACKAGE.glob(r.format(family=family))]
    found = closure(contents, roots, _NO_JUDGES) - _NO_JUDGES - {_VERSION}
    return {name: hashlib.sha256(contents[name]).hexdigest() for name in sorted(found)}


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
