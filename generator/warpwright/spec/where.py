"""`where`: predicates over the fields of a point, evaluated without being able to run code.

The evaluator is simpleeval: one file without dependencies, maintained for more than ten years, that walks
Python's own syntax tree and bounds the size of every result. (asteval can import and assign, so it does too
much; rule-engine and cel-python bring a grammar of their own and several dependencies.) It is used below its
abilities: each dotted field becomes one plain name before evaluation, so no attribute is ever looked up, and
only the node types of `_ALLOWED` get as far as the evaluator.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from simpleeval import DEFAULT_OPERATORS, EvalWithCompoundTypes, InvalidExpression  # type: ignore[import-untyped]

from warpwright.point import Point
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.yaml_nodes import show

__all__ = ["Predicate", "PredicateError"]

_LONGEST = 1000  # characters
_DEEPEST = 60  # levels of the syntax tree, each of which costs three frames of the interpreter's stack
_FUNCTIONS = {"min": min, "max": max, "abs": abs}
_OPERATIONS = (ast.And, ast.Or, ast.Not, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_ALLOWED = (
    *(ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List, ast.Call),
    *_OPERATIONS,
    *_COMPARISONS,
)
_OPERATORS = {kind: function for kind, function in DEFAULT_OPERATORS.items() if kind in _ALLOWED}


class PredicateError(Exception):
    """Why the predicate `text` cannot be used; `nearest` is the `nearest_is` to write instead, if any."""

    def __init__(self, text: str, rule: str, nearest: str = "", nearest_is: str = "field") -> None:
        self.text, self.rule, self.nearest, self.nearest_is = text, rule, nearest, nearest_is
        super().__init__(f"{text}: {rule}")


class Predicate:
    """A predicate whose syntax, fields and constants are checked. Raises PredicateError.

    Fields are named from below `design` or `kernel` (`tile.m`, `a.dtype`) or in full; a list of things that may be
    written as bare names is the list of these names. Operators: + - * / // %, comparisons, in, and, or, not; functions:
    min, max, abs.
    """

    def __init__(self, text: str, fields: Fields) -> None:
        self.text = text
        if len(text) > _LONGEST:
            raise PredicateError(text[:40] + "...", f"longer than {_LONGEST} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            hint = " (== compares)" if re.search(r"[^=<>!]=[^=]", text) else ""
            raise PredicateError(text, f"not an expression: {error.msg}{hint}") from None
        except (ValueError, RecursionError, MemoryError):
            raise PredicateError(text, "not an expression: nested too deep, or with a null character") from None
        if _depth(tree) > _DEEPEST:
            raise PredicateError(text, f"nested deeper than {_DEEPEST} levels")
        self._tree = _Names(text, fields).visit(tree)
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Compare):
                _check_constants(text, node, fields)
        names = [node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        self.fields = tuple(dict.fromkeys(name for name in names if name not in _FUNCTIONS))
        if not self.fields:
            raise PredicateError(text, "names no field, so it is the same for every point")
        self._evaluator = EvalWithCompoundTypes(operators=_OPERATORS, functions=dict(_FUNCTIONS))

    def holds(self, point: Point) -> bool:
        """Whether the predicate holds at `point`; raises PredicateError where it is neither true nor false."""
        self._evaluator.names = _Values(point)
        try:
            result = self._evaluator.eval(self.text, previously_parsed=self._tree)
        except _AbsentError as absent:
            raise PredicateError(self.text, f"there is no {absent}") from None
        except (TypeError, ZeroDivisionError, OverflowError, RecursionError, InvalidExpression) as error:
            raise PredicateError(self.text, f"has no value where {self._values(point)}: {error}") from None
        if not isinstance(result, bool):
            rule = f"must be true or false, and is {show(result)} where {self._values(point)}"
            raise PredicateError(self.text, rule)
        return result

    def _values(self, point: Point) -> str:
        values = _Values(point)
        known = []
        for name in self.fields:
            try:
                known.append(f"{_short(name)} = {show(values[name])}")
            except _AbsentError:
                continue
        return ", ".join(known)


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


class _AbsentError(Exception):
    """A field that a point does not have, because what is around it is `auto`, `none` or null there."""


class _Values:
    """The fields of a point by dotted path, looked up only when a predicate asks."""

    def __init__(self, point: Point) -> None:
        self.point = point

    def __getitem__(self, name: str) -> Any:
        part, *path = name.split(".")
        value: Any = getattr(self.point, part)
        for depth, step in enumerate(path):
            if not isinstance(value, BaseModel):
                around = _short(".".join([part, *path[:depth]]))
                raise _AbsentError(f"{_short(name)} where {around} = {show(value)}: test {around} first")
            value = getattr(value, step)
        if isinstance(value, tuple):
            return tuple(map(_bare, value))
        return value.model_dump() if isinstance(value, BaseModel) else value


def _bare(item: Any) -> Any:
    """An item of a list as its short form: the field that a bare name stands for."""
    shorthand = getattr(item, "shorthand", None)
    return item if shorthand is None else getattr(item, shorthand)


def _short(name: str) -> str:
    return name.removeprefix("design.")


def _full(name: str, fields: Fields) -> str | None:
    """The full path of a field that is no mere subtree; design goes before kernel."""
    for path in (f"design.{name}", f"kernel.{name}", name):
        if path in fields.paths:
            types, choices = fields.accepts(tuple(path.split(".")))
            return path if choices or types - {"object"} else None
    return None


class _Names(ast.NodeTransformer):
    """Turns each dotted field into one name (its full path), and refuses what a predicate has no use for."""

    def __init__(self, text: str, fields: Fields) -> None:
        self.text, self.fields = text, fields

    def field(self, node: ast.expr) -> ast.Name:
        name = ast.unparse(node)
        path = _full(name, self.fields)
        if path is None:
            names = [_short(path) for path in self.fields.paths if _full(path, self.fields)]
            raise PredicateError(self.text, f"no field is named {name}", nearest_name(name, names))
        return ast.Name(id=path, ctx=ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self.field(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.field(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
            called = ast.unparse(node.func)
            raise PredicateError(self.text, f"{called} is no function here; there are {', '.join(_FUNCTIONS)}")
        if node.keywords:
            raise PredicateError(self.text, f"{node.func.id} takes no keywords")
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value is not None and not isinstance(node.value, (int, float, str)):
            raise PredicateError(self.text, f"{node.value!r} is neither a number nor text")
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _ALLOWED):
            raise PredicateError(self.text, f"{type(node).__name__} is not available in a predicate")
        return super().generic_visit(node)


def _check_constants(text: str, node: ast.Compare, fields: Fields) -> None:
    """A constant beside a field must be one that the field can have: `a.dtype == "fp16"` would never hold."""
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        if not isinstance(operator, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            continue
        for field, other in ((left, right), (right, left)):
            if isinstance(field, ast.Name):
                for constant in _constants(other):
                    _check_constant(text, field.id, constant, fields)


def _constants(node: ast.expr) -> Iterator[Any]:
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, (ast.Tuple, ast.List)):
        for item in node.elts:
            yield from _constants(item)


def _check_constant(text: str, path: str, value: Any, fields: Fields) -> None:
    types, choices = fields.accepts(tuple(path.split(".")))
    if value is None and "null" in types:
        return
    if isinstance(value, (int, float)) and not isinstance(value, bool) and types & {"integer", "number"}:
        return
    if value not in choices:
        known = ", ".join(map(show, choices)) or "a number"
        near = nearest_name(str(value), choices)
        raise PredicateError(text, f"{_short(path)} is never {show(value)}: {known}", near, "legal value")
