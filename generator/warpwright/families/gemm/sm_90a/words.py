"""The words of the gemm template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.dtypes import dtype
from warpwright.families.gemm.sm_90a.chain import Step, steps
from warpwright.families.gemm.sm_90a.tiles import MMA_M
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.families.products.tiles import counted_as
from warpwright.plan.source import bracketed
from warpwright.plan.types import Argument, Buffer, Plan, Swizzle

__all__ = ["words"]

#: What a tensor map is made of, on the host.
_VIEWS = {"a": "a_mkl", "b": "b_nkl", "c": "c_mnl", "d": "d_whole"}
_SWIZZLE_WORDS: dict[Swizzle, str] = {"none": "INTER", "32B": "SW32", "64B": "SW64", "128B": "SW128"}


def words(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    kernel, design = plan.kernel, plan.design
    assert isinstance(design, GemmDesign)
    chain = steps(tuple((step["op"], step["dtype"]) for step in kernel["epilogue"]))
    operands = [operand for step in chain for operand in step.arguments]
    c_argument = next((name for operand, name in operands if operand.kind == "tile"), "")
    matrices = ("a", "b", "c", "d") if c_argument else ("a", "b", "d")
    majors = {name: kernel[name]["major"] for name in matrices}
    types = {name: dtype(kernel[name]["dtype"]) for name in matrices}
    by_tma = design.store == "tma"
    in_shared = [name for name in matrices if name != "d" or by_tma]
    names = {constant.name for constant in plan.constants}
    subtiles = design.warpgroup_m // MMA_M * (design.tile_n // design.subtile_n)
    marks = [argument.name for argument in plan.arguments if argument.role == "workspace"]  # of an instrumented twin
    passed = _kernel_arguments(design, chain, in_shared, marks)
    return {
        "title": f"GEMM for {plan.arch}: {kernel['a']['dtype']} in, f32 accumulate, {kernel['d']['dtype']} out.",
        "formula": f"D = {formula(chain)}",
        "design": design,
        "names": names,
        "types": types,
        "dsl_types": _dsl_types(plan),
        "has_c": bool(c_argument),
        "c_argument": c_argument,
        "c_guard": next((guard for step in chain if (guard := _guard(step))), ""),
        "steps": [_step(step) for step in chain],
        "has_vectors": any(operand.kind.startswith("vector") for operand, _ in operands),
        "has_vectors_m": any(operand.kind == "vector_m" for operand, _ in operands),
        "scratch_by_consumer": any(step.scratch and re.search(r"\bconsumer\b", step.op.code) for step in chain),
        "stores_by_tma": by_tma,
        "uses_matrix_copies": any(types[name].bytes == 2 for name in in_shared if name in "cd"),
        "slots_are_reused": design.persistent or subtiles > design.subtile_stages,
        "edge": _edge(majors["d"]),
        "contiguous": _listed([majors[name].upper() for name in matrices]),
        "layouts": [_layout(plan, name, majors[name]) for name in in_shared],
        "mapped": [_VIEWS[name] for name in in_shared],
        "boxes": {name: _boxes(name, majors[name], names) for name in ("a", "b")},
        "majors": {name: "K" if majors[name] == "k" else "MN" for name in ("a", "b")},
        "buffers": [_buffer(buffer, _shapes(design)) for buffer in plan.main.buffers],
        "signature": bracketed(f"def {plan.entry}(", [*map(_parameter, plan.arguments), "stream"], "):"),
        "launched": bracketed(f"{plan.main.name}(", [value for value, _, _ in passed], ")", 8, ".launch("),
        "kernel_signature": bracketed(f"def {plan.main.name}(", [f"{name}: {kind}" for _, name, kind in passed], "):"),
        "down": "SUBTILES_M" in names,
        "across": "SUBTILES_N" in names,
        "clustered": design.cluster_m * design.cluster_n > 1,
        "pingpong": design.schedule == "pingpong",
        "reallocates": design.consumer_registers is not None,
        "store_atom": _matrix_copy("St", kernel["d"], design.subtile_n),
        "load_atom": _matrix_copy("Ld", kernel["c"], design.subtile_n) if c_argument else "",
    }


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def formula(chain: Sequence[Step]) -> str:
    """Return the chain as mathematics, e.g. `relu(alpha * A B + bias[n])`."""
    text = "A B"
    for step in chain:
        # A summary with one x is a formula to put the text into; else the operation is a function of it.
        parts = re.split(r"\bx\b", step.op.summary)
        plain = len(parts) == 2 and not step.op.summary.startswith("max")
        product = parts[0] or not parts[-1].startswith(" + ")
        inner = f"({text})" if plain and product and "+" in text else text
        text = parts[0] + inner + parts[1] if plain else f"{step.op.name}({text})"
    return text


def _dsl_types(plan: Plan) -> list[str]:
    used = {plan.kernel["d"]["dtype"], *(buffer.dtype for buffer in plan.main.buffers)}
    return sorted({dtype(name).dsl for name in used} | {"Float32", "Int32", "Int64"})


def _shapes(design: GemmDesign) -> dict[str, tuple[str, ...]]:
    """Return the shape of each tensor in shared memory, as the source writes it."""
    c_slots = "C_STAGES * CONSUMERS" if design.sharing > 1 else "C_STAGES"
    d_slots = ["SUBTILE_STAGES"] * (design.subtile_stages > 1) + ["CONSUMERS"] * (design.consumers > 1)
    return {
        "a": ("TILE_M", "TILE_K", "STAGES"),
        "b": ("TILE_N", "TILE_K", "STAGES"),
        "c": ("MMA_M", "SUBTILE_N", c_slots),
        "d": ("MMA_M", "SUBTILE_N", " * ".join(d_slots) or "1"),
    }


def _layout(plan: Plan, name: str, major: str) -> dict[str, str]:
    # The DSL's atoms are named for MMA operands; for C and D, n plays the part of k.
    inner = major in ("k", "n") if name in ("c", "d") else major == "k"
    swizzle = next(buffer.swizzle for buffer in plan.main.buffers if buffer.name == name)
    return {
        "name": name,
        "kind": f"{'K' if inner else 'MN'}_{_SWIZZLE_WORDS[swizzle]}",
        "type": dtype(plan.kernel[name]["dtype"]).dsl,
        "shape": f"({', '.join(_shapes(plan.design)[name])})",
        # Blocks of the swizzle's width lie behind one another, so that one TMA box fills each.
        "order": "(0, 1, 2)" if inner else "(1, 0, 2)",
    }


def _boxes(name: str, major: str, names: set[str]) -> dict[str, Any]:
    """Return which box of A or B the producer asks for: a whole stage, or in a loop what it consists of."""
    rows, tile, many = ("TILE_M", "m_tile", "A_BOXES") if name == "a" else ("TILE_N", "n_tile", "B_BOXES")
    if many not in names:
        return {"looped": False, "shape": f"({rows}, TILE_K)", "index": f"{tile}, k_tile"}
    if major == "k":
        return {
            "looped": True, "shape": f"({rows}, TILE_K // {many})", "at": "(0, None, None)",
            "index": f"{tile}, k_tile * {many} + i",
        }  # fmt: skip
    return {
        "looped": True, "shape": f"({rows} // {many}, TILE_K)", "at": "(None, 0, None)",
        "index": f"{tile} * {many} + i, k_tile",
    }  # fmt: skip


def _edge(major: str) -> dict[str, Any]:
    """Return the words for the end of D along its contiguous mode, which TMA cannot store."""
    if major == "n":
        return {
            "what": "columns", "one": "column", "mode": 1, "extent": "n", "whole": "(m, whole, batches)",
            "tile": "TILE_N", "length": "SUBTILE_N",
            "element": "i, j = thread % MMA_M, edge + thread // MMA_M",
        }  # fmt: skip
    return {
        "what": "rows", "one": "row", "mode": 0, "extent": "m", "whole": "(whole, n, batches)",
        "tile": "WARPGROUP_M", "length": "MMA_M",
        "element": "j, i = thread % SUBTILE_N, edge + thread // SUBTILE_N",
    }  # fmt: skip


def _buffer(buffer: Buffer, shapes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a buffer as a field of the struct: tensors have their layout's shape, rings of barriers one per stage."""
    element = dtype(buffer.dtype)
    stages = {
        f"{ring}_{side}": count for ring, count in (("ab", "STAGES"), ("c", "C_STAGES")) for side in ("full", "empty")
    }
    if buffer.name in stages:
        return {"name": buffer.name, "type": f"cute.struct.MemRange[{element.dsl}, {stages[buffer.name]}]"}
    if buffer.name in shapes:
        size, alignment = " * ".join(extent for extent in shapes[buffer.name] if extent != "1"), "SMEM_ALIGNMENT"
    else:  # the scratch of an operation
        size, alignment = str(buffer.bytes // element.bytes), str(buffer.alignment)
    return {"name": buffer.name, "type": f"cute.struct.Align[cute.struct.MemRange[{element.dsl}, {size}], {alignment}]"}


def _parameter(a: Argument) -> str:
    return f"{a.name}: {dtype(a.dtype).dsl if a.kind == 'scalar' else 'cute.Tensor'}"


def _guard(step: Step) -> str:
    """Return the argument that switches a step off where it is zero, "" where nothing does."""
    names = {operand.name: argument for operand, argument in step.arguments}
    return next((names[o.skip_if_zero] for o, _ in step.arguments if o.kind == "tile" and o.skip_if_zero), "")


def _kernel_arguments(
    design: GemmDesign, chain: Sequence[Step], in_shared: Sequence[str], marks: Sequence[str]
) -> list[tuple[str, str, str]]:
    """Return what the kernel is given: value on the host, name in the kernel, type."""
    operands = [(operand.kind, argument) for step in chain for operand, argument in step.arguments]
    counts, count = counted_as(design)
    return [
        *((f"{name}_tma", f"{name}_tma", "cpasync.TmaInfo") for name in in_shared),
        ("d_mnl", "d_mnl", "cute.Tensor"),
        # In the kernel a vector's own name means its values in one subtile.
        *((a, f"{a}_vector", "cute.Tensor") for kind, a in operands if kind.startswith("vector")),
        *((name, name, "cute.Tensor") for name in marks),
        *((a, a, "Float32") for kind, a in operands if kind == "scalar"),
        (counts, counts, "cute.Shape"),
        *([(count, count, "Int32")] if design.persistent else []),
        ("k_tiles", "k_tiles", "Int32"),
    ]


def _matrix_copy(direction: str, matrix: Mapping[str, str], columns: int) -> str:
    """Return the copy atom between a subtile's registers and shared memory."""
    element, major = dtype(matrix["dtype"]), matrix["major"]
    if element.bytes == 2:
        op = f"warp.{direction}Matrix8x8x16bOp(transpose={major == 'm'}, num_matrices={4 if columns % 16 == 0 else 2})"
        return f"cute.make_copy_atom({op}, {element.dsl})"
    # Four bytes are no matrix copy: two neighbours of a row go together where the row is contiguous.
    bits = 64 if major == "n" else 32
    return f"cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {element.dsl}, num_bits_per_copy={bits})"


def _step(step: Step) -> dict[str, Any]:
    operands = [{"kind": o.kind, "local": o.name, "argument": argument} for o, argument in step.arguments]
    # A sum or a product says itself what it computes.
    named = not re.fullmatch(r"x = [\w .*+-]+", step.op.code.strip())
    return {"op": step.op, "named": named, "scratch": step.scratch, "guard": _guard(step), "operands": operands}
