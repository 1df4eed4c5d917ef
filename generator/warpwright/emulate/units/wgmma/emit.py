"""Code for wgmma."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.flow import registers
from warpwright.emulate.ptx.syntax import Immediate, Register, Vector
from warpwright.emulate.translate.operands import matrix, single
from warpwright.emulate.translate.unit import Count, Opcode
from warpwright.emulate.units.wgmma.products import Shape

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def _mma(w: BlockWriter, n: Node) -> None:
    """wgmma.mma_async.sync.aligned.m64nNkK.f32.a.b D, A, b-desc, scale-d, sign-a, sign-b [, tnsp-a] [, tnsp-b].

    A is a descriptor, or a fragment in registers, which is never transposed.
    """
    shape, d_type, a_type, b_type = n.instruction.parts[4:8]
    d, a, b, scale, *rest = n.instruction.operands
    columns, k = int(shape[4:].split("k")[0]), int(shape.split("k")[1])
    if d_type != "f32" or not isinstance(d, Vector) or "sp" in n.instruction.parts:
        raise UnsupportedInstruction(f"{n.instruction.where}: only dense f32 sums are emulated")
    values = [i.value for i in rest if isinstance(i, Immediate)]
    if isinstance(a, Vector):
        values.insert(2, 0)
    values += [1, 1, 0, 0][len(values) :]
    first = d.items[0]
    assert isinstance(first, Register)
    accumulator = w.owner.program.arranged["wgmma"].of[first.name]
    fragment = w.owner.program.arranged["wgmma"].lists[registers(a)] if isinstance(a, Vector) and registers(a) else -1
    static = Shape(accumulator, columns, k, a_type, b_type, values[0] == -1, values[1] == -1, bool(values[2]),
                   bool(values[3]), isinstance(a, Vector))  # fmt: skip
    name = w.owner.constant(static, "M")
    terms = ["0" if isinstance(a, Vector) else single(w, a, n.number, "u64"), single(w, b, n.number, "u64")]
    terms.append(single(w, scale, n.number, "pred"))
    held = f", {matrix(w, a.items, 'u32')}, {fragment}" if isinstance(a, Vector) else ""
    w.lines.append(f"wgmma_mma(f, {n.number}, {name}, {', '.join(terms)}{held})")


def _fence(w: BlockWriter, n: Node) -> None:
    w.lines.append("wgmma_fence(f)")


def _commit(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"wgmma_commit(f, {n.number})")


def _wait(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"if not wgmma_wait(f, {n.number}, {w.scalar(n.instruction.operands[0], 'u32')}): return -1")


OPCODES = {
    "wgmma.mma_async": Opcode(emit=_mma, reads_result=True, varies="always"),
    "wgmma.fence": Opcode(emit=_fence, result=False, deleted=True),
    "wgmma.commit_group": Opcode(emit=_commit, deleted=True),
    "wgmma.wait_group": Opcode(emit=_wait, suspends=True, deleted=True, count=Count("group", (1,), 1)),
}
