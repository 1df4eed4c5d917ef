"""A plan's tables as plain text: for the head of a rendered kernel and for `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from warpwright.plan.types import Plan

__all__ = ["barrier_table", "constants_block", "memory_table", "roles_table", "text_table"]


def text_table(rows: Sequence[Sequence[str]], indent: str = "    ") -> str:
    """Align columns: numbers to the right, words to the left; the last column is not padded."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numeric = [all(row[i].replace("-", "").isdigit() for row in rows[1:]) for i in range(len(widths))]
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def roles_table(plan: Plan) -> str:
    """Return the warps of each role, their registers after reallocation and what they do."""
    rows = [("role", "warps", "registers", "duty")]
    for role in plan.roles:
        last = role.first_warp + role.warps - 1
        warps = str(role.first_warp) if role.warps == 1 else f"{role.first_warp}..{last}"
        rows.append((role.name, warps, str(role.registers or "-"), role.duty))
    return text_table(rows)


def memory_table(plan: Plan) -> str:
    """Return the shared-memory map: offsets and sizes in bytes."""
    rows = [("buffer", "offset", "bytes", "shape", "swizzle", "use")]
    for b in plan.buffers:
        shape = " x ".join(map(str, b.shape)) + f" {b.dtype}"
        rows.append((b.name, str(b.offset), str(b.bytes), shape, b.swizzle, b.note))
    return text_table(rows)


def barrier_table(plan: Plan) -> str:
    """Return each barrier's contract: arrivals and bytes per phase, who waits, who arrives."""
    rows = [("barrier", "kind", "stages", "arrivals", "bytes", "waits", "arrives")]
    for b in plan.barriers:
        kind = f"{b.kind} {','.join(map(str, b.ids))}" if b.ids else b.kind
        rows.append((b.name, kind, str(b.stages), str(b.arrivals), str(b.transaction_bytes), b.waits, b.arrives))
    return text_table(rows)


def constants_block(plan: Plan) -> str:
    """Return the constants as Python assignments, each with its formula."""
    left = [f"{c.name} = {c.value}" for c in plan.constants]
    width = max(map(len, left))
    return "\n".join(f"{text.ljust(width)}  # {c.formula}" for text, c in zip(left, plan.constants, strict=True))
