"""The words of the gemm template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.dtypes import dtype
from warpwright.families.gemm.parts import words as shared
from warpwright.families.gemm.sm_90a.tiles import MMA_M
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan.types import Buffer, Plan

__all__ = ["words"]


def words(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    kernel, design = plan.kernel, plan.design
    assert isinstance(design, GemmDesign)
    shapes = _shapes(design)
    marks = [argument.name for argument in plan.arguments if argument.role == "workspace"]  # of an instrumented twin
    found = shared.common(plan, shapes, marks)
    names, by_tma = found["names"], found["stores_by_tma"]
    in_shared = [found["types"][name] for name in ("c", "d") if name in found["types"] and (name == "c" or by_tma)]
    subtiles = design.warpgroup_m // MMA_M * (design.tile_n // design.subtile_n)
    return found | {
        "dsl_types": _dsl_types(plan),
        "scratch_by_consumer": any(
            step["scratch"] and re.search(r"\bconsumer\b", step["op"].code) for step in found["steps"]
        ),
        "uses_matrix_copies": any(each.bytes == 2 for each in in_shared),
        "slots_are_reused": design.persistent or subtiles > design.subtile_stages,
        "boxes": {
            name: shared.boxes(name, kernel[name]["major"], names, f"TILE_{mode}", f"{mode.lower()}_tile")
            for name, mode in (("a", "M"), ("b", "N"))
        },
        "buffers": [_buffer(buffer, shapes) for buffer in plan.main.buffers],
        "down": "SUBTILES_M" in names,
        "dynamic": False,
        "snake": False,
        "shares": {"a": "CLUSTER_N" if design.cluster_n > 1 else "", "b": "CLUSTER_M" if design.cluster_m > 1 else ""},
        "rows": {"a": "TILE_M", "b": "TILE_N"},
        "load_group": "",
        "storer": "consumer" if design.consumers > 1 else "",
        "pingpong": design.schedule == "pingpong",
        "reallocates": design.consumer_registers is not None,
        "store_atom": _matrix_copy("St", kernel["d"], design.subtile_n),
        "load_atom": _matrix_copy("Ld", kernel["c"], design.subtile_n) if found["has_c"] else "",
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
