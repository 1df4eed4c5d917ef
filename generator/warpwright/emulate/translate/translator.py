"""Basic blocks to Python functions, once per kernel.

A block becomes `def b(f, w)` of a fiber and its warp, which returns the number of the next block, or -1 when the
fiber must wait, -2 at its end. Uniform registers are local integers (and slots of `w.u` when another block needs them);
varying ones are rows of `w.U32` and its siblings. Arithmetic on rows is gathered: instructions of the same
opcode that depend on none of each other become one numpy call over a range of rows, so that a subtile of an
epilogue costs a few calls instead of hundreds. Effects (memory, barriers, tensor cores) keep their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine import rows
from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.program import Program
from warpwright.emulate.numbers.alu import NAMES
from warpwright.emulate.ptx.flow import Block, Flow
from warpwright.emulate.ptx.syntax import MALFORMED, Instruction, Kernel, misread
from warpwright.emulate.translate.lower import nodes_of
from warpwright.emulate.translate.node import Node
from warpwright.emulate.translate.unit import Units
from warpwright.emulate.translate.writer import BlockWriter

_NOT_ITS_OPERANDS = "not the operands or modifiers that this instruction has"


def translate(kernel: Kernel, units: Units) -> Program:
    """The program of `kernel`. Raises `UnsupportedInstruction` naming every instruction that is not emulated."""
    return Translator(kernel, Flow(kernel, units.traits), units).program


class Translator:
    """The translation of one kernel while it is made: which registers lie where, and the constants of its code."""

    def __init__(self, kernel: Kernel, flow: Flow, units: Units) -> None:
        self.kernel, self.flow, self.units = kernel, flow, units
        self.program = Program(kernel, kernel.body, flow.blocks, units.hooks)
        self.numbers = {id(instruction): n for n, instruction in enumerate(kernel.body)}
        self.rows: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.counts = {1: 0, 16: 0, 32: 0, 64: 0}
        self.constants: dict[str, Any] = {}
        self.params = {p.name: n for n, p in enumerate(kernel.params)}
        self._shared_layout()
        self._local_layout()
        prepared = [[n for i in block.instructions for n in self._nodes(i)] for block in flow.blocks]
        missing = sorted({n.instruction.opcode for nodes in prepared for n in nodes if not n.known})
        if missing:
            raise UnsupportedInstruction("not emulated: " + ", ".join(missing))
        self._arrange(prepared)
        self._place_registers()
        base = dict(self.counts)
        most = dict(self.counts)
        namespace = self._namespace()
        texts = []
        for block, nodes in zip(flow.blocks, prepared, strict=True):
            self.counts = dict(base)
            texts.append(self._text(block, nodes))
            self.program.sizes.append(len(block.instructions) + (block.branch is not None))
            most = {bits: max(most[bits], count) for bits, count in self.counts.items()}
        self.program.source = "\n".join(texts)
        namespace.update(self.constants)
        try:
            exec(compile(self.program.source, self.program.file, "exec"), namespace)
        except (MemoryError, *MALFORMED) as error:
            raise misread(f"kernel {kernel.name}", "its code cannot be translated", error) from error
        self.program.functions = [namespace[f"b{block.index}"] for block in flow.blocks]
        kinds: dict[int, Any] = {1: np.bool_, 16: np.uint16, 32: np.uint32, 64: np.uint64}
        self.program.row_files = [(bits, kinds[bits], max(1, count)) for bits, count in most.items()]
        self.program.unset = self._unset(0), self._unset(1)

    def _unset(self, odd: int) -> list[int]:
        """The uniform registers that nothing has written; of predicates every second one holds."""
        widths = [self.kernel.registers[name] for name in self.slots]
        return [rows.POISON[max(16, bits)] if bits > 1 else (n + odd) & 1 for n, bits in enumerate(widths)]

    def _namespace(self) -> dict[str, Any]:
        numbers = {"inf": float("inf"), "nan": float("nan")}
        return {**NAMES, **rows.NAMES, **self.units.calls, **numbers, "WAYS": self.program.ways}

    def _nodes(self, instruction: Instruction) -> list[Node]:
        try:
            return nodes_of(instruction, self.numbers[id(instruction)], self.flow, self)
        except MALFORMED as error:
            raise misread(instruction.where, _NOT_ITS_OPERANDS, error) from error

    def _text(self, block: Block, nodes: list[Node]) -> str:
        writer = BlockWriter(self, block, nodes)
        try:
            return writer.text()
        except MALFORMED as error:
            at = writer.at or (nodes[0].instruction if nodes else block.branch)
            raise misread(at.where if at else self.kernel.name, _NOT_ITS_OPERANDS, error) from error

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

    def _local_layout(self) -> None:
        for array in self.kernel.arrays:
            if array.space == "local":
                offset = -(-self.program.local_bytes // array.align) * array.align
                self.program.local_offsets[array.name] = offset
                self.program.local_bytes = offset + array.size

    def _arrange(self, prepared: list[list[Node]]) -> None:
        """Let units lay down what concerns the kernel as a whole; `before`: who adds code to blocks, by what."""
        arranged = self.program.arranged
        for unit in self.units:
            if unit.arrange is not None:
                try:
                    arranged[unit.name] = unit.arrange(self, prepared)
                except MALFORMED as error:
                    raise misread(f"kernel {self.kernel.name}", f"{unit.name}: {_NOT_ITS_OPERANDS}", error) from error
        self.before = [(unit.before, arranged[unit.name]) for unit in self.units if unit.before]

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
        name = f"{prefix}_{len(self.constants)}"  # no register's view is called so: those are S32, U16, ...
        self.constants[name] = value
        return name

    def width(self, name: str) -> int:
        width = self.kernel.registers.get(name)
        if width is None:
            raise UnsupportedInstruction(f"register {name} is not declared")
        return width
