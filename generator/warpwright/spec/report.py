"""The mistakes of one file, each at its line, with the rule and a way out."""

from __future__ import annotations

import dataclasses
from typing import Any

from warpwright.spec import elsewhere
from warpwright.spec.check import Fault
from warpwright.spec.errors import SpecError
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.nearest import nearest
from warpwright.spec.places import swept_field, value_at
from warpwright.spec.ranges import KEYS
from warpwright.spec.yaml_nodes import Document, Path, dotted, show

__all__ = ["Report"]

#: Mistakes beyond these are counted as one: nobody reads so many, and each costs a search for what was meant.
_MOST = 200


class Report:
    """Collects what is wrong with a document; `errors` are the mistakes so far."""

    def __init__(self, document: Document, fields: Fields) -> None:
        self.document, self.fields = document, fields
        self.errors = [*document.errors, *(self._refused(path, error) for path, error in document.bad.items())]
        self.meant: set[Path] = set()  # fields that misspelt keys stand for: they are not missing as well

    @property
    def full(self) -> bool:
        return len(self.errors) >= _MOST

    def error(
        self, at: Path, key: str, value: str | None, rule: str, nearest: str = "", nearest_is: str = "legal value"
    ) -> SpecError:
        """A mistake at a place of the file."""
        mark = self.document.mark(at)
        # A collection may start lines below its key.
        at_key = value is None or mark.text is None
        line, column = (mark.key_line, mark.key_column) if at_key else (mark.line, mark.column)
        rule += f" (in {mark.via})" if mark.via else ""
        return SpecError(self.document.file, line, column, key, value, rule, nearest, nearest_is)

    def tell(
        self, at: Path, key: str, value: str | None, rule: str, nearest: str = "", nearest_is: str = "legal value"
    ) -> None:
        """Note a mistake."""
        if not self.full:
            self.errors.append(self.error(at, key, value, rule, nearest, nearest_is))

    def written(self, at: Path, value: Any) -> str | None:
        """A value as the file writes it; None for a collection of which a part could not be read."""
        mark = self.document.marks.get(at)
        if mark and mark.text is not None:
            return mark.text
        return None if any(bad[: len(at)] == at for bad in self.document.bad) else show(value)

    def add(self, at: Path, field: Path, kind: Fault, root: Any, note: str = "") -> None:
        """Note that the value at `at` in the file does not suit `field`; `root` holds the value at `field`."""
        if self.full or self.document.is_bad(at):
            return
        if kind == "missing":
            if not any(field[: len(meant)] == meant[: len(field)] for meant in self.meant):
                self.tell(at, dotted(field), None, f"missing{note}: {self.fields.rule(field)}")
        elif kind == "unknown":
            self._unknown(at, field)
        else:
            value = value_at(root, field)
            text = self.written(at, value)
            rule = self.fields.rule(field) + elsewhere.told_of_value(self.fields, field, value)
            self.tell(at, dotted(field), text, rule, nearest(self.fields, field, value, text) if text else "")

    def _unknown(self, at: Path, field: Path) -> None:
        """Note a key that there is not."""
        names = self.fields.keys(field[:-1])
        near, told = elsewhere.key(self.fields, field)
        near = near or ("" if told else nearest_name(str(field[-1]), names))
        if near:
            self.meant.add((*field[:-1], near))
        rule = "unknown key" if near else f"unknown key: {told or 'there are ' + ', '.join(names)}"
        self.tell(at, dotted(field), None, rule, near, "known key")

    def _refused(self, at: Path, error: SpecError) -> SpecError:
        """The error of a value that YAML itself leaves in doubt, with what its field takes."""
        if error.nearest_is != "legal value":
            return error  # an alias of nothing
        field = swept_field(at)
        field = field[:-1] if field[-1:] and field[-1] in KEYS and not self.fields.rule(field) else field  # of a range
        takes = self.fields.rule(field)
        if not takes:
            return dataclasses.replace(error, nearest="")  # what is legal there cannot be told
        near = nearest(self.fields, field, error.value, error.value or "", error.nearest)
        rule = f"{error.rule}; the field takes {takes}"
        return dataclasses.replace(error, key=dotted(field), rule=rule, nearest=near)
