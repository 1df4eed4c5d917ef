"""The instructions that are more than arithmetic: the code of their unit, under their guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.emulate.translate.node import Node
    from warpwright.emulate.translate.writer import BlockWriter


def emit(writer: BlockWriter, group: list[Node]) -> None:
    """Append the code of an effect, or of several that are gathered, under their guard: a varying one narrows the fiber
    to the lanes where it holds."""
    node = group[0]
    guard = node.instruction.guard
    opcode = writer.owner.units.find(node.instruction.opcode)
    if opcode is None:
        return
    at = len(writer.lines)
    writer.narrowed = True
    if len(group) > 1:
        assert opcode.gather is not None
        opcode.gather.emit(writer, group)
    else:
        opcode.emit(writer, node)
    writer.narrowed = False
    if guard is None:
        return
    forks = [writer.fork(n.instruction) for n in group]
    held, not_held = [f" WAYS[{fork}] = 1" for fork in forks], [f" WAYS[{fork + 1}] = 1" for fork in forks]
    body = [*held, *(f" {line}" for line in writer.lines[at:])]
    if writer.flow.is_varying(guard):
        test = f"{'~' if node.instruction.negated else ''}{writer.rows(guard, 'pred')}"
        writer.lines[at:] = [f"g = f.narrow({test})", "if f.mask != g:", *not_held, "if f.mask:", *body, "f.widen(g)"]
    else:
        test = f"{'not ' if node.instruction.negated else ''}{writer.scalar(guard, 'pred')}"
        writer.lines[at:] = [f"if {test}:", *body, "else:", *not_held]
