"""`where`: predicates over the fields of a point, evaluated without being able to run code.

A predicate is parsed by Python, and each dotted field becomes one plain name, so that no attribute is ever looked up.
Only the node types of `_ALLOWED` get as far as the evaluator, and only where the kinds of what they join can go
together: what is wrong at every point is told when the file is loaded.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from warpwright.spec import elsewhere
from warpwright.spec.evaluate import ARITHMETIC, COMPARISONS, FUNCTIONS, NoValueError, evaluate
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.point_values import AbsentError, PointValues, UnresolvedError, short
from warpwright.spec.where_kinds import check_kinds
from warpwright.spec.yaml_nodes import show
from warpwright.text import shortened

__all__ = ["Predicate", "PredicateError"]

_LONGEST = 1000  # characters
_DEEPEST = 60  # levels of the syntax tree, each of which costs three frames of the interpreter's stack
_ALLOWED = (
    *(ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List, ast.Call),
    *(ast.And, ast.Or, ast.Not, ast.USub),
    *ARITHMETIC,
    *COMPARISONS,
)
_THERE_ARE = f"there are + - * / // %, comparisons, in, and, or, not, {', '.join(FUNCTIONS)}"


class PredicateError(Exception):
    """Why the predicate `text` cannot be used; `nearest` is the `nearest_is` to write instead, if any."""

    def __init__(self, text: str, rule: str, nearest: str = "", nearest_is: str = "field") -> None:
        self.text, self.rule, self.nearest, self.nearest_is = text, rule, nearest, nearest_is
        super().__init__(f"{text}: {rule}")


class Predicate:
    """A predicate whose syntax, fields, kinds and constants are checked. Raises PredicateError.

    Fields are named from below `design` or `kernel` (`tile.m`, `a.dtype`) or in full; a list of things that may be
    written as bare names is the list of these names. Operators: + - * / // %, comparisons, in, and, or, not; functions:
    min, max, abs.
    """

    def __init__(self, text: str, fields: Fields) -> None:
        self.text = text
        if len(text) > _LONGEST:
            raise PredicateError(text, f"longer than {_LONGEST} characters")
        tree = _parsed(text)
        if _depth(tree) > _DEEPEST:
            raise PredicateError(text, f"nested deeper than {_DEEPEST} levels")
        self._tree = _Names(text, fields).visit(tree)
        names = [node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        self.fields = tuple(dict.fromkeys(name for name in names if name not in FUNCTIONS))
        if not self.fields:
            raise PredicateError(text, "names no field, so it is the same for every point")
        for rule, nearest in check_kinds(self._tree, fields):
            raise PredicateError(text, rule, nearest, "of them")

    def holds(self, values: PointValues) -> bool:
        """Whether the predicate holds at a point, or speaks of a choice that the plan could not make.

        Such a point is illegal: it stays, so that it is listed with the reasons. Raises PredicateError where the
        predicate has no value.
        """
        try:
            return bool(evaluate(self._tree, values.get))
        except UnresolvedError:
            return True
        except AbsentError as absent:
            raise PredicateError(self.text, f"there is no {absent}") from None
        except NoValueError as error:
            raise PredicateError(self.text, f"has no value where {self._values(values)}: {error}") from None

    def _values(self, values: PointValues) -> str:
        known = []
        for name in self.fields:
            try:
                value = values.get(name)
            except (AbsentError, UnresolvedError):
                continue
            known.append(f"{short(name)} = {show(getattr(value, 'value', value))}")
        return ", ".join(known)


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the syntax; what is odd is refused
            return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        hint = " (== compares)" if re.search(r"[^=<>!]=[^=]", text) else ""
        raise PredicateError(text, f"not an expression: {shortened(error.msg)}{hint}") from None
    except (ValueError, RecursionError, MemoryError):
        raise PredicateError(text, "not an expression: nested too deep, or with a null character") from None


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _full(name: str, fields: Fields) -> str | None:
    """The full path of a field that is no mere subtree; design goes before kernel."""
    for path in (f"design.{name}", f"kernel.{name}", name):
        if path in fields.paths:
            return path if fields.kinds(tuple(path.split("."))) - {"mapping"} else None
    return None


class _Names(ast.NodeTransformer):
    """Turns each dotted field into one name (its full path), and refuses what a predicate has no use for."""

    def __init__(self, text: str, fields: Fields) -> None:
        self.text, self.fields = text, fields

    def field(self, node: ast.expr) -> ast.Name:
        name = ast.unparse(node)
        path = _full(name, self.fields)
        if path is None:
            names = [short(path) for path in self.fields.paths if _full(path, self.fields)]
            told = elsewhere.field_for(self.fields, name)
            near = short(told) if told in self.fields.paths else "" if " " in told else nearest_name(name, names)
            known = "" if near in names else f"; there are {', '.join(names)}"
            rule = f"no field is named {shortened(name)}" + (f": {told}" if " " in told else known)
            raise PredicateError(self.text, rule, near if near in names else "")
        return ast.Name(id=path, ctx=ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self.field(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.field(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            called = shortened(ast.unparse(node.func))
            raise PredicateError(self.text, f"{called} is no function here; there are {', '.join(FUNCTIONS)}")
        name = node.func.id
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise PredicateError(self.text, f"{name} takes numbers, one after another")
        if len(node.args) != 1 if name == "abs" else len(node.args) < 2:
            raise PredicateError(self.text, f"{name} takes {'one number' if name == 'abs' else 'two numbers or more'}")
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value: Any = node.value
        if value is not None and not isinstance(value, (int, float, str)):
            raise PredicateError(self.text, f"{shortened(ast.unparse(node))} is neither a number nor text")
        if isinstance(value, (int, float)) and not abs(value) < 2**63:
            raise PredicateError(self.text, "holds a number that is too large for 64 bits")
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _ALLOWED):
            raise PredicateError(self.text, f"{_called(node)} is not available in a predicate: {_THERE_ARE}")
        return super().generic_visit(node)


_SIGNS: dict[type, str] = {
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.MatMult: "@", ast.Invert: "~", ast.UAdd: "a sign +", ast.Is: "is", ast.IsNot: "is not",
    ast.JoinedStr: "an f-string",
    ast.Subscript: "[...] behind a value", ast.IfExp: "if", ast.Lambda: "lambda", ast.NamedExpr: ":=",
    ast.Set: "a set", ast.Dict: "a dict", ast.Await: "await", ast.Slice: "a slice",
}  # fmt: skip


def _called(node: ast.AST) -> str:
    """What a person calls a kind of node."""
    return _SIGNS.get(type(node), type(node).__name__)
