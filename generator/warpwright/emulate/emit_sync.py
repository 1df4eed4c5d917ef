"""Code for what synchronises: barriers, fences, votes and shuffles, register reallocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .emit_operands import address_of, set_result, single
from .findings import UnsupportedInstruction
from .syntax import Immediate, Memory, Pair, Register

if TYPE_CHECKING:
    from .nodes import Node
    from .writer import BlockWriter


#: redux.sync: the types of each operation.
_REDUCTIONS = {**dict.fromkeys(("add", "min", "max"), ("u32", "s32")), **dict.fromkeys(("and", "or", "xor"), ("b32",))}


def _cluster(opcode: str) -> bool:
    return "shared::cluster" in opcode


def _init(w: BlockWriter, n: Node) -> None:
    memory, count = n.instruction.operands
    w.lines.append(f"mbarrier_init(f, {n.number}, {address_of(w, memory, n.number)}, {single(w, count, n.number)})")


def _inval(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"mbarrier_inval(f, {n.number}, {address_of(w, n.instruction.operands[0], n.number)})")


def _arrive(w: BlockWriter, n: Node) -> None:
    operands, opcode = list(n.instruction.operands), n.instruction.opcode
    if "noComplete" in n.instruction.parts:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    result = operands.pop(0) if not isinstance(operands[0], Memory) else None
    value = single(w, operands[1], n.number) if len(operands) > 1 else "1"
    count, expect = ("1", value) if "expect_tx" in opcode else (value, "0")
    address = address_of(w, operands[0], n.number, lanes=True)
    call = f"mbarrier_arrive(f, {n.number}, {address}, {count}, {expect}, {_cluster(opcode)})"
    if isinstance(result, Register):
        set_result(w, n, result, call)
    else:
        w.lines.append(call)


def _expect(w: BlockWriter, n: Node) -> None:
    memory, count = n.instruction.operands
    address, value = address_of(w, memory, n.number), single(w, count, n.number)
    w.lines.append(f"mbarrier_expect(f, {n.number}, {address}, {value}, {_cluster(n.instruction.opcode)})")


def _wait(w: BlockWriter, n: Node) -> None:
    opcode, (result, memory, phase, *_) = n.instruction.opcode, n.instruction.operands
    parity = single(w, phase, n.number) if "parity" in n.instruction.parts else f"{single(w, phase, n.number)}&1"
    acquire = "relaxed" not in n.instruction.parts
    arguments = f"f, {n.number}, {address_of(w, memory, n.number)}, {parity}, {acquire}, {_cluster(opcode)}"
    assert isinstance(result, Register)
    if w.block.spin:
        w.lines.append(f"if not mbarrier_wait({arguments}): return -1")
        set_result(w, n, result, "1")
    else:
        set_result(w, n, result, f"mbarrier_test({arguments})")


def _bar(w: BlockWriter, n: Node) -> None:
    operands, parts = n.instruction.operands, n.instruction.parts
    count = single(w, operands[1], n.number) if len(operands) > 1 else "0"
    arguments = f"f, {n.number}, {single(w, operands[0], n.number)}, {count}"
    if "arrive" in parts:
        w.lines.append(f"bar_sync({arguments}, False)")
    else:
        w.lines.append(f"if not bar_sync({arguments}): return -1")


def _cluster_barrier(w: BlockWriter, n: Node) -> None:
    if "arrive" in n.instruction.parts:
        w.lines.append(f"cluster_arrive(f, {n.number}, {'relaxed' in n.instruction.parts})")
    else:
        w.lines.append(f"if not cluster_wait(f, {n.number}): return -1")


def _warp_barrier(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"warp_barrier(f, {n.number}, {single(w, n.instruction.operands[0], n.number)})")


def _fence(w: BlockWriter, n: Node) -> None:
    opcode = n.instruction.opcode
    if opcode.startswith("fence.proxy.async"):
        w.lines.append("fence_proxy_async(f)")
    elif opcode.startswith("fence.mbarrier_init"):
        w.lines.append("fence_mbarrier_init(f)")
    else:
        w.lines.append("fence_thread(f, True)")


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


HANDLERS: dict[str, Callable[[BlockWriter, Node], None]] = {
    "bar.warp.sync": _warp_barrier,
    "mbarrier.init": _init, "mbarrier.inval": _inval, "mbarrier.arrive": _arrive, "mbarrier.expect_tx": _expect,
    "mbarrier.try_wait": _wait, "mbarrier.test_wait": _wait, "barrier.cluster": _cluster_barrier,
    "bar.sync": _bar, "bar.arrive": _bar, "barrier.sync": _bar, "barrier.arrive": _bar, "barrier.cta.sync": _bar,
    "barrier.cta.arrive": _bar, "bar.cta.sync": _bar, "bar.cta.arrive": _bar, "fence.proxy.async": _fence,
    "fence.mbarrier_init": _fence, "fence.acq_rel.cluster": _fence, "fence.acq_rel.gpu": _fence,
    "fence.acq_rel.sys": _fence, "fence.sc.cluster": _fence, "fence.sc.gpu": _fence, "membar.gl": _fence,
    "membar.sys": _fence, "elect.sync": _elect, "shfl.sync": _shuffle, "vote.sync": _vote,
    "activemask": _activemask, "redux.sync": _redux, "setmaxnreg": _setmaxnreg, "trap": _trap,
}  # fmt: skip
