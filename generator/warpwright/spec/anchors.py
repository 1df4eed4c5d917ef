"""The anchors of a YAML file: which values have a name, and where their parts are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Anchor", "Anchors"]

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Anchor:
    """A value that has a name: where it is, and the numbers of its parts' paths, its own first."""

    value: Any
    path: Path
    parts: range

    def depth(self, paths: Sequence[Path]) -> int:
        """How many levels it has."""
        return max(len(paths[number]) for number in self.parts) - len(self.path)


class Anchors:
    """Those of one file, as far as it is read; no name is given twice."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._ended: dict[str, Anchor] = {}

    def begin(self, name: str, line: int) -> int:
        """Note that the value of an anchor begins; returns the line on which its name is given already, or 0."""
        before = self._lines.get(name, 0)
        self._lines.setdefault(name, line)
        return before

    def end(self, name: str, value: Any, path: Path, parts: range) -> None:
        self._ended[name] = Anchor(value, path, parts)

    def get(self, name: str) -> Anchor | None:
        """The anchor of a name, None where there is none above, or where its value is still being read."""
        return self._ended.get(name)

    def missing(self, name: str) -> tuple[str, str]:
        """Why there is no such anchor, and what was meant, if anything is near."""
        if name in self._lines:
            return f"the anchor &{name} on line {self._lines[name]} holds itself", ""
        known = ", ".join(f"&{known}" for known in self._ended) or "none"
        near = difflib.get_close_matches(name[:60], self._ended, n=1)
        return f"no anchor &{name} above: there is {known}", f"*{near[0]}" if near else ""
