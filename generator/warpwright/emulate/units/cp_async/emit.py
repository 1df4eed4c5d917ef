"""Code for cp.async, its groups, and its arrivals at an mbarrier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.locations import LEVELS
from warpwright.emulate.ptx.syntax import Immediate, Operand, Register, items_of
from warpwright.emulate.translate.operands import address_of, matrix
from warpwright.emulate.translate.unit import Count, Opcode, table
from warpwright.emulate.units.atomics.access import Order
from warpwright.emulate.units.atomics.operations import INTEGERS, TYPES, Operator

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter

_PARTS = {
    "cp",
    "async",
    "ca",
    "cg",
    "shared",
    "shared::cta",
    "global",
    "L2::cache_hint",
    "L2::64B",
    "L2::128B",
    "L2::256B",
}


def _copy(w: BlockWriter, n: Node) -> None:
    """cp.async [target], [source], size [, bytes read | predicate: read nothing] [, cache policy]."""
    target, source, size, *rest = n.instruction.operands
    whole = size.value if isinstance(size, Immediate) else 0
    if set(n.instruction.parts) - _PARTS or whole not in (4, 8, 16) or ("cg" in n.instruction.parts and whole != 16):
        raise UnsupportedInstruction(f"{n.instruction.where}: cp.async copies 4, 8 or 16 bytes (.cg: 16)")
    places = ", ".join(address_of(w, o, n.number, lanes=True) for o in (target, source))
    w.lines.append(f"copy_async(f, {n.number}, {places}, {whole}, {_bytes_read(w, rest, whole)})")


def _bytes_read(w: BlockWriter, rest: list[Operand], whole: int) -> str:
    """How many bytes are read: one number, or a row. A register of 64 bits is a cache policy."""
    for operand in rest:
        width = w.owner.width(operand.name) if isinstance(operand, Register) else 32
        if width == 1 and w.flow.is_varying(operand):
            return f"np.where({w.rows(operand, 'pred')}, 0, {whole})"
        if width == 1:
            return f"0 if {w.scalar(operand, 'pred')} else {whole}"
        if width == 32:
            return w.either(operand, "u32")
    return str(whole)


def _commit(w: BlockWriter, _node: Node) -> None:
    w.lines.append("copy_commit(f)")


def _wait(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"copy_wait(f, {w.scalar(n.instruction.operands[0], 'u32')})")


def _wait_all(w: BlockWriter, _node: Node) -> None:
    w.lines.append("copy_wait(f, -1)")


def _arrive(w: BlockWriter, n: Node) -> None:
    address = address_of(w, n.instruction.operands[0], n.number, lanes=True)
    w.lines.append(f"copy_arrive(f, {n.number}, {address}, {'noinc' not in n.instruction.parts})")


_SENT = {
    "st",
    "red",
    "async",
    "weak",
    "relaxed",
    "cluster",
    "shared::cluster",
    "mbarrier::complete_tx::bytes",
    "v2",
    "v4",
}


def _send(w: BlockWriter, n: Node) -> None:
    """st.async [target], values, [mbarrier]; red.async.op.type [target], value, [mbarrier]."""
    target, source, barrier = n.instruction.operands
    parts = n.instruction.parts
    items = items_of(source)
    other = [p for p in parts if p not in _SENT]
    operator = ""
    if parts[0] == "red" and len(other) == 2 and other[1] in TYPES.get(other[0], ()) and other[1] in INTEGERS:
        order = Order(LEVELS["cluster"], False, False)
        operator = ", " + w.owner.constant(Operator(other[0], other[1], 1, "cluster", order, False), "A")
    elif (
        parts[0] == "red"
        or len(other) != 1
        or parts[-1] not in ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
    ):
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    bits = int(parts[-1][1:])
    places = [address_of(w, o, n.number, lanes=True) for o in (target, barrier)]
    values = matrix(w, items, f"u{bits}")
    w.lines.append(f"store_async(f, {n.number}, {places[0]}, {values}, {bits // 8}, {places[1]}{operator})")


OPCODES = {
    **table(Opcode(emit=_send, result=False, deleted=True), "st.async", "red.async"),
    **table(Opcode(emit=_copy, result=False), "cp.async.ca", "cp.async.cg"),
    "cp.async.commit_group": Opcode(emit=_commit, result=False, deleted=True),
    "cp.async.wait_group": Opcode(emit=_wait, result=False, deleted=True, count=Count("group", (1,), 1)),
    "cp.async.wait_all": Opcode(emit=_wait_all, result=False, deleted=True),
    "cp.async.mbarrier.arrive": Opcode(emit=_arrive, result=False, deleted=True),
}
