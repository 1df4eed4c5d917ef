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

__all__ = ["checking_digest", "judges", "operations_of"]

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECK = "device/check.py"
#: These reach the device, load what is launched, and hand over its arguments: none of it decides what is right.
_NO_JUDGES = frozenset({"device/backend.py", "device/call.py", "device/launch.py", "device/variant.py"})


def judges(contents: Mapping[str, bytes], family: str) -> set[str]:
    """Return which files of the package judge a family's kernels on a device; `contents` are by path below it."""
    of_family = f"families/{family}/workload/"
    roots = [name for name in contents if name == _CHECK or (name.startswith(of_family) and name.endswith(".py"))]
    # A package's own names judge nothing: were they to count, a new function there would make evidence of GPUs stale.
    return closure(contents, roots, _NO_JUDGES, on_the_way=False) - _NO_JUDGES


def checking_digest(family: str, operations: tuple[str, ...] = (), files: Mapping[str, bytes] | None = None) -> str:
    """Digest (16 hex digits) of what a verdict on the device rests on, for a family and its kernel's operations.

    `files` are those of `judges`, where they are known already. Raises VocabularyError for an operation that is not
    there, OSError where a file cannot be read.
    """
    found = _files(family) if files is None else files
    texts = {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
    for operation in operations:
        texts[f"operation {operation}"] = _sha(source_path(operation))
    return digest(texts)[:16]


def operations_of(kernel: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a plan's epilogue operations, by what the plan says of its kernel."""
    return tuple(sorted({step["op"] for step in kernel.get("epilogue", ())}))


@functools.cache
def _files(family: str) -> Mapping[str, bytes]:
    """The files that judge, by path below the package."""
    contents = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in _PACKAGE.rglob("*.py")}
    return {name: contents[name] for name in judges(contents, family)}


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
