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


def _init(w: BlockWriter, n: Node) -> None:
    memory, count = n.instruction.operands
    address = address_of(w, memory, n.number, lanes=True)
    w.lines.append(f"mbarrier_init(f, {n.number}, {address}, {single(w, count, n.number)})")


def _inval(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"mbarrier_inval(f, {n.number}, {address_of(w, n.instruction.operands[0], n.number)})")


def _anywhere(opcode: str) -> bool:
    """Whether the barrier may be a peer's: said so, or at a generic address."""
    return "shared::cluster" in opcode or ".shared" not in opcode


def _local(n: Node) -> bool:
    """Whether the scope is said to be the CTA."""
    return "cta" in n.instruction.parts


def _arrive(w: BlockWriter, n: Node) -> None:
    operands, parts = list(n.instruction.operands), n.instruction.parts
    result = operands.pop(0) if not isinstance(operands[0], Memory) else None
    value = single(w, operands[1], n.number) if len(operands) > 1 else "1"
    count, expect = ("1", value) if "expect_tx" in parts else (value, "0")
    address = address_of(w, operands[0], n.number, lanes=True)
    flags = {"relaxed": "relaxed" in parts, "local": _local(n), "drop": "arrive_drop" in parts,
             "still": "noComplete" in parts}  # fmt: skip
    said = "".join(f", {name}=True" for name, given in flags.items() if given)
    anywhere = _anywhere(n.instruction.opcode)
    call = f"mbarrier_arrive(f, {n.number}, {address}, {count}, {expect}, {anywhere}{said})"
    if isinstance(result, Register):
        set_result(w, n, result, call)
    else:
        w.lines.append(call)


def _expect(w: BlockWriter, n: Node) -> None:
    memory, count = n.instruction.operands
    address, value = address_of(w, memory, n.number), single(w, count, n.number)
    w.lines.append(f"mbarrier_expect(f, {n.number}, {address}, {value}, {_anywhere(n.instruction.opcode)})")


def _wait(w: BlockWriter, n: Node) -> None:
    opcode, (result, memory, phase, *_) = n.instruction.opcode, n.instruction.operands
    address = address_of(w, memory, n.number)
    if "parity" in n.instruction.parts:
        parity = single(w, phase, n.number)
    else:
        parity = f"phase_parity(f, {n.number}, {address}, {single(w, phase, n.number, 'u64')})"
    acquire = "relaxed" not in n.instruction.parts
    local = ", True" if _local(n) else ""
    arguments = f"f, {n.number}, {address}, {parity}, {acquire}, {'shared::cluster' in opcode}{local}"
    assert isinstance(result, Register)
    if w.block.spin:
        w.lines.append(f"if not mbarrier_wait({arguments}): return -1")
        set_result(w, n, result, "1")
    else:
        set_result(w, n, result, f"mbarrier_test({arguments})")


def _pending(w: BlockWriter, n: Node) -> None:
    result, state = n.instruction.operands
    assert isinstance(result, Register)
    set_result(w, n, result, f"{single(w, state, n.number, 'u64')} >> 32")


def _aligned(n: Node) -> bool:
    """Whether all lanes of the warp must be together: bar is barrier with .aligned."""
    return n.instruction.parts[0] == "bar" or "aligned" in n.instruction.parts


def _bar(w: BlockWriter, n: Node) -> None:
    operands, parts = n.instruction.operands, n.instruction.parts
    count = single(w, operands[1], n.number) if len(operands) > 1 else "0"
    arguments = f"f, {n.number}, {single(w, operands[0], n.number)}, {count}"
    if "arrive" not in parts:
        w.lines.append(f"if not bar_sync({arguments}, True, {_aligned(n)}): return -1")
    elif _aligned(n):
        w.lines.append(f"bar_sync({arguments}, False, True)")
    else:
        w.lines.append(f"if not bar_sync({arguments}, False, False): return -1")


def _bar_red(w: BlockWriter, n: Node) -> None:
    """bar.red.popc.u32 D, barrier [, threads], predicate; .and.pred, .or.pred."""
    result, barrier, *rest = n.instruction.operands
    operation = next((p for p in n.instruction.parts if p in ("popc", "and", "or")), "")
    if not operation or not isinstance(rest[-1], Register):
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    count = single(w, rest[0], n.number) if len(rest) > 1 else "0"
    terms = f"f, {n.number}, {single(w, barrier, n.number)}, {count}, {_aligned(n)}, '{operation}'"
    w.lines += [f"t = bar_red({terms}, {w.either(rest[-1], 'pred')})", "if t is None: return -1"]
    if isinstance(result, Register):
        set_result(w, n, result, "t")


