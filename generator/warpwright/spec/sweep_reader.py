"""Reads the sweep of a file: its products, each value checked as if it stood in the field itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from warpwright.spec import elsewhere, ranges
from warpwright.spec.check import Fault, check
from warpwright.spec.fields import nearest_name
from warpwright.spec.nearest import would_do
from warpwright.spec.places import items, unknown_first
from warpwright.spec.report import Report
from warpwright.spec.schema import point_model
from warpwright.spec.sweep import LIMIT, overlay, size
from warpwright.spec.yaml_nodes import Path, dotted, show

__all__ = ["Products", "SweepReader"]

Products = tuple[dict[str, tuple[Any, ...]], ...]


class SweepReader:
    """`products` are those of the sweep, `places` where each of them is in the file."""

    def __init__(self, report: Report, data: Mapping[str, Any]) -> None:
        self.report, self.fields = report, report.fields
        self.point_model = point_model(self.fields.family)
        self.places: list[Path] = [("sweep",)]
        self._known: dict[tuple[str, str], dict[Path, Fault]] = {}  # values that were looked at before
        self.products = self._products(data)

    def _products(self, data: Mapping[str, Any]) -> Products:
        report = self.report
        if "sweep" not in data or report.document.is_bad(("sweep",)):
            return ({},)
        sweep = data["sweep"]
        if not isinstance(sweep, (dict, tuple)) or sweep == ():
            rule = "a mapping of fields to lists of values, or a list of one or more such mappings"
            report.tell(("sweep",), "sweep", show(sweep), rule)
            return ({},)
        products = []
        self.places = []
        for at, product in [(("sweep",), sweep)] if isinstance(sweep, dict) else items(("sweep",), sweep):
            if isinstance(product, dict):
                self.places.append(at)
                products.append({path: self._values(at, path, values, product) for path, values in product.items()})
            elif not report.document.is_bad(at):
                report.tell(at, dotted(at), show(product), "a mapping of fields to lists of values")
        if (count := size(products)) > LIMIT:
            widest = max(products, key=lambda product: math.prod(map(len, product.values())))
            factors = " x ".join(f"{path} ({len(values)})" for path, values in widest.items() if len(values) > 1)
            share = f"{factors} gives {size([widest]):,} of them" if len(products) > 1 else factors
            rule = f"at most {LIMIT:,} points: {share}; shorten the lists, or split the file"
            report.tell(("sweep",), "sweep", f"{count:,} points", rule)
        return tuple(products)

    def _values(self, at: Path, key: str, values: Any, product: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of one swept field; empty where there are none to expand."""
        here = (*at, key)
        if self.report.full or self.report.document.is_bad(here):
            return ()
        if key not in self.fields.paths:
            self._unknown(here, key)
            return ()
        field = tuple(key.split("."))
        kinds = self.fields.kinds(field)
        if ranges.is_range(values, kinds):
            return self._range(here, key, field, values)
        if not isinstance(values, tuple) or not values:
            self._no_list(here, key, field, values)
            return ()
        if outer := next((other for other in product if key.startswith(f"{other}.")), None):
            rule = f"part of {outer}, which the same product sweeps: give one of the two"
            self.report.tell(here, key, None, rule)
            return ()
        found: list[Any] = []
        for index, value in enumerate(values):
            if ranges.is_range(value, kinds):
                found += self._range((*here, index), key, field, value)
            else:
                self._check((*here, index), key, field, value)
                found.append(value)
        return tuple(found)

    def _unknown(self, here: Path, key: str) -> None:
        told = elsewhere.field_for(self.fields, key)
        near = told if told in self.fields.paths else "" if " " in told else nearest_name(key, self.fields.paths)
        if near:
            self.report.meant.add(tuple(near.split(".")))
        rule = "no field of kernel or design has this path" + (f": {told}" if " " in told else "")
        self.report.tell(here, key, None, rule, near, "field")

    def _no_list(self, here: Path, key: str, field: Path, values: Any) -> None:
        numbers = "number" in self.fields.kinds(field)
        near = ranges.written_otherwise(values) if numbers else ""
        if near and not all(would_do(self.fields, field, end) for end in _ends(near)):
            near = ""
        if not near and values != () and not self.in_place(key, field, values):
            near = show((values,))
        either = ", or a range {from: .., to: ..}" if numbers else ""
        self.report.tell(here, key, self.report.written(here, values), f"a list of one or more values{either}", near)

    def _range(self, at: Path, key: str, field: Path, value: dict[str, Any]) -> tuple[Any, ...]:
        """The values of a range, each end checked as if it stood in the field: what is between is legal if they are."""
        report, wrong = self.report, False
        for end, rule, near, what, of_value in ranges.faults(value, LIMIT):
            wrong, place = True, (*at, end) if end in value else at
            if report.document.is_bad(place):
                continue
            text = report.written(place, value[end]) if of_value else None
            report.tell(place, f"{key}.{end}", text, rule, near, what or "legal value")
        if wrong:
            return ()
        for end in ("from", "to"):
            self._check((*at, end), key, field, value[end])
        return tuple(ranges.expanded(value))

    def _check(self, at: Path, key: str, field: Path, value: Any) -> None:
        if self.report.full:
            return
        tree = overlay({}, key.split("."), value)
        for path, kind in unknown_first(self.in_place(key, field, value)):
            self.report.add((*at, *path[len(field) :]), path, kind, tree)

    def in_place(self, key: str, field: Path, value: Any) -> dict[Path, Fault]:
        """What is wrong with a value of a swept field, as if it stood in the field itself."""
        known = self._known.get((key, repr(value)))
        if known is None:
            found = check(self.point_model, overlay({}, key.split("."), value))
            known = {path: kind for path, kind in found.items() if path[: len(field)] == field}
            self._known[key, repr(value)] = known
        return known


def _ends(text: str) -> list[str]:
    """The two ends of a range as it is written."""
    return [part.partition(":")[2].strip(" }") for part in text.split(",")[:2]]
