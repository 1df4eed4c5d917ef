"""Code for the tcgen05 instructions of Blackwell: tensor memory, its loads and stores, matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Memory, Operand, Register, Vector, items_of
from warpwright.emulate.translate.operands import address_of, matrix, single
from warpwright.emulate.translate.unit import Opcode
from warpwright.emulate.units.tcgen05.copies import HALVES, SHAPES, registers_of
from warpwright.emulate.units.tcgen05.shapes import FORMATS, SCALES
from warpwright.emulate.units.tcgen05.shared_copies import DECOMPRESSED, SOURCES

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def _refuse(n: Node, what: str) -> UnsupportedInstruction:
    return UnsupportedInstruction(f"{n.instruction.where}: {what} is not emulated")


def _group(n: Node) -> int:
    return 2 if "cta_group::2" in n.instruction.parts else 1


def _alloc(w: BlockWriter, n: Node) -> None:
    memory, columns = n.instruction.operands
    address = address_of(w, memory, n.number)
    w.lines.append(
        f"if not tcgen05_alloc(f, {n.number}, {address}, {single(w, columns, n.number)}, {_group(n)}): return -1"
    )


def _dealloc(w: BlockWriter, n: Node) -> None:
    address, columns = (single(w, o, n.number) for o in n.instruction.operands)
    call = f"tcgen05_dealloc(f, {n.number}, {address}, {columns}, {_group(n)})"
    w.lines.append(f"if not {call}: return -1")


def _relinquish(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"tcgen05_relinquish(f, {n.number}, {_group(n)})")


def _mma(w: BlockWriter, n: Node) -> None:
    """tcgen05.mma.cta_group.kind [d], a-desc or [a], b-desc, i-desc, then {disable-output-lane}, enable-input-d, and
    scale-input-d, or with block scaling [scale-a], [scale-b], enable-input-d."""
    parts = n.instruction.parts
    kind = next((p[6:] for p in parts if p.startswith("kind::")), "")
    if kind not in FORMATS or {"ws", "sp", "ashift"} & set(parts):
        raise _refuse(n, "this kind or variant of tcgen05.mma")
    d, a, b, descriptor, *rest = n.instruction.operands
    disabled: Sequence[Operand] = ()
    scales = divide = ""
    if kind in SCALES:
        size = next((p for p in parts if p.startswith(("scale_vec", "block1", "block3"))), "")
        if size not in SCALES[kind] or len(rest) != 3:
            raise _refuse(n, f"this block scaling of kind::{kind}")
        places = ", ".join(address_of(w, o, n.number) for o in rest[:2])
        scales = f"({places}, {SCALES[kind][size]})"
        rest = rest[2:]
    elif rest and isinstance(rest[0], Vector):
        disabled = rest[0].items
        rest = rest[1:]
    if len(rest) == 2 and kind in ("f16", "tf32"):
        divide = f", {single(w, rest.pop(), n.number)}"
    if len(rest) != 1:
        raise _refuse(n, "this list of operands")
    in_tensor = isinstance(a, Memory)
    left = address_of(w, a, n.number) if in_tensor else single(w, a, n.number, "u64")
    lanes = "".join(f"{single(w, o, n.number)}, " for o in disabled)
    w.lines.append(
        f"tcgen05_mma(f, {n.number}, '{kind}', {_group(n)}, {address_of(w, d, n.number)}, {left}, {in_tensor},"
        f" {single(w, b, n.number, 'u64')}, {single(w, descriptor, n.number)}, ({lanes}), {scales or None},"
        f" {single(w, rest[0], n.number, 'pred')}{divide})"
    )


def _cp(w: BlockWriter, n: Node) -> None:
    """tcgen05.cp.cta_group.shape{.multicast}{.dst_fmt.src_fmt} [address], s-desc."""
    parts = n.instruction.parts
    address, descriptor = n.instruction.operands
    shape = next((p for p in parts if p in SOURCES), "")
    multicast = next((p for p in parts if p.startswith("warpx")), "")
    source = next((p for p in parts if p in DECOMPRESSED), "")
    if multicast not in SOURCES.get(shape, ()) or (source != "") != ("b8x16" in parts):
        raise _refuse(n, "this shape, multicast or format of tcgen05.cp")
    w.lines.append(
        f"tcgen05_cp(f, {n.number}, {_group(n)}, {address_of(w, address, n.number)},"
        f" {single(w, descriptor, n.number, 'u64')}, '{shape}', '{multicast}', '{source}')"
    )


def _shift(w: BlockWriter, n: Node) -> None:
    (address,) = n.instruction.operands
    if "down" not in n.instruction.parts:
        raise _refuse(n, "this direction of tcgen05.shift")
    w.lines.append(f"tcgen05_shift(f, {n.number}, {_group(n)}, {address_of(w, address, n.number)})")


def _commit(w: BlockWriter, n: Node) -> None:
    memory, *mask = n.instruction.operands
    if "mbarrier::arrive::one" not in n.instruction.parts:
        raise _refuse(n, "this completion mechanism of tcgen05.commit")
    chosen = single(w, mask[0], n.number, "u16") if mask else "None"
    w.lines.append(f"tcgen05_commit(f, {n.number}, {address_of(w, memory, n.number)}, {_group(n)}, {chosen})")


def _copy_shape(w: BlockWriter, n: Node, items: Sequence[Operand], more: Sequence[Operand]) -> tuple[str, int, str]:
    """(shape, repeat, the argument that says how far the halves of threads are apart)."""
    parts = n.instruction.parts
    shape = next((p for p in parts if p in SHAPES), "")
    repeat = next((int(p[1:]) for p in parts if p[0] == "x" and p[1:].isdigit()), 0)
    if not shape or not repeat or "red" in parts:
        raise _refuse(n, "this shape of tcgen05.ld or tcgen05.st")
    if len(items) != registers_of(shape, repeat) or not all(isinstance(i, Register) for i in items):
        raise _refuse(n, f"{len(items)} registers where the shape has {registers_of(shape, repeat)}")
    if len(more) != (shape == HALVES):
        raise _refuse(n, "this list of operands")
    return shape, repeat, "".join(f", {single(w, each, n.number)}" for each in more)


def _ld(w: BlockWriter, n: Node) -> None:
    target, memory, *more = n.instruction.operands
    items = items_of(target)
    shape, repeat, split = _copy_shape(w, n, items, more)
    results = [i for i in items if isinstance(i, Register)]
    names = w.owner.constant(frozenset(r.name for r in results), "N")
    pack = "pack::16b" in n.instruction.parts
    address = address_of(w, memory, n.number)
    w.lines.append(f"t = tcgen05_ld(f, {n.number}, {address}, '{shape}', {repeat}, {pack}, {names}{split})")
    w.store_rows(results, "t" if len(results) > 1 else "t[0]", "u32", n.instruction)


def _st(w: BlockWriter, n: Node) -> None:
    memory, *more, source = n.instruction.operands
    items = items_of(source)
    shape, repeat, split = _copy_shape(w, n, items, more)
    unpack = "unpack::16b" in n.instruction.parts
    address, values = address_of(w, memory, n.number), matrix(w, items, "u32")
    w.lines.append(f"tcgen05_st(f, {n.number}, {address}, '{shape}', {repeat}, {unpack}, {values}{split})")


def _wait(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"tcgen05_wait(f, {n.number}, {'wait::ld' in n.instruction.parts})")


def _fence(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"tcgen05_fence(f, {'before_thread_sync' in n.instruction.opcode})")


OPCODES = {
    "tcgen05.alloc": Opcode(emit=_alloc, suspends=True),
    "tcgen05.dealloc": Opcode(emit=_dealloc, result=False, deleted=True, suspends=True),
    "tcgen05.relinquish_alloc_permit": Opcode(emit=_relinquish, deleted=True),
    "tcgen05.mma": Opcode(emit=_mma),
    "tcgen05.cp": Opcode(emit=_cp, deleted=True),
    "tcgen05.shift": Opcode(emit=_shift, deleted=True),
    "tcgen05.commit": Opcode(emit=_commit, deleted=True),
    "tcgen05.ld": Opcode(emit=_ld, varies="always"),
    "tcgen05.st": Opcode(emit=_st),
    "tcgen05.wait::ld": Opcode(emit=_wait, deleted=True),
    "tcgen05.wait::st": Opcode(emit=_wait, deleted=True),
    "tcgen05.fence::before_thread_sync": Opcode(emit=_fence, deleted=True),
    "tcgen05.fence::after_thread_sync": Opcode(emit=_fence, deleted=True),
}
