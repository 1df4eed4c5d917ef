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
    w.lines.append(f"t, leads = elected(f, {n.number}, {w.either(members, 'u32')})")
    if isinstance(result.first, Register):
        set_result(w, n, result.first, "t")
    if isinstance(result.second, Register):
        w.store(result.second, "leads", n.instruction)


def _is_broadcast(instruction: Instruction, is_varying: Callable[[Operand], bool]) -> bool:
    """Whether shfl reads one lane of the whole warp: then all lanes get the same, and it is in range."""
    lane, clamp = instruction.operands[2:4]
    return "idx" in instruction.parts and not is_varying(lane) and clamp == Immediate(31)


def _shuffle(w: BlockWriter, n: Node) -> None:
    result, source, lane, clamp, mask = n.instruction.operands
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    members, terms = w.either(mask, "u32"), [w.either(o, "u32") for o in (source, lane, clamp)]
    if _is_broadcast(n.instruction, w.flow.is_varying):
        w.lines.append(f"broadcast(f, {n.number}, {terms[1]}, {members})")
        if isinstance(first, Register):
            set_result(w, n, first, f"int({terms[0]}[{terms[1]} & 31])" if w.flow.is_varying(source) else terms[0])
        if isinstance(second, Register):
            set_result(w, n, second, "1")
        return
    w.lines.append(f"t, inside = shuffle(f, {n.number}, '{n.instruction.parts[2]}', {', '.join(terms)}, {members})")
    for register, row in ((first, "t"), (second, "inside")):
        if isinstance(register, Register):
            varies = register.name in w.flow.varying
            set_result(w, n, register, row if varies else f"int({row}[f.lanes.argmax()])")


def _vote(w: BlockWriter, n: Node) -> None:
    result, source, *members = n.instruction.operands
    assert isinstance(result, Register)
    value = w.either(source, "pred")
    if isinstance(source, Register) and n.instruction.negated:
        value = f"~{value}"
    mask = w.either(members[0], "u32")
    set_result(w, n, result, f"vote(f, {n.number}, '{n.instruction.parts[2]}', {value}, {mask})")


def _match(w: BlockWriter, n: Node) -> None:
    result, source, members = n.instruction.operands
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    value = w.either(source, n.instruction.parts[-1].replace("b", "u"))
    mask = w.either(members, "u32")
    w.lines.append(f"t, agree = match(f, {n.number}, '{n.instruction.parts[1]}', {value}, {mask})")
    for register, row in ((first, "t"), (second, "agree")):
        if isinstance(register, Register):
            w.store(register, row, n.instruction)


def _activemask(w: BlockWriter, n: Node) -> None:
    result = n.instruction.operands[0]
    assert isinstance(result, Register)
    set_result(w, n, result, "f.mask")


def _redux(w: BlockWriter, n: Node) -> None:
    result, source, members = n.instruction.operands
    assert isinstance(result, Register)
    operation, *more, kind = n.instruction.parts[2:]
    mask = w.either(members, "u32")
    if kind == "f32" and operation in ("min", "max") and set(more) <= {"abs", "NaN"}:
        flags = f"{'NaN' in more}, {'abs' in more}"
        call = f"reduce_floats(f, {n.number}, '{operation}', {w.either(source, 'u32')}, {mask}, {flags})"
    elif kind in _REDUCTIONS.get(operation, ()) and not more:
        call = f"reduce_lanes(f, {n.number}, '{operation}', {w.either(source, kind)}, {mask})"
    else:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    set_result(w, n, result, call)


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


def _group_varies(instruction: Instruction, is_varying: Callable[[Operand], bool]) -> list[str]:
    """The same for all lanes, unless groups of them exchange among themselves."""
    return list(registers(instruction.operands[0])) if is_varying(instruction.operands[-1]) else []


def _elect_varies(instruction: Instruction, is_varying: Callable[[Operand], bool]) -> list[str]:
    """The elected lane is the same for all; whether one is it is not."""
    result = instruction.operands[0]
    assert isinstance(result, Pair)
    return _group_varies(instruction, is_varying) or list(registers(result.second))


def _shuffle_varies(instruction: Instruction, is_varying: Callable[[Operand], bool]) -> list[str]:
    """A broadcast from one lane of the whole warp gives all lanes the same; else being in range varies in any case."""
    result, *sources, _members = instruction.operands
    if _is_broadcast(instruction, is_varying):
        return []
    if any(is_varying(o) for o in sources):
        return list(registers(result))
    return list(registers(result.second)) if isinstance(result, Pair) else []


OPCODES = {
    "elect.sync": Opcode(emit=_elect, varies=_elect_varies, effect=False),
    "shfl.sync": Opcode(emit=_shuffle, varies=_shuffle_varies, effect=False),
    "vote.sync": Opcode(emit=_vote, varies=_group_varies, effect=False),
    **table(Opcode(emit=_match, varies="always", effect=False), "match.any.sync", "match.all.sync"),
    "activemask": Opcode(emit=_activemask, varies="never", effect=False),
    "redux.sync": Opcode(emit=_redux, varies=_group_varies, effect=False),
    "setmaxnreg": Opcode(emit=_setmaxnreg, result=False),
    "setmaxnreg.inc": Opcode(emit=_setmaxnreg, result=False, suspends=True),
    **table(Opcode(emit=_trap, result=False), "trap", "brkpt"),
    "call": Opcode(emit=_call, result=False),
    **table(Opcode(emit=hint, result=False, effect=False), "nanosleep", "pmevent"),
    "griddepcontrol": Opcode(emit=hint, result=False),
}
