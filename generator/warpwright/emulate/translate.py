"""Basic blocks to Python functions, once per kernel.

A block becomes `def b(f, w)` of a fiber and its warp, which returns the number of the next block, or -1 when the
fiber must wait, -2 at its end. Uniform registers are local integers (and slots of `w.u` when another block needs them);
varying ones are rows of `w.U32` and its siblings. Arithmetic on rows is gathered: instructions of the same
opcode that depend on none of each other become one numpy call over a range of rows, so that a subtile of an
epilogue costs a few calls instead of hundreds. Effects (memory, barriers, tensor cores) keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import barriers, fences, lanes, mbarriers, shared, state, tcgen05, tensor_copy, tensor_memory, tma, wgmma
from .alu import NAMES
from .findings import UnsupportedInstruction
from .flow import Block, Flow, registers
from .nodes import Node, nodes_of
from .syntax import Instruction, Kernel
from .writer import BlockWriter


@dataclass
class Program:
    """The translation of one kernel. `row_files`: (bits, dtype, rows); `accumulators`: (first row, columns)."""

    kernel: Kernel
    instructions: list[Instruction]
    blocks: list[Block]
    functions: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    uniforms: int = 0
    row_files: list[tuple[int, Any, int]] = field(default_factory=list)
    accumulators: list[tuple[int, int]] = field(default_factory=list)
    static_bytes: int = 0
    shared_offsets: dict[str, int] = field(default_factory=dict)
    source: str = ""


def translate(kernel: Kernel) -> Program:
    """The program of `kernel`. Raises `UnsupportedInstruction` naming every instruction that is not emulated."""
    flow = Flow(kernel)
    return Translator(kernel, flow).program


class Translator:
    def __init__(self, kernel: Kernel, flow: Flow) -> None:
        self.kernel, self.flow = kernel, flow
        self.program = Program(kernel, kernel.body, flow.blocks)
        self.numbers = {id(instruction): n for n, instruction in enumerate(kernel.body)}
        self.rows: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.counts = {1: 0, 16: 0, 32: 0, 64: 0}
        self.constants: dict[str, Any] = {}
        self.accumulator_of: dict[str, int] = {}
        self.loaded: frozenset[str] = frozenset()  # registers that a tcgen05.ld fills
        self.params = {p.name: n for n, p in enumerate(kernel.params)}
        self._shared_layout()
        prepared = [[n for i in block.instructions for n in self._nodes(i)] for block in flow.blocks]
        missing = sorted({n.instruction.opcode for nodes in prepared for n in nodes if not n.known})
        if missing:
            raise UnsupportedInstruction("not emulated: " + ", ".join(missing))
        self._accumulators(prepared)
        self._place_registers()
        base = dict(self.counts)
        most = dict(self.counts)
        namespace = self._namespace()
        texts = []
        for block, nodes in zip(flow.blocks, prepared, strict=True):
            self.counts = dict(base)
            texts.append(BlockWriter(self, block, nodes).text())
            self.program.sizes.append(len(block.instructions) + (block.branch is not None))
            most = {bits: max(most[bits], count) for bits, count in self.counts.items()}
        self.program.source = "\n".join(texts)
        namespace.update(self.constants)
        exec(compile(self.program.source, f"<{kernel.name[:40]}>", "exec"), namespace)
        self.program.functions = [namespace[f"b{block.index}"] for block in flow.blocks]
        kinds: dict[int, Any] = {1: np.bool_, 16: np.uint16, 32: np.uint32, 64: np.uint64}
        self.program.row_files = [(bits, kinds[bits], max(1, count)) for bits, count in most.items()]
        self.program.uniforms = len(self.slots)

    def _namespace(self) -> dict[str, Any]:
        namespace: dict[str, Any] = {**NAMES, "inf": float("inf"), "nan": float("nan")}
        blackwell = tensor_memory, tensor_copy, tcgen05
        for module in (mbarriers, barriers, fences, shared, tma, *blackwell, wgmma, state, lanes):
            namespace |= {k: v for k, v in vars(module).items() if callable(v)}
        # these names would clash: each module calls its own plainly
        renamed = {f"wgmma_{name}": getattr(wgmma, name) for name in ("fence", "mma", "commit", "wait")}
        return namespace | renamed | {"LANES": state.LANES}

    def _nodes(self, instruction: Instruction) -> list[Node]:
        return nodes_of(instruction, self.numbers[id(instruction)], self.flow, self)

    def _shared_layout(self) -> None:
        offset = 0
        for symbol in sorted(self.kernel.shared, key=lambda s: not s.bytes):
            if symbol.bytes or symbol.name not in self.program.shared_offsets:
                offset = -(-offset // symbol.align) * symbol.align
                self.program.shared_offsets[symbol.name] = offset
                offset += symbol.bytes
        dynamic = max((s.align for s in self.kernel.shared if not s.bytes), default=16)
        self.program.static_bytes = -(-offset // dynamic) * dynamic if offset else 0
        for symbol in self.kernel.shared:
            if not symbol.bytes:
                self.program.shared_offsets[symbol.name] = self.program.static_bytes

    def _accumulators(self, prepared: list[list[Node]]) -> None:
        """Accumulator registers take the first rows, in the order of the instruction's list."""
        for nodes in prepared:
            for node in nodes:
                if node.instruction.opcode.startswith("wgmma.mma"):
                    names = list(registers(node.instruction.operands[0]))
                    known = {self.accumulator_of.get(n, -1) for n in names}
                    if known == {-1}:
                        row, which = self.counts[32], len(self.program.accumulators)
                        self.program.accumulators.append((row, 2 * len(names)))
                        for name in names:
                            self.accumulator_of[name] = which
                            self.rows[name] = self.counts[32]
                            self.counts[32] += 1
                    elif len(known) > 1 or [self.rows[n] for n in names] != list(
                        range(self.rows[names[0]], self.rows[names[0]] + len(names))
                    ):
                        raise UnsupportedInstruction(f"{node.instruction.where}: accumulators overlap another list's")
        loads = [n for nodes in prepared for n in nodes if n.instruction.opcode.startswith("tcgen05.ld")]
        self.loaded = _with_copies({name for node in loads for name in node.defs}, prepared)
        ordered = {"wgmma.fence": list(self.accumulator_of), "tcgen05.wait": list(self.loaded)}
        for nodes in prepared:
            for node in nodes:
                for opcode, every in ordered.items():
                    if node.instruction.opcode.startswith(opcode):
                        node.uses += every
                        node.defs += every

    def _place_registers(self) -> None:
        for name, width in self.kernel.registers.items():
            if name in self.flow.varying:
                if name not in self.flow.local and name not in self.rows:
                    self.row(name, width)
            elif name not in self.flow.local:
                self.slots[name] = len(self.slots)

    def row(self, name: str, width: int) -> int:
        found = self.rows.get(name)
        if found is None:
            bits = 16 if width == 8 else width
            found = self.rows[name] = self.counts[bits]
            self.counts[bits] += 1
        return found

    def constant(self, value: Any, prefix: str = "K") -> str:
        name = f"{prefix}{len(self.constants)}"
        self.constants[name] = value
        return name

    def width(self, name: str) -> int:
        width = self.kernel.registers.get(name)
        if width is None:
            raise UnsupportedInstruction(f"register {name} is not declared")
        return width


def _with_copies(names: set[str], prepared: list[list[Node]]) -> frozenset[str]:
    """`names` and the registers that moves copy them to."""
    moves = [n for nodes in prepared for n in nodes if names and n.instruction.parts[0] == "mov"]
    while True:
        more = {name for n in moves if not names.isdisjoint(n.uses) for name in n.defs} - names
        if not more:
            return frozenset(names)
        names |= more
