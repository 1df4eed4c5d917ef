"""One instruction as the nodes that the translator orders: what each computes, reads and writes.

Packing and unpacking moves, address conversions and parameter loads become ordinary operations here; what has
an effect, or needs more than an expression, is left for `emit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import emit
from .alu import INTEGERS, NAMES, Operation, operation
from .flow import Flow, defs, uses
from .state import RANK_SHIFT, SHARED_WINDOW
from .syntax import Instruction, Memory, Operand, Register, Sink, Special, Symbol, Vector

if TYPE_CHECKING:
    from .translate import Translator

_DTYPES: dict[str, Any] = {"pred": np.bool_, "f32": np.uint32}
_DTYPES |= {kind: np.dtype(f"u{bits // 8}") for kind, bits in INTEGERS.items()}
_LOW = (1 << RANK_SHIFT) - 1


@dataclass
class Node:
    """`op` is None for effects. `uses` and `defs` are register names; `depth` orders the nodes of a block."""

    instruction: Instruction
    number: int
    op: Operation | None
    result: Register | None = None
    sources: tuple[Operand, ...] = ()
    uses: list[str] = field(default_factory=list)
    defs: list[str] = field(default_factory=list)
    depth: int = 0
    known: bool = True


def lift(op: Operation) -> Callable[..., int]:
    """`op` on plain integers: its vector expression on arrays of one lane."""
    names = [f"a{i}" for i in range(len(op.sources))]
    function = eval(f"lambda {', '.join(names)}: {op.vector.format(*names)}", dict(NAMES))
    views: dict[str, Any] = {k: np.dtype(f"i{v // 8}") for k, v in INTEGERS.items() if k[0] == "s"}
    views["f32"] = np.float32

    def call(*bits: int) -> int:
        arrays = [
            np.array([b], dtype=_DTYPES[kind]).view(views.get(kind, _DTYPES[kind]))
            for b, kind in zip(bits, op.sources, strict=True)
        ]
        value = np.asarray(function(*arrays)).reshape(-1)[:1]
        if op.result == "f32":
            return int(value.astype(np.float32).view(np.uint32)[0])
        if op.result == "pred":
            return int(bool(value[0]))
        return int(value[0]) & ((1 << INTEGERS[op.result]) - 1)

    return call


def _address_operation(opcode: str) -> Operation | None:
    parts = opcode.split(".")
    if parts[0] == "cvta":
        shared = any(p.startswith("shared") for p in parts)
        sign = "" if not shared else f"-{SHARED_WINDOW}" if "to" in parts else f"+{SHARED_WINDOW}"
        return Operation("u64", ("u64",), f"{{0}}{sign}", f"{{0}}{sign}")
    if parts[0] == "mapa" and parts[-1] == "u32":
        return Operation("u32", ("u32", "u32"), f"({{0}}&{_LOW})|({{1}}<<{RANK_SHIFT})",
                         f"({{0}}&{_LOW})|({{1}}<<{RANK_SHIFT})")  # fmt: skip
    if parts[0] == "getctarank" and parts[-1] == "u32":
        return Operation("u32", ("u32",), f"{{0}}>>{RANK_SHIFT}", f"{{0}}>>{RANK_SHIFT}")
    return None


def nodes_of(instruction: Instruction, number: int, flow: Flow, owner: Translator) -> list[Node]:
    """The nodes of `instruction`; one that is not `known` when it is not emulated."""
    opcode, operands = instruction.opcode, instruction.operands
    guard = [instruction.guard.name] if instruction.guard else []

    def node(op: Operation | None, result: Operand | None = None, sources: tuple[Operand, ...] = ()) -> Node:
        target = result if isinstance(result, Register) else None
        read = [r for s in sources for r in ([s.name] if isinstance(s, Register) else [])] + guard
        if guard and target:
            read.append(target.name)
        return Node(instruction, number, op, target, sources, read, [target.name] if target else [])

    shift = flow.warp_index_shift(instruction)
    if shift is not None:
        return [node(Operation("u32", (), "", f"w.index>>{shift - 5}"), operands[0])]
    if instruction.parts[0] == "mov":
        return _moves(instruction, node)
    if opcode.startswith("ld.param"):
        return _parameter(instruction, node, owner)
    if instruction.parts[0] == "cvta" and isinstance(operands[1], Symbol):
        return [node(Operation("u64", ("u64",), "{0}", "{0}"), operands[0], operands[1:])]
    op = _address_operation(opcode) or operation(opcode)
    if op is not None and isinstance(operands[0], Register) and len(operands) - 1 == len(op.sources):
        return [node(op, operands[0], operands[1:])]
    if op is not None and isinstance(operands[0], Sink):
        return []
    known = op is None and emit.known(instruction)
    return [Node(instruction, number, None, None, (), uses(instruction), defs(instruction), 0, known)]


def _moves(instruction: Instruction, node: Callable[..., Node]) -> list[Node]:
    result, source = instruction.operands
    bits = 1 if instruction.parts[-1] == "pred" else int(instruction.parts[-1][1:])
    whole = f"u{bits}"
    if isinstance(source, Vector):
        part = bits // len(source.items)
        kinds = (f"u{part}",) * len(source.items)
        scalar = "|".join(f"({{{i}}}<<{part * i})" for i in range(len(kinds)))
        wide = "|".join(f"(np.asarray({{{i}}}).astype(np.uint{bits})<<{part * i})" for i in range(len(kinds)))
        return [node(Operation(whole, kinds, wide, scalar), result, source.items)]
    if isinstance(result, Vector):
        part = bits // len(result.items)
        mask = (1 << part) - 1
        made = []
        for i, item in enumerate(result.items):
            if isinstance(item, Register):
                text = f"({{0}}>>{part * i})&{mask}"
                made.append(node(Operation(f"u{part}", (whole,), text, text), item, (source,)))
        return made
    if isinstance(source, Special | Symbol):
        return [node(Operation(whole, ("u64",), "{0}", "{0}"), result, (source,))]
    op = operation(instruction.opcode)
    return [node(op, result, (source,))] if op else [Node(instruction, -1, None, known=False)]


def _parameter(instruction: Instruction, node: Callable[..., Node], owner: Translator) -> list[Node]:
    target, source = instruction.operands
    assert isinstance(source, Memory)
    kind = instruction.parts[-1]
    size = math.ceil(int(kind[1:]) / 8)
    if not isinstance(source.base, Symbol) or source.base.name not in owner.params:
        return [Node(instruction, -1, None, known=False)]
    index = owner.params[source.base.name]
    items = target.items if isinstance(target, Vector) else (target,)
    made = []
    for i, item in enumerate(items):
        low = source.offset + i * size
        text = f"int.from_bytes(w.machine.launch.params[{index}][{low}:{low + size}],'little',signed={kind[0] == 's'})"
        width = max(16, 8 * size)
        made.append(node(Operation(f"u{width}", (), "", f"{text}&{(1 << width) - 1:#x}"), item))
    return made
