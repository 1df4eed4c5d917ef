"""The words of the gemm template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.dtypes import dtype
from warpwright.families.gemm.parts import words as shared
from warpwright.families.gemm.parts.chain import steps
from warpwright.families.gemm.sm_90a.tiles import MMA_M
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan.source import bracketed
from warpwright.plan.types import Buffer, Plan

__all__ = ["words"]


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
    passed = shared.kernel_arguments(design, chain, in_shared, marks)
    return {
        "title": f"GEMM for {plan.arch}: {kernel['a']['dtype']} in, f32 accumulate, {kernel['d']['dtype']} out.",
        "formula": f"D = {shared.formula(chain)}",
        "design": design,
        "names": names,
        "types": types,
        "dsl_types": _dsl_types(plan),
        "has_c": bool(c_argument),
        "c_argument": c_argument,
        "c_guard": next((guard for step in chain if (guard := shared.guard(step))), ""),
        "steps": [shared.step(step) for step in chain],
        "has_vectors": any(operand.kind.startswith("vector") for operand, _ in operands),
        "has_vectors_m": any(operand.kind == "vector_m" for operand, _ in operands),
        "scratch_by_consumer": any(step.scratch and re.search(r"\bconsumer\b", step.op.code) for step in chain),
        "stores_by_tma": by_tma,
        "uses_matrix_copies": any(types[name].bytes == 2 for name in in_shared if name in "cd"),
        "slots_are_reused": design.persistent or subtiles > design.subtile_stages,
        "edge": shared.edge(majors["d"]),
        "contiguous": shared.listed([majors[name].upper() for name in matrices]),
        "layouts": [_layout(plan, name, majors[name]) for name in in_shared],
        "mapped": [shared.VIEWS[name] for name in in_shared],
        "boxes": {
            name: shared.boxes(name, majors[name], names, f"TILE_{mode}", f"{mode.lower()}_tile")
            for name, mode in (("a", "M"), ("b", "N"))
        },
        "majors": {name: "K" if majors[name] == "k" else "MN" for name in ("a", "b")},
        "buffers": [_buffer(buffer, _shapes(design)) for buffer in plan.main.buffers],
        "signature": bracketed(f"def {plan.entry}(", [*map(shared.parameter, plan.arguments), "stream"], "):"),
        "launched": bracketed(f"{plan.main.name}(", [value for value, _, _ in passed], ")", 8, ".launch("),
        "kernel_signature": bracketed(f"def {plan.main.name}(", [f"{name}: {kind}" for _, name, kind in passed], "):"),
        "down": "SUBTILES_M" in names,
        "across": "SUBTILES_N" in names,
        "clustered": design.cluster_m * design.cluster_n > 1,
        "dynamic": False,
        "snake": False,
        "shares": {"a": "CLUSTER_N" if design.cluster_n > 1 else "", "b": "CLUSTER_M" if design.cluster_m > 1 else ""},
        "rows": {"a": "TILE_M", "b": "TILE_N"},
        "load_group": "",
        "scaled": None,
        "least_depth": 1,
        "storer": "consumer" if design.consumers > 1 else "",
        "pingpong": design.schedule == "pingpong",
        "reallocates": design.consumer_registers is not None,
        "store_atom": _matrix_copy("St", kernel["d"], design.subtile_n),
        "load_atom": _matrix_copy("Ld", kernel["c"], design.subtile_n) if c_argument else "",
    }


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
        "kind": f"{'K' if inner else 'MN'}_{shared.SWIZZLE_WORDS[swizzle]}",
        "type": dtype(plan.kernel[name]["dtype"]).dsl,
        "shape": f"({', '.join(_shapes(plan.design)[name])})",
        # Blocks of the swizzle's width lie behind one another, so that one TMA box fills each.
        "order": "(0, 1, 2)" if inner else "(1, 0, 2)",
    }


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


def _matrix_copy(direction: str, matrix: Mapping[str, str], columns: int) -> str:
    """Return the copy atom between a subtile's registers and shared memory."""
    element, major = dtype(matrix["dtype"]), matrix["major"]
    if element.bytes == 2:
        op = f"warp.{direction}Matrix8x8x16bOp(transpose={major == 'm'}, num_matrices={4 if columns % 16 == 0 else 2})"
        return f"cute.make_copy_atom({op}, {element.dsl})"
    # Four bytes are no matrix copy: two neighbours of a row go together where the row is contiguous.
    bits = 64 if major == "n" else 32
    return f"cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {element.dsl}, num_bits_per_copy={bits})"
