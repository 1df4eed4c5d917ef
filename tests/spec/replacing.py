"""Does what a message says: puts what it offers in the place in the file that it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from warpwright.spec import SpecError

__all__ = ["offers"]


def offers(text: str, error: SpecError) -> Iterator[str]:
    """The file with what `error` offers instead of what it found; for a part of a predicate, each way to read that."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: error.line - 1]) + error.column - 1
    if error.nearest_is == "anchor":
        found = re.compile(r"\*[^\s,\]}]+").match(text, start)
        assert found, error
        yield text[:start] + error.nearest + text[found.end() :]
        return
    key, value = _nodes(text, error.line, error.column)
    if error.value is None:
        assert key is not None, error
        yield _put(text, key, error.nearest)
    elif error.key.startswith("where[") and error.nearest_is != "legal value":
        predicate = value.value
        wrong = r"""'[^']*'|"[^"]*\"""" if error.nearest_is == "of them" else r"[A-Za-z_][\w.]*"
        instead = f"'{error.nearest}'" if error.nearest_is == "of them" else error.nearest
        for found in re.finditer(wrong, predicate):
            changed = predicate[: found.start()] + instead + predicate[found.end() :]
            yield _put(text, value, yaml.safe_dump(changed, default_style='"', width=10**6).strip())
    else:
        yield _put(text, value, error.nearest)


def _put(text: str, node: yaml.Node, instead: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    taken = text[start:end]
    blank = taken[len(taken.rstrip()) :]  # a block ends where the next one begins
    return text[:start] + instead + blank + text[end:]


def _nodes(text: str, line: int, column: int) -> tuple[yaml.Node | None, yaml.Node]:
    """The key and the value that a place in the file speaks of."""

    def at(node: yaml.Node) -> bool:
        return (node.start_mark.line + 1, node.start_mark.column + 1) == (line, column)

    waiting: list[yaml.Node] = [yaml.compose(text, Loader=yaml.SafeLoader)]
    values: list[yaml.Node] = []
    while waiting:
        node = waiting.pop()
        if at(node):
            values.append(node)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if at(key):
                    return key, value
                waiting += [key, value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return None, values[-1]
