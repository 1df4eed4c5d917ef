"""Code for clusterlaunchcontrol; a register of 128 bits is a vector of two of 64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Operand, Register, Vector, items_of
from warpwright.emulate.translate.operands import address_of, set_result
from warpwright.emulate.translate.unit import Opcode

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def _try(w: BlockWriter, n: Node) -> None:
    target, barrier = (address_of(w, o, n.number) for o in n.instruction.operands)
    everywhere = "multicast::cluster::all" in n.instruction.parts
    w.lines.append(f"try_cancel(f, {n.number}, {target}, {barrier}, {everywhere})")


def _low(w: BlockWriter, operand: Operand) -> tuple[str, bool]:
    """The low half of an answer, and whether it differs between lanes."""
    assert isinstance(operand, Vector)
    return w.either(operand.items[0], "u64"), w.flow.is_varying(operand.items[0])


def _canceled(w: BlockWriter, n: Node) -> None:
    result, answer = n.instruction.operands
    low, varies = _low(w, answer)
    if isinstance(result, Register):
        call = f"is_canceled(f, {n.number}, {low})"
        set_result(w, n, result, call if varies else f"int({call})")


def _first(w: BlockWriter, n: Node) -> None:
    result, answer = n.instruction.operands
    parts = n.instruction.parts
    low, _ = _low(w, answer)
    named = [p[-1] for p in parts if p.startswith("get_first_ctaid::")]
    if not named and "v4" not in parts:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    items = items_of(result)
    for axis, item in zip(["xyz".index(a) for a in named] or range(3), items, strict=False):
        if isinstance(item, Register):
            set_result(w, n, item, f"first_ctaid({low}, {axis})")


OPCODES = {
    "clusterlaunchcontrol.try_cancel.async": Opcode(emit=_try, result=False, deleted=True),
    "clusterlaunchcontrol.query_cancel.is_canceled": Opcode(emit=_canceled),
    **dict.fromkeys(
        ("clusterlaunchcontrol.query_cancel.get_first_ctaid",
         *(f"clusterlaunchcontrol.query_cancel.get_first_ctaid::{axis}" for axis in "xyz")),
        Opcode(emit=_first, effect=False),
    ),
}  # fmt: skip
