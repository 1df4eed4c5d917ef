"""The instructions that are more than arithmetic: the code of their unit, under their guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def emit(writer: BlockWriter, node: Node) -> None:
    """Append the code of an effect, under its guard: a varying one narrows the fiber to the lanes where it holds."""
    guard = node.instruction.guard
    opcode = writer.owner.units.find(node.instruction.opcode)
    if opcode is None:
        return
    at = len(writer.lines)
    writer.narrowed = True
    opcode.emit(writer, node)
    writer.narrowed = False
    if guard is None:
        return
    fork = writer.fork(node.instruction)
    held, not_held = f" WAYS[{fork}] = 1", f" WAYS[{fork + 1}] = 1"
    body = [held, *(f" {line}" for line in writer.lines[at:])]
    if writer.flow.is_varying(guard):
        test = f"{'~' if node.instruction.negated else ''}{writer.rows(guard, 'pred')}"
        writer.lines[at:] = [f"g = f.narrow({test})", "if f.mask != g:", not_held, "if f.mask:", *body, "f.widen(g)"]
    else:
        test = f"{'not ' if node.instruction.negated else ''}{writer.scalar(guard, 'pred')}"
        writer.lines[at:] = [f"if {test}:", *body, "else:", not_held]
