"""Code for tensor copies, bulk copies and bulk groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Memory
from warpwright.emulate.translate.operands import address_of, single
from warpwright.emulate.translate.unit import Count, Opcode, hint, table

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def _tensor(w: BlockWriter, n: Node) -> None:
    operands, parts = n.instruction.operands, n.instruction.parts
    number = n.number
    if "im2col" in n.instruction.opcode:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    first, second = operands[0], operands[1]
    assert isinstance(first, Memory)
    assert isinstance(second, Memory)
    tensor = first if first.coordinates else second
    coordinates = "".join(f"{single(w, c, number)}, " for c in tensor.coordinates)
    where = single(w, tensor.base, number, "u64")
    if tensor is first:
        w.lines.append(f"tensor_store(f, {number}, {where}, ({coordinates}), {address_of(w, second, number)})")
        return
    mask = single(w, operands[3], number) if "multicast::cluster" in parts else "None"
    target, barrier = address_of(w, first, number), address_of(w, operands[2], number)
    w.lines.append(
        f"tensor_load(f, {number}, {target}, {where}, ({coordinates}), {barrier}, {mask}, {'cta_group::2' in parts})"
    )


def _bulk(w: BlockWriter, n: Node) -> None:
    """cp.async.bulk of bytes: [target], [source], size [, [mbarrier] [, mask]] [, cache policy]."""
    operands, parts, number = n.instruction.operands, n.instruction.parts, n.number
    copied = {"cp", "async", "bulk", "global", "shared::cta", "shared::cluster", "mbarrier::complete_tx::bytes"}
    other = set(parts) - copied - {"bulk_group", "multicast::cluster", "L2::cache_hint"}
    if other or "global" not in parts[3:5]:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    target, source, size = operands[:3]
    bytes_ = single(w, size, number)
    if parts[3] == "global":
        call = f"bulk_store(f, {number}, {address_of(w, target, number)}, {address_of(w, source, number)}, {bytes_})"
        w.lines.append(call)
        return
    mask = single(w, operands[4], number, "u16") if "multicast::cluster" in parts else "None"
    places = ", ".join(address_of(w, o, number) for o in (target, source))
    barrier = address_of(w, operands[3], number)
    w.lines.append(f"bulk_load(f, {number}, {places}, {bytes_}, {barrier}, {mask}, {parts[3] == 'shared::cluster'})")


def _bulk_commit(w: BlockWriter, n: Node) -> None:
    w.lines.append("bulk_commit(f)")


def _bulk_wait(w: BlockWriter, n: Node) -> None:
    count = w.scalar(n.instruction.operands[0], "u32")
    w.lines.append(f"bulk_wait(f, {count})")


OPCODES = {
    "cp.async.bulk.tensor": Opcode(emit=_tensor, result=False),
    **table(
        Opcode(emit=_bulk, result=False),
        "cp.async.bulk.shared::cluster", "cp.async.bulk.shared::cta", "cp.async.bulk.global",
    ),
    "cp.async.bulk.commit_group": Opcode(emit=_bulk_commit, result=False, deleted=True),
    "cp.async.bulk.wait_group": Opcode(emit=_bulk_wait, result=False, deleted=True, count=Count("group", (1,), 1)),
    "cp.async.bulk.prefetch": Opcode(emit=hint, result=False),
}  # fmt: skip
