"""Code for what moves and multiplies data: tensor copies, wgmma, loads and stores, matrix loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .emit_operands import address_of, single
from .findings import UnsupportedInstruction
from .syntax import Immediate, Instruction, Memory, Operand, Register, Vector
from .wgmma import Shape

if TYPE_CHECKING:
    from .nodes import Node
    from .writer import BlockWriter


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


def _bulk_commit(w: BlockWriter, n: Node) -> None:
    w.lines.append("bulk_commit(f)")


def _bulk_wait(w: BlockWriter, n: Node) -> None:
    count = w.scalar(n.instruction.operands[0], "u32")
    w.lines.append(f"bulk_wait(f, {n.number}, {count}, {'read' in n.instruction.parts})")


def _wgmma(w: BlockWriter, n: Node) -> None:
    """wgmma.mma_async.sync.aligned.m64nNkK.f32.a.b D, a-desc, b-desc, scale-d, sign-a, sign-b [, tnsp-a, tnsp-b]."""
    shape, d_type, a_type, b_type = n.instruction.parts[4:8]
    d, a, b, scale, *rest = n.instruction.operands
    columns, k = int(shape[4:].split("k")[0]), int(shape.split("k")[1])
    if d_type != "f32" or isinstance(a, Vector) or not isinstance(d, Vector) or "sp" in n.instruction.parts:
        raise UnsupportedInstruction(f"{n.instruction.where}: only dense f32 sums of operands in shared memory")
    values = [i.value for i in rest if isinstance(i, Immediate)] + [1, 1, 0, 0][len(rest) :]
    first = d.items[0]
    assert isinstance(first, Register)
    static = Shape(w.owner.accumulator_of[first.name], columns, k, a_type, b_type, values[0] == -1, values[1] == -1,
                   bool(values[2]), bool(values[3]))  # fmt: skip
    name = w.owner.constant(static, "M")
    terms = [single(w, a, n.number, "u64"), single(w, b, n.number, "u64"), single(w, scale, n.number, "pred")]
    w.lines.append(f"wgmma_mma(f, {n.number}, {name}, {', '.join(terms)})")


def _wgmma_fence(w: BlockWriter, n: Node) -> None:
    w.lines.append("wgmma_fence(f)")


def _wgmma_commit(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"wgmma_commit(f, {n.number})")


def _wgmma_wait(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"if not wgmma_wait(f, {n.number}, {w.scalar(n.instruction.operands[0], 'u32')}): return -1")


def _access(instruction: Instruction, verb: str) -> tuple[str, str]:
    """(function, its last argument) of a load or store by its state space."""
    spaces = {"global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "cluster"}
    found = [spaces[p] for p in instruction.parts if p in spaces]
    if {"local", "const", "param", "acquire", "release", "async", "bulk", "b128"} & set(instruction.parts):
        raise UnsupportedInstruction(f"{instruction.where}: this state space, ordering or type is not emulated")
    if not found or found[0] == "global":
        return f"{'global' if found else 'generic'}_{verb}", ""
    return f"shared_{verb}", f", {found[0] == 'cluster'}"


def _load(w: BlockWriter, n: Node) -> None:
    target, memory, *_ = n.instruction.operands
    items: Sequence[Operand] = target.items if isinstance(target, Vector) else (target,)
    kind = n.instruction.parts[-1]
    width = max(1, int(kind.lstrip("bfsu")) // 8)
    address = address_of(w, memory, n.number, lanes=True)
    function, last = _access(n.instruction, "load")
    w.lines.append(f"t = {function}(f, {n.number}, {address}, {width}, {len(items)}{last})")
    for i, item in enumerate(items):
        if isinstance(item, Register):
            row = f"t[{i}]" if kind[0] != "s" else f"t[{i}].view('i{width}')"
            if item.name in w.flow.varying:
                w.store(item, row, n.instruction)
            else:
                bits = max(16, w.owner.width(item.name))
                w.assign(item, f"int({row}[0]) & {(1 << bits) - 1:#x}")


def matrix(w: BlockWriter, items: Sequence[Operand], kind: str) -> str:
    """(items, 32) unsigned values of registers and immediates."""
    if all(w.flow.is_varying(i) for i in items):
        rows = [w.row_of(i) for i in items]
        view = w.rows(items[0], kind).split("[")[0]
        if len(set(rows)) == 1:
            index = f"{rows[0]}:{rows[0] + 1}" if len(rows) == 1 else w.owner.constant(rows)
        else:
            index = w.index(rows)
        return f"{view}[{index}]"
    return f"rows_of('u{int(kind[1:]) // 8}', {', '.join(w.either(i, kind) for i in items)})"


def _store(w: BlockWriter, n: Node) -> None:
    memory, source, *_ = n.instruction.operands
    items: Sequence[Operand] = source.items if isinstance(source, Vector) else (source,)
    bits = int(n.instruction.parts[-1].lstrip("bfsu"))
    widths = [w.owner.width(i.name) for i in items if isinstance(i, Register)]
    values = matrix(w, items, f"u{max([16, bits, *widths])}")  # of wider registers the low bits are stored
    address = address_of(w, memory, n.number, lanes=True)
    function, last = _access(n.instruction, "store")
    w.lines.append(f"{function}(f, {n.number}, {address}, {values}, {bits // 8}{last})")


def _stmatrix(w: BlockWriter, n: Node) -> None:
    memory, source = n.instruction.operands
    if "m8n8" not in n.instruction.parts or n.instruction.parts[-1] != "b16" or not isinstance(source, Vector):
        raise UnsupportedInstruction(f"{n.instruction.where}: only m8n8 matrices of 16 bits are emulated")
    address = address_of(w, memory, n.number, lanes=True)
    transposed = "trans" in n.instruction.parts
    w.lines.append(f"stmatrix(f, {n.number}, {address}, {matrix(w, source.items, 'u32')}, {transposed})")


def _ldmatrix(w: BlockWriter, n: Node) -> None:
    target, memory = n.instruction.operands
    if "m8n8" not in n.instruction.parts or n.instruction.parts[-1] != "b16" or not isinstance(target, Vector):
        raise UnsupportedInstruction(f"{n.instruction.where}: only m8n8 matrices of 16 bits are emulated")
    address = address_of(w, memory, n.number, lanes=True)
    w.lines.append(f"t = ldmatrix(f, {n.number}, {address}, {len(target.items)}, {'trans' in n.instruction.parts})")
    for i, item in enumerate(target.items):
        if isinstance(item, Register):
            w.store(item, f"t[{i}]", n.instruction)


HANDLERS: dict[str, Callable[[BlockWriter, Node], None]] = {
    "cp.async.bulk.tensor": _tensor, "cp.async.bulk.commit_group": _bulk_commit,
    "cp.async.bulk.wait_group": _bulk_wait, "wgmma.mma_async": _wgmma, "wgmma.fence": _wgmma_fence,
    "wgmma.commit_group": _wgmma_commit, "wgmma.wait_group": _wgmma_wait, "ld": _load, "st": _store,
    "stmatrix": _stmatrix, "ldmatrix": _ldmatrix,
}  # fmt: skip
