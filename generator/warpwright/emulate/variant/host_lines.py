"""Where the host code of kernel.py sets what a launch passes: for findings about the launch, which have no PTX line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["HostLines"]

_NAME, _TEXT = "kernel.py", 100  # characters shown of a line


@dataclass
class _Host:
    """`assigned`: the last assignment of each name; `passed`: names that the launch passes; `maps`: the tensor maps
    among them; `launch`: its line, 0 if there is none."""

    assigned: dict[str, ast.Assign] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    maps: list[str] = field(default_factory=list)
    launch: int = 0


class HostLines:
    """The assignments of the function that launches `kernel`; nothing is found in a source that has none.

    The source is read when it is first asked for: a right kernel needs none of it.
    """

    def __init__(self, source: str, kernel: str) -> None:
        self._lines, self._kernel = source.splitlines(), kernel

    @cached_property
    def _host(self) -> _Host:
        found = _Host()
        try:
            tree = ast.parse("\n".join(self._lines))
        except SyntaxError:
            return found
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        taken = next((function.args.args for function in functions if function.name == self._kernel), [])
        for host in functions:
            for call in _launches(host, self._kernel):
                found.launch = call.lineno
                found.passed = [arg.id if isinstance(arg, ast.Name) else "" for arg in call.args]
                kinds = [ast.unparse(arg.annotation) if arg.annotation else "" for arg in taken]
                found.maps = [name for name, kind in zip(found.passed, kinds, strict=False) if "TmaInfo" in kind]
                for node in ast.walk(host):
                    if isinstance(node, ast.Assign):
                        for target in node.targets:
                            found.assigned |= {name.id: node for name in ast.walk(target) if isinstance(name, ast.Name)}
        return found

    def of_map(self, number: int) -> list[str]:
        """How the `number`-th tensor map is made, and the tensor that it is made of."""
        if number >= len(self._host.maps):
            return []
        name = self._host.maps[number]
        used: list[str] = []
        if name in self._host.assigned:
            calls = (node for node in ast.walk(self._host.assigned[name].value) if isinstance(node, ast.Call))
            used = [arg.id for call in calls for arg in call.args if isinstance(arg, ast.Name)]
        made = [each for each in (name, *used[1:2]) if each in self._host.assigned]
        return [self._line(self._host.assigned[each].lineno) for each in made]

    def of_value(self, name: str) -> list[str]:
        """How a value that the launch passes is computed."""
        if name in self._host.passed and name in self._host.assigned:
            return [self._line(self._host.assigned[name].lineno)]
        return self.of_launch()

    def of_launch(self) -> list[str]:
        return [self._line(self._host.launch)] if self._host.launch else []

    def _line(self, number: int) -> str:
        text = self._lines[number - 1].strip()
        return f"{_NAME}:{number}: {text if len(text) <= _TEXT else text[: _TEXT - 3] + '...'}"


def _launches(host: ast.FunctionDef, kernel: str) -> Iterator[ast.Call]:
    """The calls `kernel(...)` in `kernel(...).launch(...)`."""
    for node in ast.walk(host):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "launch":
            call = node.func.value
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == kernel:
                yield call
