"""Operands as text: addresses, values that a warp has once, results, special registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpwright.emulate.machine.addresses import PARAM_BYTES, PARAM_WINDOW, RESERVED
from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Memory, Operand, Register, Special, Symbol

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.translator import Translator
    from warpwright.emulate.translate.writer import BlockWriter

_UNIFORM = {"%clusterid": "w.cta.cluster_id", "%nclusterid": "w.machine.cluster_counts", "%ctaid": "w.cta.ctaid",
            "%nctaid": "w.machine.launch.grid", "%ntid": "w.machine.launch.block",
            "%cluster_nctaid": "w.machine.launch.cluster", "%cluster_ctaid": "w.cta.cluster_ctaid"}  # fmt: skip
_SINGLE = {"%cluster_ctarank": "w.cta.rank", "%cluster_nctarank": "len(w.cta.cluster.ctas)", "%warpid": "w.index",
           "%nwarpid": "len(w.cta.warps)", "%smid": "w.cta.cluster.number * len(w.cta.cluster.ctas) + w.cta.rank",
           "%dynamic_smem_size": "w.machine.launch.shared_bytes", "%is_explicit_cluster": "1", "%gridid": "0",
           "%laneid": "LANES", "%lanemask_lt": "(1 << LANES) - 1", "%lanemask_le": "(2 << LANES.astype(np.uint64)) - 1",
           "%lanemask_eq": "1 << LANES"}  # fmt: skip


_CLOCKS = {"%clock": "(w.clock+{0})&0xffffffff", "%clock64": "w.clock+{0}", "%globaltimer": "w.clock+{0}"}


def special(owner: Translator, operand: Operand, ahead: int) -> str:
    """Special registers and the addresses of parameters and shared arrays; `ahead`: clocks that `w.clock` is behind."""
    if isinstance(operand, Symbol):
        if operand.name in owner.params:
            return str(PARAM_WINDOW + owner.params[operand.name] * PARAM_BYTES)
        if operand.name in owner.program.shared_offsets:
            return f"(w.cta.base + {RESERVED + owner.program.shared_offsets[operand.name]})"
        if operand.name in owner.program.local_offsets:
            return str(owner.program.local_offsets[operand.name])
        if any(array.name == operand.name for array in owner.kernel.arrays):
            return f"w.machine.memory.buffers['{operand.name}'].address"
        raise UnsupportedInstruction(f"symbol {operand.name} is not a parameter or a declared array")
    assert isinstance(operand, Special)
    name, _, axis = operand.name.partition(".")
    if name == "%tid" and axis:
        return f"w.tid[{'xyz'.index(axis)}]"
    if name in _UNIFORM and axis:
        return f"{_UNIFORM[name]}[{'xyz'.index(axis)}]"
    if operand.name in _SINGLE:
        return _SINGLE[operand.name]
    if operand.name in _CLOCKS:
        return _CLOCKS[operand.name].format(ahead)
    raise UnsupportedInstruction(f"special register {operand.name} is not emulated")


def address_of(writer: BlockWriter, operand: Operand, number: int, lanes: bool = False) -> str:
    """The address of a memory operand: one integer, or (where `lanes` are allowed) a row."""
    assert isinstance(operand, Memory)
    base, offset = operand.base, operand.offset
    if writer.flow.is_varying(base):
        assert isinstance(base, Register)
        bits = writer.owner.width(base.name)
        row = writer.rows(base, f"u{bits}") + (f"+{offset & (1 << bits) - 1}" if offset else "")
        return row if lanes else f"one(f, {number}, {row})"
    address = writer.scalar(base, "u64")
    if not offset:
        return address
    if isinstance(base, Register) and writer.owner.width(base.name) == 32:  # the sum is one of 32 bits as well
        return f"({address}+{offset}&0xffffffff)"
    return f"{address}+{offset}"


def addresses_of(writer: BlockWriter, operands: Sequence[Operand]) -> str:
    """(operands, 32) addresses of memory operands whose bases are varying registers of one width."""
    memories = [o for o in operands if isinstance(o, Memory)]
    rows = [writer.row_of(m.base) for m in memories]
    assert isinstance(memories[0].base, Register)
    bits = writer.owner.width(memories[0].base.name)
    view = writer.rows(memories[0].base, f"u{bits}").split("[")[0]
    offsets = np.array([[m.offset & (1 << bits) - 1] for m in memories], dtype=f"u{bits // 8}")
    if len(set(rows)) > 1:
        found = f"{view}[{writer.index(rows)}]"
        return f"{found}+{writer.owner.constant(offsets)}" if offsets.any() else found
    return f"{view}[{rows[0]}]+{writer.owner.constant(offsets)}"


def single(writer: BlockWriter, operand: Operand, number: int, kind: str = "u32") -> str:
    """A value that the instruction takes once for the warp."""
    text = writer.either(operand, kind)
    return f"one(f, {number}, {text})" if writer.flow.is_varying(operand) else text


def set_result(w: BlockWriter, n: Node, result: Register, value: str) -> None:
    if result.name in w.flow.varying:
        w.store(result, value, n.instruction)
    else:
        w.assign(result, value)


def set_loaded(w: BlockWriter, n: Node, items: Sequence[Operand], kind: str) -> None:
    """Registers get what a load has left in `t`, (items, 32) or (items, 1) unsigned words of type `kind`."""
    width = max(1, int(kind.lstrip("bfsu")) // 8)
    for i, item in enumerate(items):
        if isinstance(item, Register):
            row = f"t[{i}]" if kind[0] != "s" else f"t[{i}].view('i{width}')"
            if item.name in w.flow.varying:
                w.store(item, row, n.instruction)
            else:
                w.assign(item, f"int({row}[0]) & {(1 << max(16, w.owner.width(item.name))) - 1:#x}")


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
