"""Which files of the package a module rests on: found by following imports in their text, and nothing is imported.

What a verdict was judged by is told by the digest of such a set (`pipeline/rests_on.py`, `device/judged_by.py`).
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Mapping

__all__ = ["closure"]


def closure(
    contents: Mapping[str, bytes], roots: Iterable[str], ends: Collection[str] = (), on_the_way: bool = True
) -> set[str]:
    """Return the names in `contents` of the roots and of all that they import, directly or not.

    Names are paths below the package. The imports of a file in `ends` are not followed. The `__init__.py` of a folder
    `on_the_way` to a module runs, and counts unless that is False; what it imports itself is for others.
    """
    found: set[str] = set()
    passed: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name in ends:
            continue
        for module in _imports(name, contents[name]):
            parts = module.split(".")
            targets = [f"{'/'.join(parts)}.py", "/".join([*parts, "__init__.py"])]
            waiting += [target for target in targets if target in contents]
            passed |= {"/".join([*parts[:count], "__init__.py"]) for count in range(1, len(parts))}
    return found | (passed & contents.keys() if on_the_way else set())


@functools.lru_cache(maxsize=2048)
def _imports(name: str, content: bytes) -> tuple[str, ...]:
    """Dotted names below the package that a module may import when it runs, wherever in it, and by a string as well.

    What is imported for types alone does not run. Kept, since the sets of several families have most files in common.
    """
    package = name.removesuffix(".py").split("/")[:-1]
    waiting: list[ast.AST] = [ast.parse(content)]
    found: list[str] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _for_types(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ["warpwright", *package[: len(package) + 1 - node.level]] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        waiting += ast.iter_child_nodes(node)
    return tuple(each.partition(".")[2] for each in found if each.startswith("warpwright."))


def _for_types(test: ast.expr) -> bool:
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"
