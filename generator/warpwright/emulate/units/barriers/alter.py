"""Mutants of barriers that are more than an instruction deleted or a count changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from warpwright.emulate.translate.unit import Alteration

if TYPE_CHECKING:
    from warpwright.build.ptx_values import Statement


def alter(body: list[Statement], lines: list[str]) -> Iterator[Alteration]:
    """Arrive and wait at the cluster barrier deleted as a pair; an arrival without its bytes; the phase of each wait
    flipped, which is its initial phase flipped; and a wait, which is a loop, made to fall through."""
    yield from _arrivals(body)
    yield from _phases(body, lines)


def _arrivals(body: list[Statement]) -> Iterator[Alteration]:
    pending: Statement | None = None
    for s in body:
        if "expect_tx" in s.opcode and s.opcode.startswith("mbarrier.arrive"):
            plain = s.opcode.replace(".expect_tx", "")
            text = f"{plain} {', '.join(s.operands[:-1])}, 1;"
            yield "no bytes in", s.opcode, s.line, [(s.line, text)]
        if s.opcode.startswith("barrier.cluster.arrive"):
            pending = s
        elif s.opcode.startswith("barrier.cluster.wait") and pending is not None:
            yield "delete pair", pending.opcode, pending.line, [(pending.line, ""), (s.line, "")]
            pending = None


def _phases(body: list[Statement], lines: list[str]) -> Iterator[Alteration]:
    for s in body:
        if not s.opcode.startswith(("mbarrier.try_wait.parity", "mbarrier.test_wait.parity")):
            continue
        label = next(n for n in range(s.line - 1, 0, -1) if lines[n - 1].strip().endswith(":"))
        target, address, parity, *rest = s.operands
        flipped = f".reg .b32 flipped; xor.b32 flipped, {parity}, 1; {lines[label - 1].strip()}"
        waits = f"{s.opcode} {', '.join([target, address, 'flipped', *rest])};"
        yield "flip phase of", s.opcode, s.line, [(label, flipped), (s.line, waits)]
        yield "delete", s.opcode, s.line, [(s.line, f"setp.eq.b32 {target}, 0, 0;")]
