"""The instructions that are more than arithmetic: the code that the translation writes for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .findings import UnsupportedInstruction
from .machine import PARAM_WINDOW, RESERVED
from .ptx import Immediate, Instruction, Memory, Operand, Pair, Register, Special, Symbol, Vector
from .wgmma import Shape

if TYPE_CHECKING:
    from .nodes import Node
    from .translate import BlockWriter, Translator

# the guard of these is applied by narrowing the fiber's mask, so their results are masked by it alone
NARROWED = {"ld", "st", "atom", "red", "mbarrier", "cp", "ldmatrix", "stmatrix", "elect", "shfl", "vote", "bar"}
NARROWED |= {"fence", "barrier", "setmaxnreg", "wgmma", "prefetch", "activemask", "redux"}
_HARMLESS = ("prefetch", "prefetchu", "cp.async.bulk.prefetch", "nanosleep", "griddepcontrol", "fence.proxy.tensormap",
             "bar.warp.sync", "discard", "applypriority", "fence.proxy.alias", "membar.cta", "pmevent",
             "fence.acq_rel.cta", "fence.sc.cta")  # fmt: skip
_UNIFORM = {"%clusterid": "w.cta.cluster_id", "%nclusterid": "w.machine.cluster_counts", "%ctaid": "w.cta.ctaid",
            "%nctaid": "w.machine.launch.grid", "%ntid": "w.machine.launch.block",
            "%cluster_nctaid": "w.machine.launch.cluster", "%cluster_ctaid": "w.cta.cluster_ctaid"}  # fmt: skip
_SINGLE = {"%cluster_ctarank": "w.cta.rank", "%cluster_nctarank": "len(w.cta.cluster.ctas)", "%warpid": "w.index",
           "%nwarpid": "len(w.cta.warps)", "%clock": "w.clock & 0xffffffff", "%clock64": "w.clock",
           "%globaltimer": "w.clock", "%smid": "w.cta.cluster.number * len(w.cta.cluster.ctas) + w.cta.rank",
           "%dynamic_smem_size": "w.machine.launch.shared_bytes", "%is_explicit_cluster": "1", "%gridid": "0",
           "%laneid": "LANES", "%lanemask_lt": "(1 << LANES) - 1", "%lanemask_le": "(2 << LANES.astype(np.uint64)) - 1",
           "%lanemask_eq": "1 << LANES"}  # fmt: skip


def special(owner: Translator, operand: Operand) -> str:
    """Special registers and the addresses of parameters and shared arrays."""
    if isinstance(operand, Symbol):
        if operand.name in owner.params:
            return str(PARAM_WINDOW + (owner.params[operand.name] << 16))
        if operand.name in owner.program.shared_offsets:
            return f"(w.cta.base + {RESERVED + owner.program.shared_offsets[operand.name]})"
        raise UnsupportedInstruction(f"symbol {operand.name} is not a parameter or shared array")
    assert isinstance(operand, Special)
    name, _, axis = operand.name.partition(".")
    if name == "%tid" and axis:
        return f"w.tid[{'xyz'.index(axis)}]"
    if name in _UNIFORM and axis:
        return f"{_UNIFORM[name]}[{'xyz'.index(axis)}]"
    if operand.name in _SINGLE:
        return _SINGLE[operand.name]
    raise UnsupportedInstruction(f"special register {operand.name} is not emulated")


def known(instruction: Instruction) -> bool:
    """Whether `emit` can translate it."""
    return _handler(instruction.opcode) is not None or instruction.opcode.startswith(_HARMLESS)


def _handler(opcode: str) -> Callable[[BlockWriter, Node], None] | None:
    return next((h for prefix, h in HANDLERS.items() if opcode == prefix or opcode.startswith(prefix + ".")), None)


def emit(writer: BlockWriter, node: Node) -> None:
    """Append the code of an effect, under its guard: a varying one narrows the fiber to the lanes where it holds."""
    guard = node.instruction.guard
    handler = _handler(node.instruction.opcode)
    if handler is None:
        return
    at = len(writer.lines)
    handler(writer, node)
    if guard is None:
        return
    body = [f" {line}" for line in writer.lines[at:]]
    if writer.flow.is_varying(guard):
        test = f"{'~' if node.instruction.negated else ''}{writer.rows(guard, 'pred')}"
        writer.lines[at:] = [f"g = f.narrow({test})", "if f.mask:", *body, "f.widen(g)"]
    else:
        writer.lines[at:] = [f"if {'not ' if node.instruction.negated else ''}{writer.scalar(guard, 'pred')}:", *body]


def _address(writer: BlockWriter, operand: Operand, number: int, lanes: bool = False) -> str:
    """The address of a memory operand: one integer, or (where `lanes` are allowed) a row."""
    assert isinstance(operand, Memory)
    base, offset = operand.base, operand.offset
    if writer.flow.is_varying(base):
        assert isinstance(base, Register)
        bits = writer.owner.width(base.name)
        row = writer.rows(base, f"u{bits}") + (f"+{offset & (1 << bits) - 1}" if offset else "")
        return row if lanes else f"one(f, {number}, {row})"
    return f"{writer.scalar(base, 'u64')}" + (f"+{offset}" if offset else "")


def _single(writer: BlockWriter, operand: Operand, number: int, kind: str = "u32") -> str:
    """A value that the instruction takes once for the warp."""
    text = writer.either(operand, kind)
    return f"one(f, {number}, {text})" if writer.flow.is_varying(operand) else text


def _cluster(opcode: str) -> bool:
    return "shared::cluster" in opcode


def _init(w: BlockWriter, n: Node) -> None:
    memory, count = n.instruction.operands
    w.lines.append(f"mbarrier_init(f, {n.number}, {_address(w, memory, n.number)}, {_single(w, count, n.number)})")


def _inval(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"mbarrier_inval(f, {n.number}, {_address(w, n.instruction.operands[0], n.number)})")


def _arrive(w: BlockWriter, n: Node) -> None:
    operands, opcode = list(n.instruction.operands), n.instruction.opcode
    result = operands.pop(0) if not isinstance(operands[0], Memory) else None
    value = _single(w, operands[1], n.number) if len(operands) > 1 else "1"
    count, expect = ("1", value) if "expect_tx" in opcode else (value, "0")
    address = _address(w, operands[0], n.number, lanes=True)
    call = f"mbarrier_arrive(f, {n.number}, {address}, {count}, {expect}, {_cluster(opcode)})"
    if isinstance(result, Register):
        _result(w, n, result, call)
    else:
        w.lines.append(call)


def _expect(w: BlockWriter, n: Node) -> None:
    memory, count = n.instruction.operands
    address, value = _address(w, memory, n.number), _single(w, count, n.number)
    w.lines.append(f"mbarrier_expect(f, {n.number}, {address}, {value}, {_cluster(n.instruction.opcode)})")


def _wait(w: BlockWriter, n: Node) -> None:
    opcode, (result, memory, phase, *_) = n.instruction.opcode, n.instruction.operands
    parity = _single(w, phase, n.number) if "parity" in n.instruction.parts else f"{_single(w, phase, n.number)}&1"
    acquire = "relaxed" not in n.instruction.parts
    arguments = f"f, {n.number}, {_address(w, memory, n.number)}, {parity}, {acquire}, {_cluster(opcode)}"
    assert isinstance(result, Register)
    if w.block.spin:
        w.lines.append(f"if not mbarrier_wait({arguments}): return -1")
        _result(w, n, result, "1")
    else:
        _result(w, n, result, f"mbarrier_test({arguments})")


def _result(w: BlockWriter, n: Node, result: Register, value: str) -> None:
    if result.name in w.flow.varying:
        w.store(result, value, n.instruction)
    else:
        w.assign(result, value)


def _bar(w: BlockWriter, n: Node) -> None:
    operands, parts = n.instruction.operands, n.instruction.parts
    count = _single(w, operands[1], n.number) if len(operands) > 1 else "0"
    arguments = f"f, {n.number}, {_single(w, operands[0], n.number)}, {count}"
    if "arrive" in parts:
        w.lines.append(f"bar_sync({arguments}, False)")
    else:
        w.lines.append(f"if not bar_sync({arguments}): return -1")


def _cluster_barrier(w: BlockWriter, n: Node) -> None:
    if "arrive" in n.instruction.parts:
        w.lines.append(f"cluster_arrive(f, {n.number}, {'relaxed' in n.instruction.parts})")
    else:
        w.lines.append(f"if not cluster_wait(f, {n.number}): return -1")


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
    w.lines.append(f"converged(f, {n.number}, {_single(w, members, n.number)})")
    if isinstance(result.first, Register):
        _result(w, n, result.first, "(f.mask & -f.mask).bit_length() - 1")
    if isinstance(result.second, Register):
        w.store(result.second, "leader(f)", n.instruction)


def _shuffle(w: BlockWriter, n: Node) -> None:
    result, source, lane, clamp, members = n.instruction.operands
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    assert isinstance(first, Register)
    w.lines.append(f"converged(f, {n.number}, {_single(w, members, n.number)})")
    mode = n.instruction.parts[2]
    terms = [w.either(o, "u32") for o in (source, lane, clamp)]
    if first.name not in w.flow.varying and not w.flow.is_varying(source):
        w.assign(first, terms[0])
        if isinstance(second, Register):
            _result(w, n, second, "1")
        return
    if first.name not in w.flow.varying and isinstance(clamp, Immediate) and clamp.value & 0x1F1F == 31 and not second:
        w.assign(first, f"int({terms[0]}[{terms[1]} & 31])")
        return
    w.lines.append(f"t, inside = shuffle(f, '{mode}', {', '.join(terms)})")
    pick = "" if first.name in w.flow.varying else "int(t[f.lanes.argmax()])"
    _result(w, n, first, pick or "t")
    if isinstance(second, Register):
        _result(w, n, second, "inside" if second.name in w.flow.varying else "int(inside[f.lanes.argmax()])")


def _vote(w: BlockWriter, n: Node) -> None:
    result, source, *members = n.instruction.operands
    assert isinstance(result, Register)
    value = w.either(source, "pred")
    if isinstance(source, Register) and n.instruction.negated:
        value = f"~{value}"
    w.lines.append(f"converged(f, {n.number}, {_single(w, members[0], n.number)})")
    _result(w, n, result, f"vote(f, '{n.instruction.parts[2]}', {value})")


def _activemask(w: BlockWriter, n: Node) -> None:
    result = n.instruction.operands[0]
    assert isinstance(result, Register)
    _result(w, n, result, "f.mask")


def _redux(w: BlockWriter, n: Node) -> None:
    result, source, members = n.instruction.operands
    assert isinstance(result, Register)
    kind = n.instruction.parts[-1]
    w.lines.append(f"converged(f, {n.number}, {_single(w, members, n.number)})")
    _result(w, n, result, f"reduce_lanes(f, '{n.instruction.parts[2]}', {w.either(source, kind)}, {kind == 's32'})")


def _setmaxnreg(w: BlockWriter, n: Node) -> None:
    count = _single(w, n.instruction.operands[0], n.number)
    increase = "inc" in n.instruction.parts
    call = f"setmaxnreg(f, {n.number}, {count}, {increase})"
    w.lines.append(f"if not {call}: return -1" if increase else call)


def _trap(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"trap(f, {n.number})")


def _tensor(w: BlockWriter, n: Node) -> None:
    operands, parts = n.instruction.operands, n.instruction.parts
    number = n.number
    if "im2col" in n.instruction.opcode or "cta_group" in n.instruction.opcode:
        raise UnsupportedInstruction(f"{n.instruction.where}: not emulated")
    first, second = operands[0], operands[1]
    assert isinstance(first, Memory)
    assert isinstance(second, Memory)
    tensor = first if first.coordinates else second
    coordinates = "".join(f"{_single(w, c, number)}, " for c in tensor.coordinates)
    where = _single(w, tensor.base, number, "u64")
    if tensor is first:
        w.lines.append(f"tensor_store(f, {number}, {where}, ({coordinates}), {_address(w, second, number)})")
        return
    mask = _single(w, operands[3], number) if "multicast::cluster" in parts else "None"
    target, barrier = _address(w, first, number), _address(w, operands[2], number)
    w.lines.append(f"tensor_load(f, {number}, {target}, {where}, ({coordinates}), {barrier}, {mask})")


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
    terms = [_single(w, a, n.number, "u64"), _single(w, b, n.number, "u64"), _single(w, scale, n.number, "pred")]
    w.lines.append(f"wgmma_mma(f, {n.number}, {name}, {', '.join(terms)})")


def _wgmma_fence(w: BlockWriter, n: Node) -> None:
    w.lines.append("wgmma_fence(f)")


def _wgmma_commit(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"wgmma_commit(f, {n.number})")


def _wgmma_wait(w: BlockWriter, n: Node) -> None:
    w.lines.append(f"if not wgmma_wait(f, {n.number}, {w.scalar(n.instruction.operands[0], 'u32')}): return -1")


def _space(instruction: Instruction) -> str:
    spaces = {"global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "cluster"}
    found = [spaces[p] for p in instruction.parts if p in spaces]
    if {"local", "const", "param", "volatile"} & set(instruction.parts):
        raise UnsupportedInstruction(f"{instruction.where}: this state space is not emulated")
    return found[0] if found else "generic"


def _load(w: BlockWriter, n: Node) -> None:
    target, memory, *_ = n.instruction.operands
    items: Sequence[Operand] = target.items if isinstance(target, Vector) else (target,)
    kind = n.instruction.parts[-1]
    width = max(1, int(kind.lstrip("bfsu")) // 8)
    address = _address(w, memory, n.number, lanes=True)
    arguments = f"f, {n.number}, {address}, {width}, {len(items)}, '{_space(n.instruction)}'"
    w.lines.append(f"t = shared_load_any({arguments})")
    for i, item in enumerate(items):
        if isinstance(item, Register):
            row = f"t[{i}]" if kind[0] != "s" else f"t[{i}].view('i{width}')"
            if item.name in w.flow.varying:
                w.store(item, row, n.instruction)
            else:
                bits = max(16, w.owner.width(item.name))
                w.assign(item, f"int({row}[f.lanes.argmax()]) & {(1 << bits) - 1:#x}")


def _matrix(w: BlockWriter, items: Sequence[Operand], kind: str) -> str:
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
    values = _matrix(w, items, f"u{max(16, bits)}")
    address = _address(w, memory, n.number, lanes=True)
    w.lines.append(f"shared_store_any(f, {n.number}, {address}, {values}, {bits // 8}, '{_space(n.instruction)}')")


def _stmatrix(w: BlockWriter, n: Node) -> None:
    memory, source = n.instruction.operands
    if "m8n8" not in n.instruction.parts or n.instruction.parts[-1] != "b16" or not isinstance(source, Vector):
        raise UnsupportedInstruction(f"{n.instruction.where}: only m8n8 matrices of 16 bits are emulated")
    address = _address(w, memory, n.number, lanes=True)
    transposed = "trans" in n.instruction.parts
    w.lines.append(f"stmatrix(f, {n.number}, {address}, {_matrix(w, source.items, 'u32')}, {transposed})")


def _ldmatrix(w: BlockWriter, n: Node) -> None:
    target, memory = n.instruction.operands
    if "m8n8" not in n.instruction.parts or n.instruction.parts[-1] != "b16" or not isinstance(target, Vector):
        raise UnsupportedInstruction(f"{n.instruction.where}: only m8n8 matrices of 16 bits are emulated")
    address = _address(w, memory, n.number, lanes=True)
    w.lines.append(f"t = ldmatrix(f, {n.number}, {address}, {len(target.items)}, {'trans' in n.instruction.parts})")
    for i, item in enumerate(target.items):
        if isinstance(item, Register):
            w.store(item, f"t[{i}]", n.instruction)


HANDLERS: dict[str, Callable[[BlockWriter, Node], None]] = {
    "mbarrier.init": _init, "mbarrier.inval": _inval, "mbarrier.arrive": _arrive, "mbarrier.expect_tx": _expect,
    "mbarrier.try_wait": _wait, "mbarrier.test_wait": _wait, "barrier.cluster": _cluster_barrier,
    "bar.sync": _bar, "bar.arrive": _bar, "barrier.sync": _bar, "barrier.arrive": _bar, "barrier.cta.sync": _bar,
    "barrier.cta.arrive": _bar, "bar.cta.sync": _bar, "bar.cta.arrive": _bar, "fence.proxy.async": _fence,
    "fence.mbarrier_init": _fence, "fence.acq_rel.cluster": _fence, "fence.acq_rel.gpu": _fence,
    "fence.acq_rel.sys": _fence, "fence.sc.cluster": _fence, "fence.sc.gpu": _fence, "membar.gl": _fence,
    "membar.sys": _fence, "elect.sync": _elect, "shfl.sync": _shuffle, "vote.sync": _vote,
    "activemask": _activemask, "redux.sync": _redux, "setmaxnreg": _setmaxnreg, "trap": _trap,
    "cp.async.bulk.tensor": _tensor, "cp.async.bulk.commit_group": _bulk_commit,
    "cp.async.bulk.wait_group": _bulk_wait, "wgmma.mma_async": _wgmma, "wgmma.fence": _wgmma_fence,
    "wgmma.commit_group": _wgmma_commit, "wgmma.wait_group": _wgmma_wait, "ld": _load, "st": _store,
    "stmatrix": _stmatrix, "ldmatrix": _ldmatrix,
}  # fmt: skip
