"""One instruction as nodes.

Packing and unpacking moves, address conversions and parameter loads become ordinary operations here; what has
an effect, or needs more than an expression, is left to its unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from warpwright.emulate.machine.addresses import LOCAL_WINDOW, OFFSET, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW
from warpwright.emulate.numbers.alu import operation
from warpwright.emulate.numbers.operation import Operation
from warpwright.emulate.ptx.flow import Flow
from warpwright.emulate.ptx.syntax import (
    Instruction,
    Memory,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    items_of,
)
from warpwright.emulate.translate.node import Node

if TYPE_CHECKING:
    from warpwright.emulate.translate.translator import Translator


def _address_operation(opcode: str) -> Operation | None:
    parts = opcode.split(".")
    if parts[0] == "cvta":
        window = next((w for s, w in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW))
                       if any(p.startswith(s) for p in parts)), 0)  # fmt: skip
        sign = "" if not window else f"-{window}" if "to" in parts else f"+{window}"
        return Operation("u64", ("u64",), f"{{0}}{sign}", f"{{0}}{sign}")
    if parts[0] == "mapa" and parts[-1] == "u32":
        return Operation("u32", ("u32", "u32"), f"({{0}}&{OFFSET})|({{1}}<<{RANK_SHIFT})",
                         f"({{0}}&{OFFSET})|({{1}}<<{RANK_SHIFT})")  # fmt: skip
    if parts[0] == "mapa" and parts[-1] == "u64":  # of generic addresses, where no space is named
        window = 0 if "shared::cluster" in parts else SHARED_WINDOW
        text = f"({{0}}&{OFFSET})|(W({{1}})<<{RANK_SHIFT})|{window}"
        wide = text.replace("W({1})", "np.asarray({1}).astype(np.uint64)")
        return Operation("u64", ("u64", "u32"), wide, text.replace("W({1})", "{1}"))
    if parts[0] == "isspacep":
        return _space_test(parts[1])
    if parts[0] == "getctarank" and parts[-1] == "u64":
        text = f"({{0}}&{SHARED_WINDOW - 1})>>{RANK_SHIFT}"
        return Operation("u32", ("u64",), text, text)
    if parts[0] == "getctarank" and parts[-1] == "u32":
        return Operation("u32", ("u32",), f"{{0}}>>{RANK_SHIFT}", f"{{0}}>>{RANK_SHIFT}")
    return None


def _space_test(space: str) -> Operation | None:
    """isspacep: whether a generic address is in a state space, by its window."""
    ranges = {"global": (0, SHARED_WINDOW), "shared": (SHARED_WINDOW, PARAM_WINDOW), "local": (LOCAL_WINDOW, 1 << 63),
              "shared::cluster": (SHARED_WINDOW, PARAM_WINDOW), "param": (PARAM_WINDOW, LOCAL_WINDOW),
              "const": (0, 0)}  # fmt: skip
    if space == "shared::cta":
        text = f"{{0}}-w.cta.base-{SHARED_WINDOW}<{1 << RANK_SHIFT}"
        return Operation("pred", ("u64",), text, f"int(0<={{0}}-w.cta.base-{SHARED_WINDOW}<{1 << RANK_SHIFT})")
    if space not in ranges:
        return None
    low, high = ranges[space]
    return Operation("pred", ("u64",), f"({{0}}>={low})&({{0}}<{high})", f"int({low}<={{0}}<{high})")


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
    op = _address_operation(opcode) or operation(opcode, len(operands) - 1)
    if op is not None and isinstance(operands[0], Register) and len(operands) - 1 == len(op.sources):
        return [node(op, operands[0], operands[1:])]
    if op is not None and isinstance(operands[0], Sink):
        return []
    if op is not None and len(operands) - 1 != len(op.sources):
        raise ValueError(f"{len(operands)} operands, it has {len(op.sources) + 1}")
    known = op is None and owner.units.find(opcode) is not None
    return [Node(instruction, number, None, None, (), [*flow.uses(instruction)], [*flow.defs(instruction)], 0, known)]


def _moves(instruction: Instruction, node: Callable[..., Node]) -> list[Node]:
    result, source = instruction.operands
    if instruction.opcode == "mov.b128" and isinstance(result, Vector) and isinstance(source, Vector):
        op = operation("mov.b64")
        return [node(op, r, (s,)) for r, s in zip(result.items, source.items, strict=True)]
    bits = 1 if instruction.parts[-1] == "pred" else int(instruction.parts[-1][1:])
    if bits not in (1, 8, 16, 32, 64, 128):
        raise ValueError(f"there is no register of {bits} bits")
    whole = f"u{bits}"
    if isinstance(source, Vector):
        part = bits // len(source.items)
        kinds = (f"u{max(part, 16)}",) * len(source.items)
        low = "&0xFF" if part == 8 else ""  # bytes live in registers of 16 bits
        scalar = "|".join(f"(({{{i}}}{low})<<{part * i})" for i in range(len(kinds)))
        wide = "|".join(f"(np.asarray({{{i}}}{low}).astype(np.uint{bits})<<{part * i})" for i in range(len(kinds)))
        return [node(Operation(whole, kinds, wide, scalar), result, source.items)]
    if isinstance(result, Vector):
        part = bits // len(result.items)
        mask = (1 << part) - 1
        made = []
        for i, item in enumerate(result.items):
            if isinstance(item, Register):
                text = f"({{0}}>>{part * i})&{mask}"
                made.append(node(Operation(f"u{max(part, 16)}", (whole,), text, text), item, (source,)))
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
    if size not in (1, 2, 4, 8, 16):
        raise ValueError(f"there is no parameter of {kind[1:]} bits")
    made, signed = [], kind[0] == "s"
    for i, item in enumerate(items_of(target)):
        width = owner.width(item.name) if isinstance(item, Register) else 64
        low = source.offset + i * size
        if not isinstance(source.base, Symbol):  # its address is in a register
            text = f"w.machine.launch.parameter({{0}}+{low},{size},{signed},{width})"
            made.append(node(Operation(f"u{width}", ("u64",), text, text), item, (source.base,)))
        elif source.base.name not in owner.params:  # what a call has returned
            made.append(node(Operation("u64", (), "0", "0"), item))
        else:
            held = f"w.machine.launch.params[{owner.params[source.base.name]}][{low}:{low + size}]"
            text = f"int.from_bytes({held},'little',signed={signed})&{(1 << width) - 1:#x}"
            made.append(node(Operation(f"u{width}", (), "", text), item))
    return made
