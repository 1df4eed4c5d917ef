"""Loading a YAML file: every mistake of the file is found before any is reported."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel

from warpwright import families
from warpwright.canonical import plain
from warpwright.errors import VocabularyError
from warpwright.spec.check import Fault, check
from warpwright.spec.errors import SpecError, SpecErrors
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.places import family_of, items, swept_field, unknown_first, value_at
from warpwright.spec.schema import file_model, point_model
from warpwright.spec.spec import Spec
from warpwright.spec.sweep import LIMIT, overlay, size
from warpwright.spec.where import Predicate, PredicateError
from warpwright.spec.yaml_nodes import Document, Path, compose, dotted, show

__all__ = ["load"]

Products = tuple[dict[str, tuple[Any, ...]], ...]


def load(path: str | os.PathLike[str]) -> Spec:
    """Read, check and expand one YAML file. Raises SpecErrors with every mistake of the file, sorted by line."""
    file = os.fspath(path)
    try:
        text = FilePath(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecErrors([SpecError(file, 0, 0, "", None, f"not UTF-8: byte {error.start}")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecErrors([SpecError(file, 0, 0, "", None, f"cannot be read: {reason}")]) from None
    try:
        return _Loader(compose(text, file)).load()
    except VocabularyError as error:  # what a user added to a vocabulary, not the YAML file
        raise SpecErrors([SpecError(file, 0, 0, error.field, None, str(error))]) from None


class _Loader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.fields = Fields(family_of(document.data))
        self.point_model = point_model(self.fields.family)
        self.errors = [*document.errors, *(self.refused(path, error) for path, error in document.bad.items())]
        self.places: list[Path] = [("sweep",)]  # of the products of the sweep
        self.meant: set[Path] = set()  # fields that misspelt keys stand for: they are not missing as well
        self.checked: dict[tuple[str, str], dict[Path, Fault]] = {}  # sweep values that were looked at before

    def load(self) -> Spec:
        data = self.document.data
        if not isinstance(data, dict):
            rule = f"a mapping with the keys {', '.join(self.fields.keys(()))}"
            text = None if data is None else show(data)
            raise SpecErrors(self.errors or [self.error((), "the file", text, rule)])
        self.knownfamily(data)
        base = {key: data.get(key) for key in ("kernel", "design") if key in data}
        tree = {key: value for key, value in data.items() if key != "sweep"}
        model = file_model(self.fields.family)
        faults = check(model, tree)
        for path, kind in unknown_first(faults):
            if kind != "missing" or path[0] not in ("kernel", "design"):
                self.add(path, path, kind, tree)
        products = self.sweep(data)
        self.missing(base, products, {path for path, kind in faults.items() if kind == "value"})
        self.predicates(data.get("where"))
        if self.errors:
            raise SpecErrors(self.errors)
        # A part that the sweep completes would not do alone: the rest of the file is read beside any whole point.
        spec = self.spec(model, tree, base, products)
        self.points(spec)
        return spec

    def knownfamily(self, data: dict[str, Any]) -> None:
        """Stop at a family that there is not: what its other fields take cannot be told."""
        kernel = data.get("kernel")
        named = kernel.get("family") if isinstance(kernel, dict) else None
        at: Path = ("kernel", "family")
        if isinstance(named, str) and named not in families.NAMES and not self.document.is_bad(at):
            rule = f"one of {', '.join(families.NAMES)}"
            near = nearest_name(named, families.NAMES) or families.NAMES[0]
            raise SpecErrors([*self.errors, self.error(at, dotted(at), show(named), rule, near)])

    def spec(self, model: type[BaseModel], tree: dict[str, Any], base: dict[str, Any], products: Products) -> Spec:
        whole = base
        for path, values in products[0].items():
            whole = overlay(whole, path.split("."), values[0])
        read: Any = model.model_validate({**tree, **whole})
        return Spec(
            source=self.document.file,
            family=self.fields.family,
            name=read.name,
            purpose=read.purpose,
            kernel=base.get("kernel") or {},
            design=base.get("design") or {},
            sweep=products,
            where=read.where,
            evidence=read.evidence,
            validate=plain(read.validation),
            bench=plain(read.bench),
        )

    def error(
        self, at: Path, key: str, value: str | None, rule: str, nearest: str = "", nearest_is: str = "legal value"
    ) -> SpecError:
        mark = self.document.mark(at)
        # A collection may start lines below its key.
        at_key = value is None or mark.text is None
        line, column = (mark.key_line, mark.key_column) if at_key else (mark.line, mark.column)
        return SpecError(self.document.file, line, column, key, value, rule, nearest, nearest_is)

    def refused(self, at: Path, error: SpecError) -> SpecError:
        """The error of a value that YAML itself leaves in doubt, with what its field takes."""
        field = swept_field(at)
        takes = self.fields.rule(field)
        if not takes:
            return dataclasses.replace(error, nearest="")  # what is legal there cannot be told
        free_text = "string" in self.fields.accepts(field)[0]
        near = self.fields.nearest(field, error.value) or (error.nearest if free_text else "")
        rule = f"{error.rule}; the field takes {takes}"
        return dataclasses.replace(error, key=dotted(field), rule=rule, nearest=near)

    def add(self, at: Path, field: Path, kind: Fault, root: Any, note: str = "") -> None:
        """Report that the value at `at` in the file does not suit `field`; `root` holds the value at `field`."""
        if self.document.is_bad(at):
            return
        key = dotted(field)
        if kind == "missing":
            if any(field[: len(meant)] == meant[: len(field)] for meant in self.meant):
                return
            self.errors.append(self.error(at, key, None, f"missing{note}: {self.fields.rule(field)}"))
        elif kind == "unknown":
            names = self.fields.keys(field[:-1])
            near = nearest_name(str(field[-1]), names)
            if near:
                self.meant.add((*field[:-1], near))
            rule = "unknown key" if near else f"unknown key: there are {', '.join(names)}"
            self.errors.append(self.error(at, key, None, rule, near, "known key"))
        else:
            value = value_at(root, field)
            mark = self.document.marks.get(at)
            text = mark.text if mark and mark.text is not None else show(value)
            self.errors.append(self.error(at, key, text, self.fields.rule(field), self.fields.nearest(field, value)))

    def sweep(self, data: dict[str, Any]) -> Products:
        """The products of the sweep, each value checked as if it stood in the field itself."""
        if "sweep" not in data or self.document.is_bad(("sweep",)):
            return ({},)
        sweep = data["sweep"]
        if not isinstance(sweep, (dict, tuple)) or sweep == ():
            rule = "a mapping of fields to lists of values, or a list of one or more such mappings"
            self.errors.append(self.error(("sweep",), "sweep", show(sweep), rule))
            return ({},)
        products = []
        self.places = []
        for at, product in [(("sweep",), sweep)] if isinstance(sweep, dict) else items(("sweep",), sweep):
            if isinstance(product, dict):
                self.places.append(at)
                products.append({path: self.values(at, path, values, product) for path, values in product.items()})
            elif not self.document.is_bad(at):
                rule = "a mapping of fields to lists of values"
                self.errors.append(self.error(at, dotted(at), show(product), rule))
        if (count := size(products)) > LIMIT:
            widest = max(products, key=lambda product: math.prod(map(len, product.values())))
            factors = " x ".join(f"{path} ({len(values)})" for path, values in widest.items() if len(values) > 1)
            share = f"{factors} gives {size([widest]):,} of them" if len(products) > 1 else factors
            rule = f"at most {LIMIT:,} points: {share}; shorten the lists, or split the file"
            self.errors.append(self.error(("sweep",), "sweep", f"{count:,} points", rule))
        return tuple(products)

    def values(self, at: Path, key: str, values: Any, product: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of one swept field; empty where there are none to expand."""
        here = (*at, key)
        if self.document.is_bad(here):
            return ()
        if key not in self.fields.paths:
            near = nearest_name(key, self.fields.paths)
            if near:
                self.meant.add(tuple(near.split(".")))
            rule = "no field of kernel or design has this path"
            self.errors.append(self.error(here, key, None, rule, near, "field"))
            return ()
        field = tuple(key.split("."))
        if not isinstance(values, tuple) or not values:
            alone = values not in (None, ()) and not self.in_place(key, field, values)
            near = show((values,)) if alone else ""
            self.errors.append(self.error(here, key, show(values), "a list of one or more values", near))
            return ()
        if outer := next((other for other in product if key.startswith(f"{other}.")), None):
            rule = f"part of {outer}, which the same product sweeps: give one of the two"
            self.errors.append(self.error(here, key, None, rule))
            return ()
        for index, value in enumerate(values):
            tree = overlay({}, field, value)
            for path, kind in unknown_first(self.in_place(key, field, value)):
                self.add((*here, index, *path[len(field) :]), path, kind, tree)
        return values

    def in_place(self, key: str, field: tuple[str, ...], value: Any) -> dict[Path, Fault]:
        """What is wrong with a value of a swept field, as if it stood in the field itself."""
        known = self.checked.get((key, repr(value)))
        if known is None:
            found = check(self.point_model, overlay({}, field, value))
            known = {path: kind for path, kind in found.items() if path[: len(field)] == field}
            self.checked[key, repr(value)] = known
        return known

    def missing(self, base: dict[str, Any], products: Products, wrong: set[Path]) -> None:
        """Report fields that neither the file nor every product gives; not those inside `wrong` values."""
        lacking: dict[Path, list[int]] = {}
        seen: dict[tuple[str, ...], list[Path]] = {}  # products of the same fields lack the same
        for index, product in enumerate(products):
            names = tuple(product)
            if names not in seen:
                given = [tuple(name.split(".")) for name in names]
                tree = base
                for field, values in zip(given, product.values(), strict=True):
                    tree = overlay(tree, field, values[0] if values else None)
                found = [path for path, kind in check(self.point_model, tree).items() if kind == "missing"]
                seen[names] = [p for p in found if not any(p[: len(g)] == g for g in (*given, *wrong))]
            for path in seen[names]:
                lacking.setdefault(path, []).append(index)
        for path, indices in lacking.items():
            at, note = path, ""
            if len(indices) < len(products):
                at, note = self.places[indices[0]], " in this product and outside the sweep"
            elif path[:-1] not in self.document.marks:  # the sweep alone gives its neighbours
                neighbours = [name for name in products[0] if name.startswith(dotted(path[:-1]) + ".")]
                at = (*self.places[0], neighbours[0]) if neighbours else path
            self.add(at, path, "missing", base, note)

    def predicates(self, where: Any) -> None:
        for at, text in items(("where",), where) if isinstance(where, tuple) else []:
            if not isinstance(text, str) or self.document.is_bad(at):
                continue
            try:
                Predicate(text, self.fields)
            except PredicateError as error:
                self.errors.append(self.predicate_error(at, error))

    def predicate_error(self, at: Path, error: PredicateError) -> SpecError:
        return self.error(at, dotted(at), show(error.text), error.rule, error.nearest, error.nearest_is)

    def points(self, spec: Spec) -> None:
        """Expand, and check what only whole points show."""
        try:
            expansion = spec.expansion
        except PredicateError as error:
            at = ("where", spec.where.index(error.text))
            raise SpecErrors([self.predicate_error(at, error)]) from None
        if not expansion.points:
            removed = "; ".join(f"{text} removed {n}" for text, n in zip(spec.where, expansion.removed, strict=True))
            rule = f"leaves none of the {sum(expansion.removed)} points of the sweep ({removed})"
            raise SpecErrors([self.error(("where",), "where", None, rule)])
        self.conflicts(spec)

    def conflicts(self, spec: Spec) -> None:
        """Report the first kernel whose fields contradict each other, and how to drop such points of a sweep."""
        conflict = families.family(spec.family).conflict
        points = spec.expansion.points
        found = [told for told in (conflict(point.kernel) for point in points) if told is not None]
        if not found:
            return
        first, rule = found[0], found[0].rule
        if len(found) < len(points):
            rule += f" at {len(found)} of {len(points)} points; `where: [{first.predicate}]` drops them"
        at = self.place(spec, first.field)
        raise SpecErrors([self.error(at, first.field, first.value, rule, first.nearest)])

    def place(self, spec: Spec, key: str) -> Path:
        """Where the file gives a field: in its sweep before its base."""
        for at, product in zip(self.places, spec.sweep, strict=True):
            for name in product:
                if key == name or key.startswith(f"{name}."):
                    return (*at, name)
        return tuple(key.split("."))
