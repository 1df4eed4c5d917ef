"""Where the host code of kernel.py sets what a launch passes: for findings about the launch, which have no PTX line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["HostLines"]

_NAME, _TEXT = "kernel.py", 100  # characters shown of a line


class HostLines:
    """The assignments of the function that launches `kernel`; nothing is found in a source that has none."""

    def __init__(self, source: str, kernel: str) -> None:
        self._lines = source.splitlines()
        self._assigned: dict[str, ast.Assign] = {}
        self._passed: list[str] = []  # names that the launch passes
        self._maps: list[str] = []  # those of them that are tensor maps
        self._launch = 0
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        taken = next((function.args.args for function in functions if function.name == kernel), [])
        for host in functions:
            for call in _launches(host, kernel):
                self._launch = call.lineno
                self._passed = [arg.id if isinstance(arg, ast.Name) else "" for arg in call.args]
                kinds = [ast.unparse(arg.annotation) if arg.annotation else "" for arg in taken]
                self._maps = [name for name, kind in zip(self._passed, kinds, strict=False) if "TmaInfo" in kind]
                for node in ast.walk(host):
                    if isinstance(node, ast.Assign):
                        for target in node.targets:
                            self._assigned |= {name.id: node for name in ast.walk(target) if isinstance(name, ast.Name)}

    def of_map(self, number: int) -> list[str]:
        """How the `number`-th tensor map is made, and the tensor that it is made of."""
        if number >= len(self._maps):
            return []
        name = self._maps[number]
        used: list[str] = []
        if name in self._assigned:
            calls = (node for node in ast.walk(self._assigned[name].value) if isinstance(node, ast.Call))
            used = [arg.id for call in calls for arg in call.args if isinstance(arg, ast.Name)]
        made = [each for each in (name, *used[1:2]) if each in self._assigned]
        return [self._line(self._assigned[each].lineno) for each in made]

    def of_value(self, name: str) -> list[str]:
        """How a value that the launch passes is computed."""
        if name in self._passed and name in self._assigned:
            return [self._line(self._assigned[name].lineno)]
        return self.of_launch()

    def of_launch(self) -> list[str]:
        return [self._line(self._launch)] if self._launch else []

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
