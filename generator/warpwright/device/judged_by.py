"""The digest of the code that judges a kernel on the device: problems, inputs, reference, bounds and their comparison.

Computed from the files that are there, on the GPU host too: a result then says what judged it, and counts as long as
that is the code at hand. What only launches, watches or times is no part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.closure import closure
from warpwright.epilogue.registry import names, source_path
from warpwright.sealed import sha256

__all__ = ["checking_digest", "code_digest", "digests_of", "judges", "operations_of"]

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECK = "device/check.py"
_REGISTRY = "epilogue/registry.py"
#: These reach the device, load what is launched, hand over its arguments, and name the families that there are: none of
#: it decides what is right.
_NO_JUDGES = frozenset(
    {"device/backend.py", "device/call.py", "device/launch.py", "device/variant.py", "families/names.py"}
)


def judges(contents: Mapping[str, bytes], family: str) -> set[str]:
    """Return which files of the package judge a family's kernels on a device; `contents` are by path below it."""
    of_family = f"families/{family}/workload/"
    roots = [name for name in contents if name == _CHECK or (name.startswith(of_family) and name.endswith(".py"))]
    # A package's own names judge nothing: were they to count, a new function there would make evidence of GPUs stale.
    return closure(contents, roots, _NO_JUDGES, on_the_way=False) - _NO_JUDGES


def checking_digest(family: str, operations: tuple[str, ...] = ()) -> str:
    """Digest (16 hex digits) of what a verdict on the device rests on, for a family and its kernel's operations.

    Raises VocabularyError for an operation that is not there, OSError where a file cannot be read.
    """
    return code_digest(_digests(family), operations)


def code_digest(digests: Mapping[str, str], operations: tuple[str, ...] = ()) -> str:
    """Digest (16 hex digits) of code: of files, by the digests that `digests_of` gives, and of operations' files with
    what these import, where any of the code asks for operations at all.

    Raises VocabularyError for an operation that is not there, OSError where its file cannot be read.
    """
    found = dict(digests)
    for name in operations if _REGISTRY in digests else ():
        found |= {f"operation {each}": sha256(content) for each, content in _operation(name).items()}
    return digest(found)[:16]


def _operation(name: str) -> dict[str, bytes]:
    """An operation's file and those of its siblings that it is built from, by name."""
    siblings = {f"epilogue/{path.name}": path.read_bytes() for path in (_PACKAGE / "epilogue").glob("*.py")}
    contents = {**siblings, name: source_path(name).read_bytes()}
    return {each: contents[each] for each in closure(contents, [name], on_the_way=False)}


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    return {name: sha256(content) for name, content in files.items()}


def operations_of(kernel: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a plan's epilogue operations, by what the plan says of its kernel: the steps of a chain, or
    the one that is its activation."""
    return tuple(sorted({step["op"] for step in kernel.get("epilogue", ())} | {*names()} & {kernel.get("activation")}))


@functools.cache
def _digests(family: str) -> Mapping[str, str]:
    """Those of the files that judge, by path below the package."""
    contents = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in _PACKAGE.rglob("*.py")}
    return digests_of({name: contents[name] for name in judges(contents, family)})
