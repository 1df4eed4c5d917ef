"""Loading a YAML file: every mistake of the file is found before any is reported."""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel

from warpwright import families
from warpwright.canonical import plain
from warpwright.errors import VocabularyError
from warpwright.spec import elsewhere
from warpwright.spec.check import check
from warpwright.spec.errors import SpecError, SpecErrors
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.places import family_of, items, unknown_first
from warpwright.spec.reading import read
from warpwright.spec.report import Report
from warpwright.spec.schema import file_model, point_model
from warpwright.spec.spec import Spec
from warpwright.spec.sweep import overlay
from warpwright.spec.sweep_reader import Products, SweepReader
from warpwright.spec.where import Predicate, PredicateError
from warpwright.spec.yaml_nodes import Document, Path, compose, dotted, show

__all__ = ["load"]

#: Characters of all predicates together: each is evaluated at up to ten thousand points.
_LONGEST_WHERE = 4000


def load(path: str | os.PathLike[str]) -> Spec:
    """Read, check and expand one YAML file. Raises SpecErrors with every mistake of the file, sorted by line."""
    file = os.fspath(path)
    text = read(file)
    try:
        return _Loader(compose(text, file)).load()
    except VocabularyError as error:  # what a user added to a vocabulary, not the YAML file
        raise SpecErrors([SpecError(file, 0, 0, error.field, None, str(error))]) from None


class _Loader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.fields = Fields(family_of(document.data))
        self.report = Report(document, self.fields)
        self.places: list[Path] = []  # of the products of the sweep

    def load(self) -> Spec:
        data = self.document.data
        if not isinstance(data, dict):
            rule = f"a mapping with the keys {', '.join(self.fields.keys(()))}"
            text = None if data is None else show(data)
            raise SpecErrors(self.report.errors or [self.report.error((), "the file", text, rule)])
        self.known_family(data)
        base = {key: data.get(key) for key in ("kernel", "design") if key in data}
        tree = {key: value for key, value in data.items() if key != "sweep"}
        model = file_model(self.fields.family)
        faults = check(model, tree)
        for path, kind in unknown_first(faults):
            if kind != "missing" or path[0] not in ("kernel", "design"):
                self.report.add(path, path, kind, tree)
        sweep = SweepReader(self.report, data)
        products, self.places = sweep.products, sweep.places
        self.missing(base, products, {path for path, kind in faults.items() if kind == "value"})
        self.predicates(data.get("where"))
        if self.report.errors:
            raise SpecErrors(self.report.errors)
        # A part that the sweep completes would not do alone: the rest of the file is read beside any whole point.
        spec = self.spec(model, tree, base, products)
        self.points(spec)
        return spec

    def known_family(self, data: dict[str, Any]) -> None:
        """Stop at a family that there is not: what its other fields take cannot be told."""
        kernel = data.get("kernel")
        named = kernel.get("family") if isinstance(kernel, dict) else None
        at: Path = ("kernel", "family")
        if isinstance(named, str) and named not in families.NAMES and not self.document.is_bad(at):
            near = elsewhere.family(named) or nearest_name(named, families.NAMES)
            rule = f"one of {', '.join(families.NAMES)}"
            rule += "" if near else ": README.md says what is not offered, docs/add_a_family.md how it would be added"
            raise SpecErrors([*self.report.errors, self.report.error(at, dotted(at), show(named), rule, near)])

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

    def missing(self, base: dict[str, Any], products: Products, wrong: set[Path]) -> None:
        """Report fields that neither the file nor every product gives; not those inside `wrong` values."""
        model = point_model(self.fields.family)
        lacking: dict[Path, list[int]] = {}
        seen: dict[tuple[str, ...], list[Path]] = {}  # products of the same fields lack the same
        for index, product in enumerate(products):
            names = tuple(product)
            if names not in seen:
                given = [tuple(name.split(".")) for name in names]
                tree = base
                for field, values in zip(given, product.values(), strict=True):
                    tree = overlay(tree, field, values[0] if values else None)
                found = [path for path, kind in check(model, tree).items() if kind == "missing"]
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
            self.report.add(at, path, "missing", base, note)

    def predicates(self, where: Any) -> None:
        texts = items(("where",), where) if isinstance(where, tuple) else []
        if sum(len(text) for _, text in texts if isinstance(text, str)) > _LONGEST_WHERE:
            rule = f"at most {_LONGEST_WHERE:,} characters in all predicates together"
            self.report.tell(("where",), "where", None, rule)
            return
        for at, text in texts:
            if not isinstance(text, str) or self.document.is_bad(at):
                continue
            try:
                Predicate(text, self.fields)
            except PredicateError as error:
                self.report.errors.append(self.predicate_error(at, error))

    def predicate_error(self, at: Path, error: PredicateError) -> SpecError:
        return self.report.error(at, dotted(at), show(error.text), error.rule, error.nearest, error.nearest_is)

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
            raise SpecErrors([self.report.error(("where",), "where", None, rule)])
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
        raise SpecErrors([self.report.error(at, first.field, first.value, rule, first.nearest)])

    def place(self, spec: Spec, key: str) -> Path:
        """Where the file gives a field: in its sweep before its base."""
        for at, product in zip(self.places, spec.sweep, strict=True):
            for name in product:
                if key == name or key.startswith(f"{name}."):
                    return (*at, name)
        return tuple(key.split("."))
