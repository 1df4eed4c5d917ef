"""Code for votes, shuffles, elections and reductions, register reallocation and traps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.ptx.flow import registers
from warpwright.emulate.ptx.syntax import Immediate, Instruction, Operand, Pair, Register, Symbol
from warpwright.emulate.translate.operands import set_result, single
from warpwright.emulate.translate.unit import Opcode, hint, table

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter

#: redux.sync: the types of each operation.
_REDUCTIONS = {**dict.fromkeys(("add", "min", "max"), ("u32", "s32")), **dict.fromkeys(("and", "or", "xor"), ("b32",))}


def _elect(w: BlockWriter, n: Node) -> None:
    result, members = n.instruction.operands
    assert isinstance(result, Pair)
    w.lines.append(f"converged(f, {n.number}, {single(w, members, n.number)})")
    if isinstance(result.first, Register):
        set_result(w, n, result.first, "(f.mask & -f.mask).bit_length() - 1")
    if isinstance(result.second, Register):
        w.store(result.second, "leader(f)", n.instruction)


def _shuffle(w: BlockWriter, n: Node) -> None:
    result, source, lane, clamp, members = n.instruction.operands
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    assert isinstance(first, Register)
    w.lines.append(f"converged(f, {n.number}, {single(w, members, n.number)})")
    mode = n.instruction.parts[2]
    terms = [w.either(o, "u32") for o in (source, lane, clamp)]
    if first.name not in w.flow.varying and not w.flow.is_varying(source):
        w.assign(first, terms[0])
        if isinstance(second, Register):
            set_result(w, n, second, "1")
        return
    if first.name not in w.flow.varying and isinstance(clamp, Immediate) and clamp.value == 31 and not second:
        w.assign(first, f"int({terms[0]}[{terms[1]} & 31])")
        return
    w.lines.append(f"t, inside = shuffle(f, '{mode}', {', '.join(terms)})")
    pick = "" if first.name in w.flow.varying else "int(t[f.lanes.argmax()])"
    set_result(w, n, first, pick or "t")
    if isinstance(second, Register):
        set_result(w, n, second, "inside" if second.name in w.flow.varying else "int(inside[f.lanes.argmax()])")


def _vote(w: BlockWriter, n: Node) -> None:
    result, source, *members = n.instruction.operands
    assert isinstance(result, Register)
    value = w.either(source, "pred")
    if isinstance(source, Register) and n.instruction.negated:
        value = f"~{value}"
    w.lines.append(f"converged(f, {n.number}, {single(w, members[0], n.number)})")
    set_result(w, n, result, f"vote(f, '{n.instruction.parts[2]}', {value})")


def _activemask(w: BlockWriter, n: Node) -> None:
    result = n.instruction.operands[0]
    assert isinstance(result, Register)
    set_result(w, n, result, "f.mask")


def _redux(w: BlockWriter, n: Node) -> None:
    result, source, members = n.instruction.operands
    assert isinstance(result, Register)
    operation, kind = n.instruction.parts[2], n.instruction.parts[-1]
    if kind not in _REDUCTIONS.get(operation, ()):
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    w.lines.append(f"converged(f, {n.number}, {single(w, members, n.number)})")
    set_result(w, n, result, f"reduce_lanes(f, '{operation}', {w.either(source, kind)}, {kind == 's32'})")


def _setmaxnreg(w: BlockWriter, n: Node) -> None:
    count = single(w, n.instruction.operands[0], n.number)
    increase = "inc" in n.instruction.parts
    call = f"setmaxnreg(f, {n.number}, {count}, {increase})"
    w.lines.append(f"if not {call}: return -1" if increase else call)


def _trap(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"trap(f, {n.number})")


def _call(w: BlockWriter, n: Node) -> None:
    """call [(result),] name [, (arguments)]: what the runtime brings; printf says nothing here."""
    names = [o.name for o in n.instruction.operands if isinstance(o, Symbol)]
    if names == ["__assertfail"]:
        w.lines.append(f"trap(f, {n.number}, 'an assertion of the kernel failed')")
    elif names != ["vprintf"]:
        raise UnsupportedInstruction(f"{n.instruction.where}: only vprintf and __assertfail can be called")


def _elect_varies(instruction: Instruction, _is_varying: Callable[[Operand], bool]) -> list[str]:
    """The elected lane is the same for all; whether one is it is not."""
    result = instruction.operands[0]
    return list(registers(result.second)) if isinstance(result, Pair) else []


def _shuffle_varies(instruction: Instruction, is_varying: Callable[[Operand], bool]) -> list[str]:
    """A broadcast from one lane of the whole warp gives all lanes the same."""
    result, source, lane, clamp, *_ = instruction.operands
    broadcast = "idx" in instruction.parts and not is_varying(lane) and clamp == Immediate(31)
    same = broadcast or not any(is_varying(o) for o in (source, lane, clamp))
    return [] if same else list(registers(result))


OPCODES = {
    "elect.sync": Opcode(emit=_elect, varies=_elect_varies, effect=False),
    "shfl.sync": Opcode(emit=_shuffle, varies=_shuffle_varies, effect=False),
    "vote.sync": Opcode(emit=_vote, varies="never", effect=False),
    "activemask": Opcode(emit=_activemask, varies="never", effect=False),
    "redux.sync": Opcode(emit=_redux, varies="never", effect=False),
    "setmaxnreg": Opcode(emit=_setmaxnreg, result=False),
    "setmaxnreg.inc": Opcode(emit=_setmaxnreg, result=False, suspends=True),
    **table(Opcode(emit=_trap, result=False), "trap", "brkpt"),
    "call": Opcode(emit=_call, result=False),
    **table(Opcode(emit=hint, result=False), "nanosleep", "griddepcontrol", "pmevent"),
}
