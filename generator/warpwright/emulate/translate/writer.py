"""One basic block as the text of a Python function: the order of its nodes, and the code of the arithmetic ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.numbers.operation import Operation
from warpwright.emulate.ptx.flow import Block
from warpwright.emulate.ptx.syntax import Immediate, Instruction, Operand, Register
from warpwright.emulate.translate.emit import emit
from warpwright.emulate.translate.node import Node, lift
from warpwright.emulate.translate.operands import special
from warpwright.emulate.translate.order import grouped

if TYPE_CHECKING:
    from warpwright.emulate.translate.translator import Translator

_SIGNS = re.compile(r"[^a-zA-Z0-9]")  # what names of PTX may have and those of Python may not, and the sign for it
VIEWS = {"u16": "U16", "s16": "S16", "u32": "U32", "s32": "S32", "f32": "F32", "u64": "U64", "s64": "S64", "pred": "P"}


class BlockWriter:
    """Writes the function of one block."""

    def __init__(self, owner: Translator, block: Block, nodes: list[Node]) -> None:
        self.owner, self.block, self.nodes = owner, block, nodes
        self.flow = owner.flow
        self.masked = block.index in owner.flow.divergent
        self.lines: list[str] = []
        self.at: Instruction | None = None  # what is being written
        self.heads: dict[str, str] = {}  # local names that units want, and what they are
        self.places = {id(instruction): place for place, instruction in enumerate(block.instructions)}
        self.clock = 0  # how far the code that is written has advanced the warp's clock
        self.narrowed = False  # whether the code of an instruction with a guard is inside that guard
        self.indent = ""

    def text(self) -> str:
        head = [f"def b{self.block.index}(f, w):"]
        if self.block.index in self.flow.joins:
            head.append(f" if f.join is not None and not f.meet({self.block.index}): return -1")
        live = self._live_in()
        self._schedule()
        self._advance(len(self.block.instructions) + (self.block.branch is not None))
        self._branch()
        body = "\n ".join(self.lines)
        head += [f" {view} = w.{view}" for view in sorted(set(VIEWS.values())) if f"{view}[" in body]
        head += [f" {self.local(name)} = w.u[{self.owner.slots[name]}]" for name in live if name in self.owner.slots]
        head += [f" {name} = {value}" for name, value in self.heads.items()]
        return "\n".join([*head, f" {body}"]) + "\n"

    def _live_in(self) -> list[str]:
        seen: set[str] = set()
        found: dict[str, None] = {}
        branch = [] if self.block.branch is None else [self.block.branch]
        for node in self.nodes:
            for name in node.uses:
                if name not in seen and name not in self.flow.varying:
                    found[name] = None
            seen.update(node.defs)
        for instruction in branch:
            if instruction.guard and instruction.guard.name not in seen:
                found[instruction.guard.name] = None
        return list(found)

    # -- order ------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        for group in grouped(self, self.nodes):
            self._emit(group)

    def _emit(self, group: list[Node]) -> None:
        first = group[0]
        self.at = first.instruction
        if first.op is None:
            self._advance(self.places[id(self.at)])
        for before, arranged in self.owner.before:
            before(self, group, arranged)
        if first.op is None:
            emit(self, group)
        elif first.result is not None and first.result.name in self.flow.varying:
            self._vector(group, first.op)
        else:
            self._uniform(first, first.op)

    def _advance(self, place: int) -> None:
        """Bring the warp's clock to `place` in the block: an instruction takes one, whatever order its code is in."""
        if place > self.clock:
            self.lines.append(f"w.clock += {place - self.clock}")
            self.clock = place

    # -- arithmetic -------------------------------------------------------------------------------------------

    def _uniform(self, node: Node, op: Operation) -> None:
        assert node.result is not None
        guard = node.instruction.guard
        if guard:
            test = self.scalar(guard, "pred")
            self.lines.append(f"if {'not ' if node.instruction.negated else ''}{test}:")
            self.indent = " "
        self.assign(node.result, self.scalar_expression(op, node.sources))
        self.indent = ""

    def scalar_expression(self, op: Operation, sources: Sequence[Operand]) -> str:
        if op.scalar is not None:
            return op.scalar.format(*(self.scalar(s, kind) for s, kind in zip(sources, op.sources, strict=True)))
        function = self.owner.constant(lift(op), "S")
        bits = [self.scalar(s, "u" + kind[1:] if kind[0] in "sf" else kind)
                for s, kind in zip(sources, op.sources, strict=True)]  # fmt: skip
        return f"{function}({', '.join(bits)})"

    def _vector(self, group: list[Node], op: Operation) -> None:
        varying = [j for j, s in enumerate(group[0].sources) if self.flow.is_varying(s)]
        if not varying:
            (node,) = group
            assert node.result is not None
            self.store(node.result, self.scalar_expression(op, node.sources), node.instruction)
            return
        key = [self.row_of(node.sources[varying[0]]) for node in group]
        order = sorted(range(len(group)), key=lambda i: (key[i], i))
        group = [group[i] for i in order]
        terms = []
        for j, kind in enumerate(op.sources):
            if j in varying:
                index = self.index([self.row_of(n.sources[j]) for n in group])
                terms.append(self._view(group[0].sources[j], kind, index))
            else:
                text = self.scalar(group[0].sources[j], kind)
                terms.append(f"f32({text})" if kind == "f32" and isinstance(group[0].sources[j], Register) else text)
        results = [node.result for node in group if node.result is not None]
        kind = _unsigned(op.result)
        width = self.owner.width(results[0].name)
        if VIEWS[kind][1:] != str(max(16, width)) and kind != "pred":
            kind = f"u{width}"  # a conversion into a wider register
        self.store_rows(results, op.vector.format(*terms), kind, group[0].instruction, op.ufunc, terms)

    def store(self, result: Register, value: str, instruction: Instruction, kind: str = "") -> None:
        """One row gets `value`, a uniform value or a row."""
        view = kind or {1: "pred", 8: "u16", 16: "u16", 32: "u32", 64: "u64"}[self.owner.width(result.name)]
        self.store_rows([result], value, view, instruction)

    def store_matrix(self, items: Sequence[Operand], value: str, instruction: Instruction) -> None:
        """Registers of one width, in their order, get the rows of `value`."""
        results = [item for item in items if isinstance(item, Register)]
        width = max(16, self.owner.width(results[0].name))
        self.store_rows(results, value, f"u{width}", instruction)

    def store_rows(self, results: list[Register], value: str, kind: str, instruction: Instruction,
                   ufunc: str | None = None, terms: Sequence[str] = ()) -> None:  # fmt: skip
        rows = [self.owner.row(r.name, self.owner.width(r.name)) for r in results]
        target = f"{VIEWS[kind]}[{self.index(rows)}]"
        guard = instruction.guard
        narrowed = guard is not None and self.narrowed  # the fiber is: the guard is in its lanes
        mask = "f.lanes" if self.masked or narrowed else ""
        if guard and not narrowed:
            if self.flow.is_varying(guard):
                test = f"{'~' if instruction.negated else ''}P[{self.row_of(guard)}]"
                mask = f"{test} & f.lanes" if mask else test
            else:
                self.lines.append(f"if {'not ' if instruction.negated else ''}{self.scalar(guard, 'pred')}:")
                self.indent = " "
        if mask and "[K" in target:
            self.lines.append(f"{self.indent}{target} = np.where({mask}, {value}, {target})")
        elif mask:
            self.lines.append(f"{self.indent}np.copyto({target}, {value}, where={mask}, casting='unsafe')")
        elif ufunc and "[K" not in target:
            self.lines.append(f"{self.indent}{ufunc}({', '.join(terms)}, {target})")
        else:
            self.lines.append(f"{self.indent}{target} = {value}")
        self.indent = ""

    def index(self, rows: list[int]) -> str:
        """A subscript for `rows`: one row (also when all are the same), a slice, or an array of numbers."""
        if len(set(rows)) == 1:
            return str(rows[0])
        step = rows[1] - rows[0]
        if step > 0 and rows == list(range(rows[0], rows[0] + step * len(rows), step)):
            return f"{rows[0]}:{rows[-1] + 1}" + (f":{step}" if step > 1 else "")
        return self.owner.constant(np.array(rows))

    # -- operands ---------------------------------------------------------------------------------------------

    def row_of(self, operand: Operand) -> int:
        assert isinstance(operand, Register)
        return self.owner.row(operand.name, self.owner.width(operand.name))

    def rows(self, operand: Operand, kind: str) -> str:
        """The expression of a varying operand."""
        return self._view(operand, kind, str(self.row_of(operand)))

    def _view(self, operand: Operand, kind: str, index: str) -> str:
        """`index` of the rows that hold registers like `operand`, as `kind`; of a wider register the low bits."""
        assert isinstance(operand, Register)
        kind = _unsigned(kind)
        width = max(16, self.owner.width(operand.name))
        if kind == "pred" or VIEWS[kind][1:] == str(width):
            return f"{VIEWS[kind]}[{index}]"
        bits = int(kind[1:])
        if bits > width:
            raise UnsupportedInstruction(f"{operand.name} has {width} bits where {kind} is wanted")
        return f"U{width}[{index}].astype(np.uint{bits}){f'.view(np.int{bits})' if kind[0] == 's' else ''}"

    def shape(self, operand: Operand) -> int | str:
        """What must agree between gathered operands: the width of a varying register, the text of a uniform one."""
        if isinstance(operand, Register) and self.flow.is_varying(operand):
            return self.owner.width(operand.name)
        return self.scalar(operand, "u64")

    def either(self, operand: Operand, kind: str) -> str:
        return self.rows(operand, kind) if self.flow.is_varying(operand) else self.scalar(operand, kind)

    def local(self, name: str) -> str:
        """A name of Python: no two names of PTX have the same one, though `%r$1` and `%r_1` look alike."""
        start = "r_" if name[0] == "%" else "q_"
        return start + _SIGNS.sub(lambda sign: f"_{ord(sign[0]):x}_", name.removeprefix("%"))

    def scalar(self, operand: Operand, kind: str) -> str:
        """The expression of a uniform operand: signed kinds as signed integers, f32 as bits unless immediate."""
        if isinstance(operand, Immediate):
            return _literal(operand, kind)
        if isinstance(operand, Register):
            name = self.local(operand.name)
            if kind[1:].isdigit() and int(kind[1:]) < self.owner.width(operand.name):
                name = f"({name}&{(1 << int(kind[1:])) - 1:#x})"
            if kind[0] == "s" and kind[1:].isdigit():
                sign = f"{1 << int(kind[1:]) - 1:#x}"
                return f"(({name}^{sign})-{sign})"
            return name
        return special(self.owner, operand, (self.places[id(self.at)] if self.at else 0) - self.clock)

    def assign(self, result: Register, expression: str) -> None:
        """A uniform register gets `expression`; other blocks find it in its slot."""
        name = self.local(result.name)
        slot = self.owner.slots.get(result.name)
        self.lines.append(f"{self.indent}{name} = {f'w.u[{slot}] = ' if slot is not None else ''}{expression}")

    def _branch(self) -> None:
        block, branch = self.block, self.block.branch
        if not block.successors:
            self.lines.append("return -2")
        elif len(block.successors) == 1 or branch is None or branch.guard is None:
            self.lines.append(f"return {block.successors[0]}")
        elif self.flow.is_varying(branch.guard):
            test = f"{'~' if branch.negated else ''}P[{self.row_of(branch.guard)}]"
            taken, other = block.successors
            join, fork = self.flow.ipdom[block.index], self.fork(branch)
            self.lines.append(f"return f.split({test}, {taken}, {other}, {join}, WAYS, {fork})")
        else:
            taken, other = block.successors
            test = f"{'not ' if branch.negated else ''}{self.scalar(branch.guard, 'pred')}"
            if block.spin:
                self.lines.append(f"return {taken} if {test} else {other}")
                return
            fork = self.fork(branch)
            self.lines += [f"if {test}:", f" WAYS[{fork}] = 1", f" return {taken}"]
            self.lines += [f"WAYS[{fork + 1}] = 1", f"return {other}"]

    def fork(self, instruction: Instruction) -> int:
        """Where the code of an instruction that may go two ways notes them."""
        return self.owner.program.fork(self.owner.numbers[id(instruction)], self.block.index)


def _unsigned(kind: str) -> str:
    return "u" + kind[1:] if kind[0] == "b" else kind


def _literal(operand: Immediate, kind: str) -> str:
    if kind == "pred":
        return str(int(operand.value != 0))
    if kind == "f32":
        if operand.bits != 32:
            raise UnsupportedInstruction(f"an immediate of {operand.bits} bits where a float32 is wanted")
        value = float(np.uint32(operand.value).view(np.float32))
        return repr(value) if value == value else "nan"
    bits = int(kind[1:])
    value_ = operand.value & ((1 << bits) - 1)
    if kind[0] == "s" and value_ >> bits - 1:
        return f"({value_ - (1 << bits)})"
    return str(value_)
