"""YAML text to plain data with a position for every key and value.

PyYAML scans and parses; only the last step, events to values, is done here, because PyYAML's own constructor
forgets positions, lets the last of two equal keys win and reads `no` as false. An alias is the value of its anchor, and
what is wrong there names both lines; all values of a file, those of its aliases included, are bounded in number. Merge
keys and tags are refused: a sweep says the same without a second way to write a mapping.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from warpwright.spec.anchors import Anchors
from warpwright.spec.errors import SpecError, SpecErrors
from warpwright.spec.scalars import Surprise, read_plain
from warpwright.text import printable, shortened

__all__ = ["Document", "Mark", "Path", "compose", "dotted", "show"]

#: The way to a value: mapping keys and list indices from the root.
Path = tuple[str | int, ...]

#: libyaml where PyYAML was built with it (every wheel is): ten times faster, the same events.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 20  # a legal file nests 6 deep
#: Values of one file: a sweep of ten thousand points that spells out each takes a tenth of a million.
_MOST_VALUES = 150_000
#: Mistakes after which the rest is not looked at.
_MOST_MISTAKES = 1000


@dataclass(frozen=True)
class Mark:
    """Where a key and its value start (from 1), and the value as written (scalars only).

    `via` says which alias brought the value here, and where it is written; "" where it is written here.
    """

    key_line: int
    key_column: int
    line: int
    column: int
    text: str | None
    via: str = ""


@dataclass
class Document:
    """Plain data (dict, tuple, scalars), the marks of its paths, and what is wrong with it as YAML.

    `bad` holds what is wrong with single values, by path; None stands for such a value in `data`. `told` are paths at
    which an alias repeats one of them.
    """

    file: str
    data: Any = None
    marks: dict[Path, Mark] = field(default_factory=dict)
    errors: list[SpecError] = field(default_factory=list)
    bad: dict[Path, SpecError] = field(default_factory=dict)
    told: set[Path] = field(default_factory=set)

    def mark(self, path: Path) -> Mark:
        """The mark of `path`, or of the nearest value around it."""
        while path not in self.marks:
            path = path[:-1]
        return self.marks[path]

    def is_bad(self, path: Path) -> bool:
        known = self.bad or self.told
        return bool(known) and any(
            path[:length] in self.bad or path[:length] in self.told for length in range(len(path) + 1)
        )


def dotted(path: Path) -> str:
    """`("bench", "problems", 0, "m")` as `bench.problems[0].m`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def show(value: Any, limit: int = 60) -> str:
    """A value in YAML's flow style, cut at `limit` characters."""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{printable(str(k))}: {show(v)}" for k, v in value.items()) + "}"
    elif isinstance(value, tuple):
        text = "[" + ", ".join(map(show, value)) + "]"
    elif isinstance(value, str):
        text = value if _bare(value) else quoted(value)
    else:
        text = json.dumps(value)
    return shortened(text, limit)