def _cluster_barrier(w: BlockWriter, n: Node) -> None:
    aligned = "aligned" in n.instruction.parts
    if "arrive" in n.instruction.parts:
        w.lines.append(f"cluster_arrive(f, {n.number}, {'relaxed' in n.instruction.parts}, {aligned})")
    else:
        w.lines.append(f"if not cluster_wait(f, {n.number}, {aligned}): return -1")


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


def _fence_thread(w: BlockWriter, n: Node) -> None:
    """fence{.sem}.scope and membar.level: an acquire fence, a release fence, or both."""
    parts = n.instruction.parts
    other = set(parts[1:]) - _FENCE_WORDS
    if other:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    level = next(LEVELS[part] for part in parts if part in LEVELS)
    w.lines.append(f"fence_thread(f, {level}, {'release' not in parts}, {'acquire' not in parts})")


def _proxy_fence(w: BlockWriter, n: Node) -> None:
    """fence.proxy.async of one state space or of all; its one-way forms are fences of threads as well."""
    parts = n.instruction.parts
    named = {"shared::cta", "shared::cluster", "global", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"}
    spaces = named & set(parts)
    if "acquire" in parts:
        w.lines.append(f"fence_thread(f, {LEVELS['cluster']}, True, False)")
    w.lines.append(f"fence_proxy_async(f, {spaces != {'global'}}, {spaces <= {'global'}})")
    if "release" in parts:
        w.lines.append(f"fence_thread(f, {LEVELS['cluster']}, False, True)")


_FENCE_WORDS = {"acq_rel", "sc", "acquire", "release", "cta", "cluster", "gpu", "gl", "sys"}
_FENCE_WORDS |= {"sync_restrict::shared::cta", "sync_restrict::shared::cluster"}
_ARRIVALS, _BYTES, _THREADS = Count("arrival"), Count("byte"), Count("threads", (32, -32))

OPCODES = {
    "mbarrier.init": Opcode(emit=_init, deleted=True, count=_ARRIVALS),
    "mbarrier.inval": Opcode(emit=_inval),
    "mbarrier.arrive": Opcode(emit=_arrive, deleted=True, count=_ARRIVALS),
    "mbarrier.arrive.expect_tx": Opcode(emit=_arrive, deleted=True, count=_BYTES),
    "mbarrier.expect_tx": Opcode(emit=_expect, deleted=True, count=_BYTES),
    "mbarrier.arrive_drop": Opcode(emit=_arrive, deleted=True, count=_ARRIVALS),
    "mbarrier.arrive_drop.expect_tx": Opcode(emit=_arrive, deleted=True, count=_BYTES),
    **table(Opcode(emit=_wait, spins=True), "mbarrier.try_wait", "mbarrier.test_wait"),
    "mbarrier.pending_count": Opcode(emit=_pending, effect=False),
    **table(
        Opcode(emit=_bar, result=False, suspends=True, deleted=True, count=_THREADS),
        "bar.sync", "barrier.sync", "barrier.cta.sync", "bar.cta.sync", "barrier.arrive", "barrier.cta.arrive",
    ),
    **table(
        Opcode(emit=_bar, result=False, deleted=True, count=_THREADS),
        "bar.arrive", "bar.cta.arrive", "barrier.arrive.aligned", "barrier.cta.arrive.aligned",
    ),
    **table(
        Opcode(emit=_bar_red, varies="never", suspends=True, deleted=True),
        "bar.red", "barrier.red", "barrier.cta.red", "bar.cta.red",
    ),
    "bar.warp.sync": Opcode(emit=_warp_barrier, result=False, deleted=True),
    "barrier.cluster.arrive": Opcode(emit=_cluster_barrier, result=False, deleted=True),
    "barrier.cluster.wait": Opcode(emit=_cluster_barrier, result=False, suspends=True, deleted=True),
    "fence.mbarrier_init": Opcode(emit=_fence("fence_mbarrier_init"), result=False, deleted=True),
    **table(
        Opcode(emit=_fence_thread, result=False, deleted=True),
        *(f"fence{sem}" for sem in ("", ".acq_rel", ".sc", ".acquire", ".release")),
    ),
    **table(Opcode(emit=_fence_thread, result=False), "membar.cta", "membar.gl", "membar.sys"),
    **table(
        Opcode(emit=_proxy_fence, result=False, deleted=True),
        *(f"{name}.proxy.async{space}" for name in ("fence", "membar")
          for space in ("", ".global", ".shared::cta", ".shared::cluster", "::generic")),
    ),
    **table(  # proxies that are not emulated
        Opcode(emit=hint, result=False, deleted=True),
        *(f"{name}.proxy.{kind}" for name in ("fence", "membar")
          for kind in ("tensormap", "alias")),
    ),
}  # fmt: skip
