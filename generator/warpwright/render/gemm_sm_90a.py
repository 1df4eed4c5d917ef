"""The words of the gemm template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from typing import Any

from warpwright.plan.arch import arch
from warpwright.plan.dtypes import dtype
from warpwright.plan.gemm.choices import Choices, Step
from warpwright.plan.types import Argument, Plan, Swizzle
from warpwright.point import Point

__all__ = ["context"]

_SWIZZLE_WORDS: dict[Swizzle, str] = {"none": "INTER", "32B": "SW32", "64B": "SW64", "128B": "SW128"}


def context(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    c = Choices(Point.model_validate(plan.point, strict=False))
    kernel, design = c.point.kernel, c.point.design
    has_c, by_tma = bool(c.tile_operands), c.subtile_stages > 0
    c_argument = c.tile_operands[0] if has_c else ""
    has_vectors = any(o.kind.startswith("vector") for s in c.steps for o, _ in s.arguments)
    majors = {"a": kernel.a.major, "b": kernel.b.major, "d": kernel.d.major}
    if kernel.c is not None:
        majors["c"] = kernel.c.major
    return {
        "title": f"GEMM for {plan.arch}: {kernel.a.dtype} in, f32 accumulate, {kernel.d.dtype} out.",
        "formula": formula(c),
        "shared_limit": arch(plan.arch).shared_bytes,
        "dsl_types": _dsl_types(c),
        "ab": c.ab,
        "c": c.c,
        "d": c.d,
        "has_c": has_c,
        "stores_by_tma": by_tma,
        "uses_matrix_copies": (by_tma and c.d.bytes == 2) or (has_c and c.c is not None and c.c.bytes == 2),
        "tma_tensors": [copy.tensor for copy in plan.tma],
        "edge": _edge(kernel.d.major),
        "layouts": {operand: _layout(c, operand, major) for operand, major in majors.items()},
        "majors": {operand: "K" if majors[operand] == "k" else "MN" for operand in ("a", "b")},
        "strides": {operand: _stride(operand, major, c_argument) for operand, major in majors.items()},
        "buffers": [_buffer(b.name, b.alignment, b.dtype, b.bytes) for b in plan.buffers],
        "signature": _filled([*(_parameter(a) for a in plan.arguments), "stream"], indent=4),
        "fake_arguments": [_stand_in(a) for a in plan.arguments],
        "c_argument": c_argument,
        "c_guard": _guard(c),
        "launch_arguments": _filled([value for value, _, _ in _kernel_parameters(c)], indent=12),
        "kernel_parameters": _filled([f"{name}: {kind}" for _, name, kind in _kernel_parameters(c)], indent=4),
        "cluster_m": design.cluster.m,
        "cluster_n": design.cluster.n,
        "clustered": design.cluster.m * design.cluster.n > 1,
        "persistent": design.scheduler.kind == "persistent",
        "pingpong": design.schedule == "pingpong",
        "reallocates": c.split is not None,
        "producer_warps": design.producer_warps,
        "consumers": c.consumers,
        "sharing": c.sharing,
        "numbers_consumers": by_tma or c.consumers > 1,
        "raster": {"fast": design.scheduler.raster, "slow": "n" if design.scheduler.raster == "m" else "m"},
        "has_vectors": has_vectors,
        "needs_coordinates": has_vectors or not by_tma,
        "store_atom": _matrix_copy("St", c.d.bytes, c.d.dsl, kernel.d.major, c.subtile_n),
        "load_atom": _matrix_copy("Ld", c.c.bytes, c.c.dsl, kernel.c.major, c.subtile_n) if c.c and kernel.c else "",
        "steps": [_step(s) for s in c.steps],
    }


def formula(c: Choices) -> str:
    """Return the chain as mathematics, e.g. `relu(alpha * A B + bias[n])`."""
    text = "A B"
    for s in c.steps:
        # A summary with one x is a formula to put the text into; else the operation is a function of it.
        parts = re.split(r"\bx\b", s.op.summary)
        plain = len(parts) == 2 and not s.op.summary.startswith("max")
        product = parts[0] or not parts[-1].startswith(" + ")
        inner = f"({text})" if plain and product and "+" in text else text
        text = parts[0] + inner + parts[1] if plain else f"{s.op.name}({text})"
    return text


def _filled(items: list[str], indent: int) -> str:
    """Return a comma-separated list over as few lines as hold it, all but the first indented."""
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 2 > 116 - indent:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + item + ","
    return ("\n" + " " * indent).join(lines)


def _dsl_types(c: Choices) -> list[str]:
    used = {c.ab.dsl, c.d.dsl, "Float32", "Int32", "Int64"}
    if c.c is not None:
        used.add(c.c.dsl)
    used |= {dtype(s.step.dtype).dsl for s in c.steps for o, _ in s.arguments if o.kind.startswith("vector")}
    if any(s.scratch for s in c.steps):
        used.add("Uint8")
    return sorted(used)


def _layout(c: Choices, operand: str, major: str) -> dict[str, str]:
    # The DSL's atoms are named for MMA operands; for C and D, n plays the part of k.
    inner = major in ("k", "n") if operand in ("c", "d") else major == "k"
    kind = f"{'K' if inner else 'MN'}_{_SWIZZLE_WORDS[c.swizzle(operand)]}"
    # Blocks of the swizzle's width lie behind one another, so that one TMA box fills each.
    return {"kind": kind, "order": "(0, 1, 2)" if inner else "(1, 0, 2)"}


def _stride(operand: str, major: str, c_argument: str) -> str:
    """Return the stride tuple of a matrix as the kernel sees it: (row mode, column mode, batch)."""
    # Mode positions in the argument's shape (L, rows, columns); B arrives as (L, K, N) and is seen as (N, K).
    row, column = (2, 1) if operand == "b" else (1, 2)
    names = {"a": ("m", "depth"), "b": ("n", "depth"), "c": ("m", "n"), "d": ("m", "n")}[operand]
    alignment = "AB_ALIGNMENT" if operand in "ab" else f"{operand.upper()}_ALIGNMENT"
    argument = c_argument if operand == "c" else operand
    batch = f"usable_stride(batches, {argument}.stride[0], {alignment})"
    if major == names[0]:
        return f"(1, usable_stride({names[1]}, {argument}.stride[{column}], {alignment}), {batch})"
    return f"(usable_stride({names[0]}, {argument}.stride[{row}], {alignment}), 1, {batch})"


def _edge(major: str) -> dict[str, Any]:
    """Return the words for the end of D along its contiguous mode, which TMA cannot store."""
    if major == "n":
        return {
            "what": "columns", "mode": 1, "extent": "n", "whole": "(m, whole, batches)", "first": "column",
            "length": "SUBTILE_N", "i": "thread % 64", "j": "edge - column + thread // 64 + step * EDGE_WIDTH",
        }  # fmt: skip
    return {
        "what": "rows", "mode": 0, "extent": "m", "whole": "(whole, n, batches)", "first": "row",
        "length": "64", "i": "edge - row + thread // SUBTILE_N + step * EDGE_WIDTH", "j": "thread % SUBTILE_N",
    }  # fmt: skip


def _buffer(name: str, alignment: int, element: str, size: int) -> dict[str, Any]:
    plain = {"i64": ("Int64", 8), "u8": ("Uint8", 1)}
    dsl, width = plain.get(element) or (dtype(element).dsl, dtype(element).bytes)
    return {"name": name, "alignment": alignment, "type": dsl, "elements": size // width}


def _parameter(a: Argument) -> str:
    kind = {"scalar": "Int32" if a.dtype == "i32" else "Float32"}.get(a.kind, "cute.Tensor")
    return f"{a.name}: {kind}"


def _stand_in(a: Argument) -> str:
    if a.kind == "scalar":
        return "Int32(1)" if a.dtype == "i32" else "Float32(1.0)"
    modes = {"L": "batches", "M": "m", "N": "n", "K": "k"}
    shape = ", ".join(modes[s] for s in a.shape) + ("," if len(a.shape) == 1 else "")
    return f"tensor({dtype(a.dtype).dsl}, ({shape}), {a.shape.index(a.contiguous)}, {a.alignment})"


def _guard(c: Choices) -> str:
    """Return the argument that switches the tile operand off where it is zero, "" where nothing does."""
    for s in c.steps:
        names = {operand.name: argument for operand, argument in s.arguments}
        for operand, _ in s.arguments:
            if operand.kind == "tile" and operand.skip_if_zero:
                return names[operand.skip_if_zero]
    return ""


def _kernel_parameters(c: Choices) -> list[tuple[str, str, str]]:
    """Return (value on the host, name in the kernel, type), in order."""
    tensors = ["a", "b", *(["c"] if c.tile_operands else []), *(["d"] if c.subtile_stages else [])]
    parts = (("tma", "cute.CopyAtom"), ("tiles", "cute.Tensor"))
    found = [(f"{t}_{part}", kind) for t in tensors for part, kind in parts]
    found.append(("d_mnl", "cute.Tensor"))
    operands = [(operand.kind, argument) for s in c.steps for operand, argument in s.arguments]
    scalars = [(argument, "Float32") for kind, argument in operands if kind == "scalar"]
    numbers = [(name, "Int32") for name in ("m_clusters", "n_clusters", "k_tiles", "cluster_tiles")]
    # In the kernel a vector's own name means its values in one subtile.
    vectors = [(a, f"{a}_vector", "cute.Tensor") for kind, a in operands if kind.startswith("vector")]
    return [(n, n, k) for n, k in found] + vectors + [(n, n, k) for n, k in scalars + numbers]


def _matrix_copy(direction: str, size: int, dsl: str, major: str, columns: int) -> str:
    """Return the copy atom between a subtile's registers and shared memory."""
    if size == 2:
        op = f"warp.{direction}Matrix8x8x16bOp({major == 'm'}, {4 if columns % 16 == 0 else 2})"
        return f"cute.make_copy_atom({op}, {dsl})"
    # Four bytes are no matrix copy: two neighbours of a row go together where the row is contiguous.
    bits = 64 if major == "n" else 32
    return f"cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {dsl}, num_bits_per_copy={bits})"


def _step(s: Step) -> dict[str, Any]:
    operands = [{"kind": o.kind, "local": o.name, "argument": argument} for o, argument in s.arguments]
    # The guard of a tile operand is a scalar: name scalars first, so that code and guards may use them.
    return {"op": s.op, "scratch": s.scratch, "operands": sorted(operands, key=lambda o: o["kind"] != "scalar")}
