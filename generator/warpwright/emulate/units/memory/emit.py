"""Code for loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Instruction, Operand, Register, Vector
from warpwright.emulate.translate.operands import address_of, matrix
from warpwright.emulate.translate.unit import Opcode, hint, table

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def _access(instruction: Instruction, verb: str) -> tuple[str, str]:
    """(function, its last argument) of a load or store by its state space."""
    spaces = {
        "global": "global",
        "const": "global",
        "local": "local",
        "shared": "shared",
        "shared::cta": "shared",
        "shared::cluster": "cluster",
    }
    found = [spaces[p] for p in instruction.parts if p in spaces]
    if {"param", "acquire", "release", "async", "bulk"} & set(instruction.parts):
        raise UnsupportedInstruction(f"{instruction.where}: this state space, ordering or type is not emulated")
    if not found or found[0] in ("global", "local"):
        return f"{found[0] if found else 'generic'}_{verb}", ""
    return f"shared_{verb}", f", {found[0] == 'cluster'}"


def _kind(instruction: Instruction) -> str:
    """The type of one item: a word of 128 bits is two of 64."""
    return "b64" if instruction.parts[-1] == "b128" else instruction.parts[-1]


def _load(w: BlockWriter, n: Node) -> None:
    target, memory, *_ = n.instruction.operands
    items: Sequence[Operand] = target.items if isinstance(target, Vector) else (target,)
    kind = _kind(n.instruction)
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


def _store(w: BlockWriter, n: Node) -> None:
    memory, source, *_ = n.instruction.operands
    items: Sequence[Operand] = source.items if isinstance(source, Vector) else (source,)
    bits = int(_kind(n.instruction).lstrip("bfsu"))
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


OPCODES = {
    "ld": Opcode(emit=_load),
    "ld.local": Opcode(emit=_load, varies="always"),
    "st": Opcode(emit=_store, result=False),
    "st.param": Opcode(emit=hint, result=False),  # of a call
    "ldmatrix": Opcode(emit=_ldmatrix, varies="always"),
    "stmatrix": Opcode(emit=_stmatrix, result=False),
    **table(Opcode(emit=hint, result=False), "prefetch", "prefetchu", "discard", "applypriority"),
}
