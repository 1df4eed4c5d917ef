"""Code for barriers and fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.locations import LEVELS
from warpwright.emulate.ptx.syntax import Memory, Register
from warpwright.emulate.translate.operands import address_of, set_result, single
from warpwright.emulate.translate.unit import Count, Handler, Opcode, hint, table

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


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


def _fence(call: str) -> Handler:
    def emit(w: BlockWriter, _node: Node) -> None:
        if call:
            w.lines.append(f"{call}(f)")
        level = next((LEVELS[p] for p in _node.instruction.parts if p in LEVELS), None)
        if level is not None and call != "fence_mbarrier_init" and "proxy" not in _node.instruction.parts:
            w.lines.append(f"fence_scope(f, {level}, True, True)")

    return emit


_ARRIVALS, _BYTES, _THREADS = Count("arrival"), Count("byte"), Count("threads", (32, -32))

OPCODES = {
    "mbarrier.init": Opcode(emit=_init, deleted=True, count=_ARRIVALS),
    "mbarrier.inval": Opcode(emit=_inval),
    "mbarrier.arrive": Opcode(emit=_arrive, deleted=True, count=_ARRIVALS),
    "mbarrier.arrive.expect_tx": Opcode(emit=_arrive, deleted=True, count=_BYTES),
    "mbarrier.expect_tx": Opcode(emit=_expect, deleted=True, count=_BYTES),
    **table(Opcode(emit=_wait, spins=True), "mbarrier.try_wait", "mbarrier.test_wait"),
    **table(
        Opcode(emit=_bar, result=False, suspends=True, deleted=True, count=_THREADS),
        "bar.sync", "barrier.sync", "barrier.cta.sync", "bar.cta.sync",
    ),
    **table(
        Opcode(emit=_bar, result=False, deleted=True, count=_THREADS),
        "bar.arrive", "barrier.arrive", "barrier.cta.arrive", "bar.cta.arrive",
    ),
    "bar.warp.sync": Opcode(emit=_warp_barrier, result=False, deleted=True),
    "barrier.cluster.arrive": Opcode(emit=_cluster_barrier, result=False, deleted=True),
    "barrier.cluster.wait": Opcode(emit=_cluster_barrier, result=False, suspends=True, deleted=True),
    "fence.proxy.async": Opcode(emit=_fence("fence_proxy_async"), result=False, deleted=True),
    "fence.mbarrier_init": Opcode(emit=_fence("fence_mbarrier_init"), result=False, deleted=True),
    **table(
        Opcode(emit=_fence("fence_thread"), result=False, deleted=True),
        "fence.acq_rel.cluster", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.cluster", "fence.sc.gpu",
        "fence.sc.sys",
    ),
    **table(Opcode(emit=_fence("fence_thread"), result=False), "membar.gl", "membar.sys"),
    **table(Opcode(emit=_fence(""), result=False), "fence.acq_rel.cta", "fence.sc.cta"),
    **table(
        Opcode(emit=hint, result=False, deleted=True),
        "fence.proxy.tensormap", "fence.proxy.tensormap::generic",
        "fence.proxy.alias",
    ),
    "membar.cta": Opcode(emit=hint, result=False),
}  # fmt: skip
