"""A plan's tables as plain text: for the head of a rendered kernel and for `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from warpwright.archs import Arch
from warpwright.plan.types import KernelPlan, Plan
from warpwright.text import source_line

__all__ = ["barrier_table", "constants_block", "memory_table", "memory_total", "roles_table", "text_table"]


def text_table(rows: Sequence[Sequence[str]], indent: str = "    ") -> str:
    """Align columns: numbers to the right, words to the left; the last column is not padded.

    Cells are made fit for a docstring: what they say ends neither it nor their line.
    """
    rows = [[source_line(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numeric = [all(row[i].replace("-", "").isdigit() for row in rows[1:]) for i in range(len(widths))]
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def roles_table(kernel: KernelPlan) -> str:
    """Return the warps of each role, their registers after reallocation and what they do."""
    rows = [("role", "warps", "registers", "duty")]
    for role in kernel.roles:
        last = role.first_warp + role.warps - 1
        warps = str(role.first_warp) if role.warps == 1 else f"{role.first_warp}..{last}"
        rows.append((role.name, warps, str(role.registers or "-"), role.duty))
    return text_table(rows)


def memory_total(kernel: KernelPlan, arch: Arch) -> str:
    """Return the bytes of shared memory that the launch asks for, of those that one of the SM's CTAs may have."""
    share = arch.shared_per_sm // (kernel.ctas_per_sm or 1) - arch.shared_reserved
    buffers = [buffer for buffer in kernel.buffers if buffer.space == "shared"]
    end = max((buffer.offset + buffer.bytes for buffer in buffers), default=0)
    rounded = f" (rounded up to {max(b.alignment for b in buffers)})" if buffers and end < kernel.shared_bytes else ""
    return f"{kernel.shared_bytes} of {min(arch.shared_bytes, share)} B{rounded}"


def memory_table(kernel: KernelPlan, *spaces: str) -> str:
    """Return the map of each space, or of some: offsets and sizes in bytes (columns in tensor memory)."""
    rows = [("buffer", "offset", "bytes", "shape", "swizzle", "use")]
    for b in (each for each in kernel.buffers if not spaces or each.space in spaces):
        shape = " x ".join(map(str, b.shape)) + f" {b.dtype}"
        use = b.note if b.space == "shared" else f"{b.note} ({b.space} memory)"
        rows.append((b.name, str(b.offset), str(b.bytes), shape, b.swizzle, use))
    return text_table(rows)


def barrier_table(kernel: KernelPlan) -> str:
    """Return each barrier's contract: arrivals and bytes per phase, who waits, who arrives; by which state, if told."""
    stated = any(b.state for b in kernel.barriers)
    rows = [("barrier", "kind", "stages", "arrivals", "bytes", "waits", *["state, phase"] * stated, "arrives")]
    for b in kernel.barriers:
        kind = f"{b.kind} {','.join(map(str, b.ids))}" if b.ids else b.kind
        numbers = str(b.stages), str(b.arrivals), str(b.transaction_bytes)
        rows.append((b.name, kind, *numbers, b.waits, *[b.state or "-"] * stated, b.arrives))
    return text_table(rows)


def constants_block(plan: Plan) -> str:
    """Return the constants as Python assignments, each as a person would write it, with what it is."""
    return "\n".join(f"{c.name} = {c.expression or c.value}  # {source_line(c.note)}" for c in plan.constants)
