"""atom and red: an operation on a word of memory that no other access comes between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array, ftz, half_math
from warpwright.emulate.units.atomics.access import Order, exchange, meet, places, written

INTEGERS = {"u32": 4, "s32": 4, "b32": 4, "u64": 8, "s64": 8, "b64": 8, "b16": 2}
FLOATS = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4}
#: Which types each operation takes (PTX ISA, "atom" and "red").
TYPES = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16", "f16x2", "bf16x2")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor", "exch"), ("b32", "b64")),
    "cas": ("b16", "b32", "b64"),
}

BITWISE = ("and", "or", "xor")


@dataclass(frozen=True)
class Operator:
    """The static part of one instruction: `count` words of `kind` for each lane; `returns`: the old ones."""

    name: str
    kind: str
    count: int
    space: str
    order: Order
    returns: bool

    @property
    def width(self) -> int:
        return INTEGERS.get(self.kind) or FLOATS[self.kind]


def atomic(f: Fiber, number: int, operator: Operator, addresses: Any, values: Array, other: Any = None) -> Array:
    """The old words, (count, 32); lanes one after another. `values`, `other`: operands b and c, (count, 32)."""
    width, count = operator.width, operator.count
    result = np.zeros((count, 32), dtype=f"u{width}")
    if not f.mask:
        return result
    where = places(f, number, addresses, width * count, operator.space, "atomic operation")
    meet(f, number, where, width * count, True, True)
    exchange(f, where, operator.order, True, operator.returns, True)
    mine = np.ascontiguousarray(values.astype(f"u{width}")[:, f.lanes].T)  # (lanes, count)
    second = None if other is None else np.ascontiguousarray(other.astype(f"u{width}")[:, f.lanes].T)
    old = np.zeros_like(mine)
    for lanes in _turns(where.starts):
        before = where.words(width, count)[lanes]
        old[lanes] = before
        after = combine(operator, before, mine[lanes], None if second is None else second[lanes], where.shared)
        where.put(lanes, after)
    written(f, number, where, width * count, True)
    result[:, f.lanes] = old.T
    return result


def _turns(starts: Array) -> list[Array]:
    """The lanes that can go at once: those of one word follow each other."""
    if len(np.unique(starts)) == len(starts):
        return [np.arange(len(starts))]
    turn: dict[int, int] = {}
    found: list[list[int]] = []
    for lane, start in enumerate(starts.tolist()):
        at = turn[start] = turn.get(start, -1) + 1
        if at == len(found):
            found.append([])
        found[at].append(lane)
    return [np.array(lanes) for lanes in found]


def combine(operator: Operator, old: Array, value: Array, other: Array | None, shared: bool) -> Array:
    """The new words of `old` and operand b (and c), all unsigned arrays of one shape."""
    name, kind = operator.name, operator.kind
    if name == "exch":
        return value
    if name == "cas":
        assert other is not None
        return np.where(old == value, other, old)
    if kind in ("f32", "f64"):
        view = np.float32 if kind == "f32" else np.float64
        a: Array = old.view(view)
        b: Array = value.view(view)
        if kind == "f32" and not shared:  # in global memory subnormals are flushed
            return np.ascontiguousarray(ftz(ftz(a) + ftz(b))).view(np.uint32)
        return np.ascontiguousarray(a + b).view(old.dtype)
    if kind in FLOATS:
        return half_math(name, kind.removesuffix("x2"), old, value)
    if name in ("inc", "dec"):
        up = np.where(old >= value, np.uint32(0), old + np.uint32(1))
        down = np.where((old == 0) | (old > value), value, old - np.uint32(1))
        return up if name == "inc" else down
    if name in ("min", "max"):
        signed = old.dtype.str.replace("u", "i") if kind[0] == "s" else old.dtype.str
        chosen: Array = (np.minimum if name == "min" else np.maximum)(old.view(signed), value.view(signed))
        return chosen.view(old.dtype)
    table = {"add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    result: Array = table[name](old, value)
    return result


__all__ = ["TYPES", "Operator", "atomic", "combine"]
