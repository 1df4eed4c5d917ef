"""What of this package a GPU host imports: found by following imports, so that no list of files can be out of date."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import warpwright

__all__ = ["needed_modules"]

_PACKAGE = Path(warpwright.__file__).parent
#: What is run there by name or found in folders; everything else is imported by these.
_ROOTS = ("device/*.py", "families/*/workload/**/*.py", "epilogue/ops/*.py")


def needed_modules(*more: str) -> list[Path]:
    """Return the files, sorted, by path below the package: the device's modules, the families' workloads and `more`,
    all that they import of this package, and the packages that these lie in."""
    found: set[Path] = set()
    waiting = [path for pattern in (*_ROOTS, *more) for path in _PACKAGE.glob(pattern)]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        waiting += [parent / "__init__.py" for parent in path.parents if parent.is_relative_to(_PACKAGE)]
        waiting += _imported(ast.parse(path.read_text(encoding="utf-8")))
    return sorted(path.relative_to(_PACKAGE) for path in found)


def _imported(tree: ast.AST) -> Iterator[Path]:
    """Yield the files of this package that a module imports anywhere but for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _imported(ast.Module(node.orelse, []))
            continue
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from filter(None, map(_file, names))
        yield from _imported(node)


def _file(module: str) -> Path | None:
    """The file of a module of this package; None for anything else."""
    package, *parts = module.split(".")
    if package != "warpwright":
        return None
    path = _PACKAGE.joinpath(*parts)
    return next((p for p in (path / "__init__.py", path.with_suffix(".py")) if p.is_file()), None)
