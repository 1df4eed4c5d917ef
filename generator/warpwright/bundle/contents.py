"""What of this package a GPU host imports: found by following imports, so that no list of files can be out of date."""

from __future__ import annotations

from pathlib import Path

import warpwright
from warpwright.closure import closure

__all__ = ["needed_modules"]

_PACKAGE = Path(warpwright.__file__).parent
#: What is run there by name or found in folders; everything else is imported by these.
_ROOTS = ("device/*.py", "families/*/workload/**/*.py", "epilogue/ops/*.py")


def needed_modules(*more: str) -> list[Path]:
    """Return the files, sorted, by path below the package: the device's modules, the families' workloads and `more`,
    all that they import of this package, and the packages that these lie in."""
    contents = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in _PACKAGE.rglob("*.py")}
    found = {path.relative_to(_PACKAGE).as_posix() for pattern in (*_ROOTS, *more) for path in _PACKAGE.glob(pattern)}
    reached: set[str] = set()
    while found != reached:  # what a package imports itself is needed as well
        reached = found
        found = closure(contents, reached)
        found |= {(parent / "__init__.py").as_posix() for name in found for parent in Path(name).parents}
        found &= contents.keys()
    return sorted(map(Path, found))
