"""Code for loads and stores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.syntax import Instruction, Memory, Operand, Register, Vector, items_of
from warpwright.emulate.translate.operands import address_of, addresses_of, matrix, set_loaded, set_result
from warpwright.emulate.translate.unit import Gather, Opcode, hint, table

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


_ORDERED = {"acquire", "release", "relaxed", "volatile", "mmio", "b128", "async", "bulk"}  # one at a time


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
        apart = found == ["global"] and "nc" in instruction.parts
        return f"{found[0] if found else 'generic'}_{verb}", ", False" if apart else ""
    return f"shared_{verb}", f", {found[0] == 'cluster'}"


def _kind(instruction: Instruction) -> str:
    """The type of one item: a word of 128 bits is two of 64."""
    return "b64" if instruction.parts[-1] == "b128" else instruction.parts[-1]


def _load(w: BlockWriter, n: Node) -> None:
    target, memory, *_ = n.instruction.operands
    items = items_of(target)
    kind = _kind(n.instruction)
    width = max(1, int(kind.lstrip("bfsu")) // 8)
    address = address_of(w, memory, n.number, lanes=True)
    function, last = _access(n.instruction, "load")
    w.lines.append(f"t = {function}(f, {n.number}, {address}, {width}, {len(items)}{last})")
    set_loaded(w, n, items, kind)


def _alike(w: BlockWriter, n: Node) -> Hashable:
    """What loads or stores must have in common to be done at once; None for those that stay alone."""
    operands, parts = n.instruction.operands, n.instruction.parts
    stored = parts[0] in ("st", "stmatrix")
    memory, values = operands[:2] if stored else operands[1::-1]
    if not isinstance(memory, Memory) or not w.flow.is_varying(memory.base) or not isinstance(memory.base, Register):
        return None
    if parts[0] == "stmatrix" and not _is_plain(n.instruction):
        return None
    if set(parts) & _ORDERED or not set(parts) & {"global", "shared", "shared::cta"}:
        return None
    items = items_of(values)
    kinds = tuple(w.owner.width(i.name) if isinstance(i, Register) else 0 for i in items)
    if not stored and not all(isinstance(i, Register) and i.name in w.flow.varying for i in items):
        return None
    if len(set(kinds)) > 1:
        return None
    return n.instruction.opcode, kinds, w.owner.width(memory.base.name)


def _gather(w: BlockWriter, nodes: list[Node]) -> None:
    """Several loads or stores that are alike, as one call."""
    first = nodes[0].instruction
    stored = first.parts[0] in ("st", "stmatrix")
    pairs = [n.instruction.operands[:2] if stored else n.instruction.operands[1::-1] for n in nodes]
    items = [i for _, v in pairs for i in items_of(v)]
    numbers = w.owner.constant(tuple(n.number for n in nodes))
    place = f"f, {numbers}, {addresses_of(w, [m for m, _ in pairs])}"
    if first.parts[0] == "stmatrix":
        w.lines.append(f"stmatrices({place}, {matrix(w, items, 'u32')}, {'trans' in first.parts})")
        return
    kind = first.parts[-1]
    function, last = _access(first, "stores" if stored else "loads")
    if stored:
        w.lines.append(f"{function}({place}, {_stored(w, items, kind)}, {int(kind.lstrip('bfsu')) // 8}{last})")
        return
    width = max(1, int(kind.lstrip("bfsu")) // 8)
    call = f"{function}({place}, {width}, {len(items) // len(nodes)}{last})"
    w.store_matrix(items, call if kind[0] != "s" else f"{call}.view('i{width}')", first)


def _stored(w: BlockWriter, items: Sequence[Operand], kind: str) -> str:
    widths = [w.owner.width(i.name) for i in items if isinstance(i, Register)]
    return matrix(w, items, f"u{max([16, int(kind.lstrip('bfsu')), *widths])}")  # of wider registers the low bits


def _store(w: BlockWriter, n: Node) -> None:
    memory, source, *_ = n.instruction.operands
    items = items_of(source)
    bits = int(_kind(n.instruction).lstrip("bfsu"))
    values = _stored(w, items, _kind(n.instruction))
    address = address_of(w, memory, n.number, lanes=True)
    function, last = _access(n.instruction, "store")
    w.lines.append(f"{function}(f, {n.number}, {address}, {values}, {bits // 8}{last})")


def _is_plain(matrices: Instruction) -> bool:
    values = matrices.operands[matrices.parts[0] == "stmatrix"]
    return "m8n8" in matrices.parts and matrices.parts[-1] == "b16" and isinstance(values, Vector)


def _stmatrix(w: BlockWriter, n: Node) -> None:
    memory, source = n.instruction.operands
    if not _is_plain(n.instruction) or not isinstance(source, Vector):
        raise UnsupportedInstruction(f"{n.instruction.where}: only m8n8 matrices of 16 bits are emulated")
    address = address_of(w, memory, n.number, lanes=True)
    transposed = "trans" in n.instruction.parts
    w.lines.append(f"stmatrix(f, {n.number}, {address}, {matrix(w, source.items, 'u32')}, {transposed})")


def _ldmatrix(w: BlockWriter, n: Node) -> None:
    target, memory = n.instruction.operands
    if not _is_plain(n.instruction) or not isinstance(target, Vector):
        raise UnsupportedInstruction(f"{n.instruction.where}: only m8n8 matrices of 16 bits are emulated")
    address = address_of(w, memory, n.number, lanes=True)
    w.lines.append(f"t = ldmatrix(f, {n.number}, {address}, {len(target.items)}, {'trans' in n.instruction.parts})")
    for i, item in enumerate(target.items):
        if isinstance(item, Register):
            w.store(item, f"t[{i}]", n.instruction)


def _policy(w: BlockWriter, n: Node) -> None:
    """createpolicy: caches are not modelled, so every policy is the same."""
    result = n.instruction.operands[0]
    assert isinstance(result, Register)
    set_result(w, n, result, "0")


OPCODES = {
    "createpolicy": Opcode(emit=_policy, varies="never", effect=False),
    "ld": Opcode(emit=_load, gather=Gather(_alike, _gather)),
    "ld.local": Opcode(emit=_load, varies="always"),
    "st": Opcode(emit=_store, result=False, gather=Gather(_alike, _gather)),
    "st.param": Opcode(emit=hint, result=False),  # of a call
    "ldmatrix": Opcode(emit=_ldmatrix, varies="always"),
    "stmatrix": Opcode(emit=_stmatrix, result=False, gather=Gather(_alike, _gather)),
    **table(Opcode(emit=hint, result=False), "prefetch", "prefetchu", "discard", "applypriority"),
}