def quoted(text: str) -> str:
    """A text in double quotes, as YAML reads it."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _bare(text: str) -> bool:
    """Whether a text may stand in a flow collection without quotes, and is then read as it stands."""
    if not text.isprintable() or read_plain(text) != text or text != text.strip():
        return False
    return (
        text[0] not in "-?:,[]{}#&*!|>'\"%@`"
        and not any(c in text for c in ",[]{}")
        and not any(c in text for c in (": ", " #", ':"'))
        and text[-1] != ":"
    )


def compose(text: str, file: str) -> Document:
    """Read one YAML document.

    Mistakes that leave the rest readable are collected in `errors`; SpecErrors is raised only where nothing
    after the mistake can be read (syntax, nesting too deep, no document at all).
    """
    composer = _Composer(text, file)
    try:
        composer.run()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        context = f"{error.context}, " if error.context else ""
        composer.stop(line, column, f"not YAML: {context}{error.problem}")
    except yaml.YAMLError as error:  # characters that YAML does not allow: no mark
        composer.stop(0, 0, "not YAML: " + " ".join(str(error).split()))
    return composer.document


def _plain(event: Any) -> bool:
    """Whether a scalar is unquoted; the style of such is None in PyYAML's parser and "" in libyaml's."""
    return not event.style


class _Composer:
    def __init__(self, text: str, file: str) -> None:
        self.document = Document(file)
        self.paths: list[Path] = []  # of all values, in the order in which they end up in the document
        self.anchors = Anchors()
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=_Loader))

    def stop(self, line: int, column: int, rule: str) -> None:
        error = SpecError(self.document.file, line, column, "", None, rule)
        raise SpecErrors([*self.document.errors, *self.document.bad.values(), error])

    def error(self, event: Any, key: str, value: str | None, rule: str, near: str = "", what: str = "") -> SpecError:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        return SpecError(self.document.file, line, column, key, value, rule, near, what or "legal value")

    def report(self, event: Any, key: str, value: str | None, rule: str) -> None:
        self.document.errors.append(self.error(event, key, value, rule))

    def run(self) -> None:
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    start: Any = event.start_mark
                    self.stop(start.line + 1, 1, "one file holds one document: a second one starts here")
            elif isinstance(event, yaml.NodeEvent):
                self.document.data = self.value(event, (), event)
        if self.document.data is None and not self.document.errors and not self.document.bad:
            self.stop(0, 0, "the file is empty")

    def value(self, event: Any, path: Path, key_event: Any) -> Any:
        """The plain value that starts with `event`; leaves its marks behind."""
        self.room(event, 1, len(path))
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, path, key_event)
        key, start = key_event.start_mark, event.start_mark
        scalar = isinstance(event, yaml.ScalarEvent)
        text = (event.value if _plain(event) else quoted(event.value)) if scalar else None
        first = len(self.paths)
        self.mark(
            path, Mark(key.line + 1, key.column + 1, start.line + 1, start.column + 1, "null" if text == "" else text)
        )
        name = event.anchor
        if name is not None and (line := self.anchors.begin(name, start.line + 1)):
            rule = f"the anchor &{name} is on line {line} already: give this one another name"
            self.report(event, dotted(path), f"&{name}", rule)
            name = None
        if event.tag is not None:
            self.refuse(event, path, event.tag, "tags are not supported: the field says which type it has")
        if scalar:
            value = self.scalar(event, path)
        else:
            value = self.mapping(path) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path)
        if name is not None:
            self.anchors.end(name, value, path, range(first, len(self.paths)))
        return value

    def mark(self, path: Path, mark: Mark) -> None:
        # The first of two equal keys keeps its marks: it is the one whose value counts.
        self.document.marks.setdefault(path, mark)
        self.paths.append(path)

    def room(self, event: Any, more: int, depth: int) -> None:
        """Stop where the file has too much of something: values, mistakes, levels."""
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if depth > _DEEPEST:
            self.stop(line, column, f"nested deeper than {_DEEPEST} levels")
        if len(self.paths) + more > _MOST_VALUES:
            self.stop(line, column, f"more than {_MOST_VALUES:,} values, those of aliases included")
        if len(self.document.errors) + len(self.document.bad) >= _MOST_MISTAKES:
            self.stop(line, column, f"{_MOST_MISTAKES:,} mistakes are above: what follows was not looked at")

    def alias(self, event: Any, path: Path, key_event: Any) -> Any:
        """The value of an anchor, with a mark for each of its parts that says where it is used, and where written."""
        key, start = key_event.start_mark, event.start_mark
        at = key.line + 1, key.column + 1, start.line + 1, start.column + 1
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            self.mark(path, Mark(*at, f"*{event.anchor}"))
            rule, near = self.anchors.missing(event.anchor)
            self.refuse(event, path, f"*{event.anchor}", rule, near, "anchor")
            return None
        marks, depth = self.document.marks, len(anchor.path)
        self.room(event, len(anchor.parts), len(path) + anchor.depth(self.paths))
        for number in anchor.parts:
            part = self.paths[number]
            written, here = marks[part], (*path, *part[depth:])
            via = written.via or f"*{event.anchor}, written on line {written.line}"
            self.mark(here, Mark(*(at if number == anchor.parts[0] else at[2:] * 2), written.text, via))
            if part in self.document.bad or part in self.document.told:
                self.document.told.add(here)
        return anchor.value

    def refuse(self, event: Any, path: Path, value: str, rule: str, instead: str = "", what: str = "") -> None:
        self.document.bad.setdefault(path, self.error(event, dotted(path), value, rule, instead, what))

    def scalar(self, event: Any, path: Path) -> Any:
        if not _plain(event):
            return event.value
        value = read_plain(event.value)
        if not isinstance(value, Surprise):
            return value
        self.refuse(event, path, event.value, value.rule, value.instead)
        return None

    def sequence(self, path: Path) -> tuple[Any, ...]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.value(event, (*path, len(items)), event))
        return tuple(items)

    def mapping(self, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.key(event, path)
            value = self.value(next(self.events), (*path, "?" if key is None else key), event)
            if key is None:
                continue
            if key in result:
                name = dotted((*path, key))
                self.report(event, name, None, f"this key is already on line {lines[key]}: remove one of the two")
            else:
                result[key], lines[key] = value, event.start_mark.line + 1
        return result

    def key(self, event: Any, path: Path) -> str | None:
        """The text of a key, or None (reported) where it is none."""
        where = dotted(path)
        if not isinstance(event, yaml.ScalarEvent):
            self.report(event, where, None, "a key is a plain word")
            self.value(event, (*path, "?"), event)
            return None
        if event.anchor is not None or event.tag is not None:
            self.report(event, where, None, "keys have no anchors and no tags: an anchor stands before a value")
        name = dotted((*path, event.value))
        if _plain(event) and event.value == "<<":
            self.report(event, name, None, "merge keys are not supported: write the values out, or sweep them")
            return None
        value = read_plain(event.value) if _plain(event) else event.value
        if isinstance(value, Surprise):
            self.report(event, name, None, f"not usable as a key: {value.rule}")
            return None
        if not isinstance(value, str):
            self.report(event, name, None, "a key is a plain word")
            return None
        return value
