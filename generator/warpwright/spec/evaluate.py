"""Evaluates a checked predicate at one point: numbers, texts, truth, lists and null, and nothing that can grow.

The tree is Python's own, cut down by `where.py` to the node types below. Every operation takes values of the kinds that
it is for and nothing else, so that no text is formatted or repeated; numbers end at 2**200, which no expression over
the extents of a kernel reaches. (The libraries that evaluate Python's expressions, simpleeval and asteval, know more
kinds of values than this and bound them one by one.)
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from warpwright.spec.yaml_nodes import show

__all__ = ["ARITHMETIC", "COMPARISONS", "FUNCTIONS", "Chosen", "NoValueError", "evaluate"]

#: Beyond every product of extents that a kernel has, and far from where a number takes time to print.
LARGEST = 2**200

ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDER: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
COMPARISONS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, *_ORDER)
FUNCTIONS: Mapping[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs}


class NoValueError(Exception):
    """Why an expression has no value at a point."""


@dataclass(frozen=True)
class Chosen:
    """A field for which the file leaves the choice to the plan: `written` there (auto), and what it became."""

    written: str
    value: Any


def evaluate(node: ast.AST, field: Callable[[str], Any]) -> Any:
    """The value of an expression in which every name is a field, whose value `field` gives.

    Raises NoValueError; and what `field` raises.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return field(node.id)
    if isinstance(node, ast.BinOp):
        left, right = (_number(node_, field) for node_ in (node.left, node.right))
        try:
            return _bounded(ARITHMETIC[type(node.op)](left, right))
        except ZeroDivisionError:
            raise NoValueError("division by zero") from None
    if isinstance(node, ast.Compare):
        return _compare(node, field)
    if isinstance(node, ast.BoolOp):
        # As in Python, what decides ends it: `c != None and c.dtype == "f16"` has a value where there is no c.
        ends = isinstance(node.op, ast.Or)
        return ends if any(_truth(value, field) is ends for value in node.values) else not ends
    if isinstance(node, ast.UnaryOp):
        return not _truth(node.operand, field) if isinstance(node.op, ast.Not) else -_number(node.operand, field)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return FUNCTIONS[node.func.id](*[_number(argument, field) for argument in node.args])
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple(evaluate(item, field) for item in node.elts)
    raise AssertionError(f"a {type(node).__name__} in a checked predicate")


def _compare(node: ast.Compare, field: Callable[[str], Any]) -> bool:
    left_node = node.left
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        if type(op) in _ORDER:
            holds = _ORDER[type(op)](_number(left_node, field), _number(right_node, field))
        else:
            left, right = evaluate(left_node, field), evaluate(right_node, field)
            if isinstance(op, (ast.In, ast.NotIn)):
                if not isinstance(right, tuple):
                    raise NoValueError(f"{ast.unparse(right_node)} is no list: it is {show(_value(right))}")
                found = any(_equal(left, item) for item in right)
            else:
                found = _equal(left, right)
            holds = found is isinstance(op, (ast.Eq, ast.In))
        if not holds:
            return False
        left_node = right_node
    return True


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are one, lists item by item; of a choice that was left open, either what is written or what it
    became counts."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Chosen):
            return other == one.written or _equal(one.value, other)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, bool) is not isinstance(right, bool):
        return False  # Python's True is 1
    return bool(left == right)


def _value(found: Any) -> Any:
    return found.value if isinstance(found, Chosen) else found


def _truth(node: ast.AST, field: Callable[[str], Any]) -> bool:
    found = _value(evaluate(node, field))
    if not isinstance(found, bool):
        raise NoValueError(f"{ast.unparse(node)} is {show(found)}, neither true nor false")
    return found


def _number(node: ast.AST, field: Callable[[str], Any]) -> int | float:
    found = _value(evaluate(node, field))
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise NoValueError(f"{ast.unparse(node)} is {show(found)}, no number")
    return found


def _bounded(number: int | float) -> int | float:
    if not -LARGEST <= number <= LARGEST:  # neither is what is not a number
        raise NoValueError("a number becomes too large")
    return number
