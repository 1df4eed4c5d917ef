"""Code for tensor copies, bulk copies and bulk groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Memory
from warpwright.emulate.translate.operands import address_of, single
from warpwright.emulate.translate.unit import Count, Opcode, hint, table
from warpwright.emulate.units.atomics.access import Order
from warpwright.emulate.units.atomics.operations import TYPES, Operator
from warpwright.emulate.units.tma.replaced import EACH, ONE

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def _tensor(w: BlockWriter, n: Node) -> None:
    operands, parts = n.instruction.operands, n.instruction.parts
    number = n.number
    modes = {"tile::gather4", "tile::scatter4"} & set(parts)
    if "im2col" in n.instruction.opcode or modes:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    first, second = operands[0], operands[1]
    assert isinstance(first, Memory)
    assert isinstance(second, Memory)
    tensor = first if first.coordinates else second
    coordinates = "".join(f"{single(w, c, number)}, " for c in tensor.coordinates)
    where = single(w, tensor.base, number, "u64")
    if tensor is first:
        operation = "" if parts[1] != "reduce" else next((p for p in parts if p in TYPES), "")
        if parts[1] == "reduce" and operation in ("", "exch", "cas"):
            raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
        last = f", {operation!r}" if operation else ""
        w.lines.append(f"tensor_store(f, {number}, {where}, ({coordinates}), {address_of(w, second, number)}{last})")
        return
    mask = single(w, operands[3], number) if "multicast::cluster" in parts else "None"
    target, barrier = address_of(w, first, number), address_of(w, operands[2], number)
    w.lines.append(
        f"tensor_load(f, {number}, {target}, {where}, ({coordinates}), {barrier}, {mask}, {'cta_group::2' in parts})"
    )


_WAYS = {"cp", "reduce", "async", "bulk", "global", "shared::cta", "shared::cluster", "mbarrier::complete_tx::bytes",
         "bulk_group", "multicast::cluster", "L2::cache_hint", "noftz"}  # fmt: skip


def _bulk(w: BlockWriter, n: Node) -> None:
    """cp[.reduce].async.bulk of bytes: [target], [source], size [, [mbarrier] [, mask]] [, cache policy]."""
    operands, parts, number = n.instruction.operands, n.instruction.parts, n.number
    other = [p for p in parts if p not in _WAYS]
    operator = _reduction(w, n, other) if parts[1] == "reduce" else ""
    wanted = 3 if "bulk_group" in parts else 4
    if (other and not operator) or not {"global", "shared::cta"} & set(parts[3:]) or len(operands) < wanted:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    target, source, size = operands[:3]
    places = ", ".join(address_of(w, o, number) for o in (target, source))
    terms = f"f, {number}, {places}, {single(w, size, number)}"
    spaces = [p for p in parts if p in ("global", "shared::cta", "shared::cluster")]
    if spaces[0] == "global":
        w.lines.append(f"bulk_reduce({terms}, {operator})" if operator else f"bulk_store({terms})")
        return
    barrier = address_of(w, operands[3], number)
    if spaces[1] != "global":
        w.lines.append(f"bulk_peer({terms}, {barrier}{f', {operator}' if operator else ''})")
        return
    mask = single(w, operands[4], number, "u16") if "multicast::cluster" in parts else "None"
    w.lines.append(f"bulk_load({terms}, {barrier}, {mask}, {spaces[0] == 'shared::cluster'})")


def _reduction(w: BlockWriter, n: Node, words: list[str]) -> str:
    """The operation of a bulk reduction, as a constant of the block's code."""
    name, kind = words if len(words) == 2 else ("", "")
    if name in ("exch", "cas", "") or kind not in TYPES.get(name, ()):
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    return w.owner.constant(Operator(name, kind, 1, "global", Order(2, False, False), False), "A")


def _prefetch(w: BlockWriter, n: Node) -> None:
    address, size, *_ = n.instruction.operands
    w.lines.append(f"bulk_prefetch(f, {n.number}, {address_of(w, address, n.number)}, {single(w, size, n.number)})")


def _bulk_commit(w: BlockWriter, n: Node) -> None:
    w.lines.append("bulk_commit(f)")


def _bulk_wait(w: BlockWriter, n: Node) -> None:
    count = w.scalar(n.instruction.operands[0], "u32")
    w.lines.append(f"bulk_wait(f, {count}, {'read' in n.instruction.parts})")


def _replace(w: BlockWriter, n: Node) -> None:
    """tensormap.replace.tile.FIELD{.space}.b1024.type [address] {, mode}, value."""
    parts, (memory, *more), number = n.instruction.parts, n.instruction.operands, n.number
    name = parts[3]
    if parts[2] != "tile" or name not in (ONE if len(more) == 1 else EACH):
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    shared = True if "shared::cta" in parts else False if "global" in parts else None
    mode = single(w, more[0], number) if len(more) > 1 else "0"
    value = single(w, more[-1], number, "u64" if parts[-1] == "b64" else "u32")
    w.lines.append(f"map_replace(f, {number}, {address_of(w, memory, number)}, {shared}, '{name}', {mode}, {value})")


def _copy_map(w: BlockWriter, n: Node) -> None:
    target, source, _size = n.instruction.operands
    places = ", ".join(address_of(w, each, n.number) for each in (target, source))
    w.lines.append(f"map_copy(f, {n.number}, {places})")


def _map_fence(w: BlockWriter, n: Node) -> None:
    operands = n.instruction.operands
    w.lines.append(f"map_fence(f, {address_of(w, operands[0], n.number) if operands else None})")


OPCODES = {
    **table(Opcode(emit=_tensor, result=False), "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"),
    **table(
        Opcode(emit=_bulk, result=False),
        "cp.async.bulk.shared::cluster", "cp.async.bulk.shared::cta", "cp.async.bulk.global", "cp.reduce.async.bulk",
    ),
    "cp.async.bulk.commit_group": Opcode(emit=_bulk_commit, result=False, deleted=True),
    "cp.async.bulk.wait_group": Opcode(emit=_bulk_wait, result=False, deleted=True, count=Count("group", (1,), 1)),
    "cp.async.bulk.prefetch.L2": Opcode(emit=_prefetch, result=False),
    "tensormap.replace": Opcode(emit=_replace, result=False),
    "tensormap.cp_fenceproxy": Opcode(emit=_copy_map, result=False, deleted=True),
    **table(
        Opcode(emit=_map_fence, result=False, deleted=True),
        "fence.proxy.tensormap::generic", "membar.proxy.tensormap::generic",
    ),
    "cp.async.bulk.prefetch.tensor": Opcode(emit=hint, result=False),
}  # fmt: skip
