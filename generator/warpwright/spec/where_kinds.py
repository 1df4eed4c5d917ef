"""Whether the parts of a predicate can go together: `a.dtype == 3` and `"fp16" == a.dtype` hold at no point.

Each expression has the kinds of value that it may have at some point: number, text, truth, list, mapping, null.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from warpwright.spec.evaluate import FUNCTIONS
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.point_values import short
from warpwright.spec.yaml_nodes import show
from warpwright.text import shortened

__all__ = ["check_kinds"]

#: Why an expression is refused, and the nearest constant, if any.
Refusal = tuple[str, str]


def check_kinds(tree: ast.expr, fields: Fields) -> Iterator[Refusal]:
    """Why a predicate over fields (names in full) has no use at any point; nothing where it has one."""
    yield from _truth(tree, fields, "must be true or false")
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from _truth(value, fields, "`and` and `or` join what is true or false")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from _truth(node.operand, fields, "`not` turns what is true or false")
        elif isinstance(node, ast.UnaryOp):
            yield from _number(node.operand, fields)
        elif isinstance(node, ast.BinOp):
            yield from _number(node.left, fields)
            yield from _number(node.right, fields)
        elif isinstance(node, ast.Call):
            for argument in node.args:
                yield from _number(argument, fields)
        elif isinstance(node, ast.Compare):
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from _comparison(left, op, right, fields)


def _kinds(node: ast.AST, fields: Fields) -> frozenset[str]:
    if isinstance(node, ast.Name):
        return fields.kinds(tuple(node.id.split(".")))
    if isinstance(node, ast.Constant):
        return frozenset({_kind(node.value)})
    if isinstance(node, (ast.List, ast.Tuple)):
        return frozenset({"list"})
    truth = isinstance(node, (ast.Compare, ast.BoolOp)) or isinstance(getattr(node, "op", None), ast.Not)
    return frozenset({"truth" if truth else "number"})


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number"


def _words(kinds: frozenset[str]) -> str:
    told = {"number": "a number", "truth": "true or false", "list": "a list", "mapping": "a mapping"}
    return " or ".join(told.get(kind, kind) for kind in sorted(kinds))


def _text(node: ast.AST) -> str:
    """An expression as the file may write it, for a message."""
    return shortened(short(ast.unparse(node)))


def _told(node: ast.AST, fields: Fields) -> str:
    return f"{_text(node)} is {_words(_kinds(node, fields))}"


def _truth(node: ast.AST, fields: Fields, rule: str) -> Iterator[Refusal]:
    if "truth" not in _kinds(node, fields):
        yield f"{rule}, and {_told(node, fields)}", ""


def _number(node: ast.AST, fields: Fields) -> Iterator[Refusal]:
    if "number" not in _kinds(node, fields):
        yield f"{_told(node, fields)}, where a number is needed (+ - * / // %, < <= > >=, {', '.join(FUNCTIONS)})", ""


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, fields: Fields) -> Iterator[Refusal]:
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        yield from _number(left, fields)
        yield from _number(right, fields)
    elif isinstance(op, (ast.In, ast.NotIn)):
        if "list" not in _kinds(right, fields):
            yield f"{_told(right, fields)}, and `in` looks into a list: {_text(left)} in [...]", ""
        elif isinstance(right, ast.Name):
            yield from _item(left, right, fields)
        for item in getattr(right, "elts", ()):
            yield from _pair(left, item, fields)
    else:
        yield from _pair(left, right, fields)


def _pair(left: ast.expr, right: ast.expr, fields: Fields) -> Iterator[Refusal]:
    """Two things that are compared: some value of one must be some value of the other."""
    for field, other in ((left, right), (right, left)):
        if isinstance(field, ast.Name):
            yield from _field(field, other, fields)
    if not _kinds(left, fields) & _kinds(right, fields):
        yield f"{_told(left, fields)}, and {_told(right, fields)}: never equal", ""


def _field(field: ast.Name, other: ast.expr, fields: Fields) -> Iterator[Refusal]:
    kinds = _kinds(field, fields)
    if isinstance(other, ast.Constant):
        if "list" in kinds and other.value is not None:
            yield f"{_text(field)} is a list: write {_text(other)} in {_text(field)}, or == [...]", ""
        else:
            yield from _constant(field, other.value, fields)
    elif isinstance(other, (ast.List, ast.Tuple)) and "list" in kinds:
        for item in other.elts:
            yield from _item(item, field, fields)


def _item(item: ast.expr, field: ast.Name, fields: Fields) -> Iterator[Refusal]:
    """Something that is looked for in a list."""
    if isinstance(item, ast.Constant):
        yield from _constant(field, item.value, fields)


def _constant(field: ast.Name, value: Any, fields: Fields) -> Iterator[Refusal]:
    """A constant beside a field must be one that the field can have: `a.dtype == "fp16"` would never hold."""
    kinds, choices = fields.kinds(tuple(field.id.split("."))), fields.choices(tuple(field.id.split(".")))
    kind = _kind(value)
    if (value in choices and kind != "truth") or (kind in kinds and kind in ("null", "number", "truth")):
        return
    if kind == "text" and kind in kinds and not choices:  # free text
        return
    known = ", ".join(map(show, choices)) or _words(kinds)
    near = nearest_name(str(value), [choice for choice in choices if isinstance(choice, str)])
    yield f"{short(field.id)} is never {show(value)}: {known}", near
