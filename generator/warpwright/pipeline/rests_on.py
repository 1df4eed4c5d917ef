"""Which files of this package a verdict rests on: found by their imports, and nothing is imported."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

from warpwright.closure import closure
from warpwright.device.judged_by import judges
from warpwright.record import read_json, write_json
from warpwright.resources import cache_root

__all__ = ["files", "files_on_device"]

_PACKAGE = Path(__file__).resolve().parents[1]
#: Where a verdict is made: the harness and the workload of the variant's own family. What these import counts too.
_ROOTS = ("emulate/variant/harness.py", "pipeline/emulating.py", "families/{family}/workload/**/*.py")
#: Files that count, but whose imports do not: the first begins and records emulation, the second compiles a kernel
#: again to tell lines of its source, once the verdict is known.
_ENDS = frozenset({"pipeline/emulating.py", "emulate/variant/places.py"})
#: Hold the version of the package, and which families there are, and nothing else: neither a release nor a new family
#: makes evidence stale.
_NAMES = frozenset({"__init__.py", "families/names.py"})


def files(family: str) -> dict[str, bytes]:
    """Content by path below the package, of what a verdict of the emulator rests on: the Python files and what lies
    beside them (the C of the launch capture)."""
    return _kept(family, _closure)


def files_on_device(family: str) -> dict[str, bytes]:
    """The same of a verdict on a device: `device.judged_by.judges`."""
    return _kept(f"{family} on a device", lambda contents, _: judges(contents, family))


def _kept(key: str, find: Callable[[dict[str, bytes], str], set[str]]) -> dict[str, bytes]:
    """The files that `find` names. Reading 150 files' imports takes half a second, so what they are is kept in the
    cache, for exactly these contents of the package."""
    contents, whole = _contents(_PACKAGE)
    kept_in = cache_root() / "emulator_files.json"
    try:
        known = read_json(kept_in) or {}
    except OSError:
        known = {}
    if known.get("package") != whole:
        known = {"package": whole}
    if not isinstance(known.get(key), list) or not contents.keys() >= set(map(str, known[key])):
        known[key] = sorted(find(contents, key))
        with contextlib.suppress(OSError):  # found again next time
            write_json(kept_in, known)
    return {name: contents[name] for name in known[key]}


@functools.cache
def _contents(package: Path) -> tuple[dict[str, bytes], str]:
    """Every file of the package by its path below it, and the digest of all: as it was when a process first asked."""
    contents = {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and path.suffix != ".pyc" and not path.is_relative_to(package / "_data")
    }
    whole = hashlib.sha256()
    for name, content in contents.items():
        whole.update(f"{name} {len(content)} ".encode() + content)
    return contents, whole.hexdigest()


def _closure(contents: dict[str, bytes], family: str) -> set[str]:
    """The files of a verdict, and of each folder on the way what is no Python as well."""
    roots = [path.relative_to(_PACKAGE).as_posix() for r in _ROOTS for path in _PACKAGE.glob(r.format(family=family))]
    found = closure(contents, roots, _ENDS)
    folders = {name.rpartition("/")[0] for name in found}
    found |= {name for name in contents if not name.endswith(".py") and name.rpartition("/")[0] in folders}
    return found - _NAMES
