"""Code for atomic operations, and for loads and stores with an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.locations import LEVELS
from warpwright.emulate.ptx.syntax import Instruction, Memory, Operand, Register, Sink, items_of
from warpwright.emulate.translate.operands import address_of, matrix, set_loaded
from warpwright.emulate.translate.unit import Opcode, table
from warpwright.emulate.units.atomics.access import Order
from warpwright.emulate.units.atomics.operations import TYPES, Operator

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter

_SPACES = {"global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "cluster"}
_SEMANTICS = {"relaxed": (False, False), "acquire": (True, False), "release": (False, True), "acq_rel": (True, True),
              "volatile": (False, False)}  # fmt: skip
_HINTS = {"noftz", "L2::cache_hint", "mmio", "nc", "L1::no_allocate", "L1::evict_last", "L1::evict_first"}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


def _order(instruction: Instruction, default: str) -> Order:
    parts = instruction.parts
    level = next((LEVELS[p] for p in parts if p in LEVELS), LEVELS["sys" if "volatile" in parts else default])
    acquire, releases = next((_SEMANTICS[p] for p in parts if p in _SEMANTICS), (False, False))
    return Order(level, acquire, releases)


def _refuse_others(instruction: Instruction, *known: str) -> None:
    other = instruction.mods - {*known, *_SPACES, *_SEMANTICS, *LEVELS, *_HINTS, *_VECTORS}
    if {each for each in other if not each.startswith("L2::")}:
        raise UnsupportedInstruction(f"{instruction.where}: not emulated")


def _space(instruction: Instruction) -> str:
    return next((_SPACES[p] for p in instruction.parts if p in _SPACES), "")


def _values(w: BlockWriter, items: Sequence[Operand], bits: int) -> str:
    """(items, 32) values: of wider registers the low bits count."""
    widths = [w.owner.width(i.name) for i in items if isinstance(i, Register)]
    return matrix(w, items, f"u{max([16, bits, *widths])}")


def _operation(w: BlockWriter, n: Node) -> None:
    """atom D, [a], b [, c] [, policy]; red [a], b [, policy]."""
    instruction, operands = n.instruction, list(n.instruction.operands)
    parts, returns = instruction.parts, instruction.parts[0] == "atom"
    name = next((p for p in parts if p in TYPES), "")
    kind = next((p for p in parts if p in TYPES.get(name, ())), "")
    _refuse_others(instruction, name, kind)
    if not kind or (not returns and name in ("exch", "cas")):
        raise UnsupportedInstruction(f"{instruction.where}: this operation on this type is not emulated")
    result = operands.pop(0) if returns else Sink()
    target, value = operands[:2]
    items = items_of(value)
    operator = Operator(name, kind, len(items), _space(instruction), _order(instruction, "gpu"), returns)
    bits = 8 * operator.width
    terms = [w.owner.constant(operator, "A"), address_of(w, target, n.number, lanes=True), _values(w, items, bits)]
    if name == "cas":
        terms.append(_values(w, items_of(operands[2]), bits))
    w.lines.append(f"t = atomic(f, {n.number}, {', '.join(terms)})")
    for i, item in enumerate(items_of(result)):
        if isinstance(item, Register):
            w.store(item, f"t[{i}]", instruction)


def _load(w: BlockWriter, n: Node) -> None:
    target, memory, *_ = n.instruction.operands
    kind = n.instruction.parts[-1]
    _refuse_others(n.instruction, kind)
    items, width = items_of(target), max(1, int(kind.lstrip("bfsu")) // 8)
    order = w.owner.constant(_order(n.instruction, "sys"), "A")
    address = address_of(w, memory, n.number, lanes=True)
    space = _space(n.instruction)
    w.lines.append(f"t = strong_load(f, {n.number}, {address}, {width}, {len(items)}, '{space}', {order})")
    set_loaded(w, n, items, kind)


def _store(w: BlockWriter, n: Node) -> None:
    memory, source, *_ = n.instruction.operands
    assert isinstance(memory, Memory)
    kind = n.instruction.parts[-1]
    _refuse_others(n.instruction, kind)
    items, bits = items_of(source), int(kind.lstrip("bfsu"))
    order = w.owner.constant(_order(n.instruction, "sys"), "A")
    address = address_of(w, memory, n.number, lanes=True)
    terms = f"{address}, {_values(w, items, bits)}, {bits // 8}, '{_space(n.instruction)}', {order}"
    w.lines.append(f"strong_store(f, {n.number}, {terms})")


OPCODES = {
    "atom": Opcode(emit=_operation, varies="always"),
    "red": Opcode(emit=_operation, result=False),
    "red.release": Opcode(emit=_operation, result=False, deleted=True),
    **table(Opcode(emit=_load), "ld.relaxed", "ld.volatile", "ld.mmio"),
    "ld.acquire": Opcode(emit=_load),
    **table(Opcode(emit=_store, result=False), "st.relaxed", "st.volatile", "st.mmio"),
    "st.release": Opcode(emit=_store, result=False, deleted=True),
}
