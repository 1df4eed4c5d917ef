"""Code for mma.sync and movmatrix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Register, items_of
from warpwright.emulate.translate.operands import matrix
from warpwright.emulate.translate.unit import Opcode
from warpwright.emulate.units.mma.products import Shape

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter

#: Bytes of an element in a fragment, and the types of the sums that go with it.
_TYPES = {"f16": (2, ("f16", "f32")), "bf16": (2, ("f32",)), "tf32": (4, ("f32",)), "e4m3": (1, ("f16", "f32")),
          "e5m2": (1, ("f16", "f32")), "s8": (1, ("s32",)), "u8": (1, ("s32",))}  # fmt: skip
_SHAPE = re.compile(r"m16n8k(\d+)")


def _mma(w: BlockWriter, n: Node) -> None:
    """mma.sync.aligned.m16n8kK.row.col[.satfinite].d.a.b.c D, A, B, C."""
    parts = n.instruction.parts
    shape, types = _SHAPE.fullmatch(parts[3]), parts[-4:]
    d_type, a_type, b_type, c_type = types
    kinds = {_TYPES.get(a_type), _TYPES.get(b_type)}
    between = set(parts[4:-4]) - {"row", "col", "satfinite"}
    size, sums = next(iter(kinds)) or (0, ())
    k = int(shape[1]) if shape else 0
    same = a_type == b_type or size == 1
    if between or len(kinds) > 1 or not same or d_type != c_type or d_type not in sums or k * size not in (16, 32):
        raise UnsupportedInstruction(f"{n.instruction.where}: this shape or these types of mma are not emulated")
    d, a, b, c = (items_of(o) for o in n.instruction.operands)
    name = w.owner.constant(Shape(k, size, d_type, a_type, b_type, "satfinite" in parts), "M")
    operands = ", ".join(matrix(w, each, "u32") for each in (a, b, c))
    w.lines.append(f"t = warp_mma(f, {n.number}, {name}, {operands})")
    for i, item in enumerate(d):
        if isinstance(item, Register):
            w.store(item, f"t[{i}]", n.instruction)


def _movmatrix(w: BlockWriter, n: Node) -> None:
    result, source = n.instruction.operands
    if n.instruction.parts[3:] != ("m8n8", "trans", "b16"):
        raise UnsupportedInstruction(f"{n.instruction.where}: movmatrix transposes m8n8 matrices of 16 bits")
    if isinstance(result, Register):
        w.lines.append(f"t = movmatrix(f, {n.number}, {matrix(w, (source,), 'u32')})")
        w.store(result, "t", n.instruction)


OPCODES = {
    "mma.sync": Opcode(emit=_mma, varies="always", effect=False),
    "movmatrix.sync": Opcode(emit=_movmatrix, varies="always", effect=False),
}
