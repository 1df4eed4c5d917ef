"""The instructions that are more than arithmetic: which there are, and their code under their guard.

An arch adds its instructions as another table of handlers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import emit_data, emit_sync, emit_tcgen05
from .syntax import Instruction

if TYPE_CHECKING:
    from .nodes import Node
    from .writer import BlockWriter

# the guard of these is applied by narrowing the fiber's mask, so their results are masked by it alone
NARROWED = {"ld", "st", "atom", "red", "mbarrier", "cp", "ldmatrix", "stmatrix", "elect", "shfl", "vote", "bar"}
NARROWED |= {"fence", "barrier", "setmaxnreg", "wgmma", "tcgen05", "prefetch", "activemask", "redux"}
_HARMLESS = ("prefetch", "prefetchu", "cp.async.bulk.prefetch", "nanosleep", "griddepcontrol", "fence.proxy.tensormap",
             "discard", "applypriority", "fence.proxy.alias", "membar.cta", "pmevent",
             "fence.acq_rel.cta", "fence.sc.cta")  # fmt: skip


def known(instruction: Instruction) -> bool:
    """Whether `emit` can translate it."""
    return _handler(instruction.opcode) is not None or instruction.opcode.startswith(_HARMLESS)


HANDLERS = emit_sync.HANDLERS | emit_data.HANDLERS | emit_tcgen05.HANDLERS


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
