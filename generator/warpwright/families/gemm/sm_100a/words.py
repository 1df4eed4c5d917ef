"""The words of the gemm template for sm_100a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.dtypes import SCALED, dtype, element
from warpwright.families.gemm.parts import words as shared
from warpwright.families.gemm.sm_100a import places
from warpwright.families.gemm.workload.design import TensorDesign
from warpwright.plan.source import LINE_LENGTH, bracketed
from warpwright.plan.types import Buffer, Plan

__all__ = ["words"]


def words(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    kernel, design = plan.kernel, plan.design
    assert isinstance(design, TensorDesign)
    found = shared.common(plan, _shapes(design))
    names, scaled = found["names"], found["scaled"]
    pair, several_tiles = design.cta_group == 2, design.scheduler != "one_tile"
    rows = {"a": "TILE_M", "b": "LOAD_N" if pair else "TILE_N"}
    tiles = {"a": "m_tile", "b": "n_tile * CTA_GROUP + in_pair" if pair else "n_tile"}
    return found | {
        "sums_type": dtype(kernel["accumulator"]).dsl,
        "dsl_types": _dsl_types(plan),
        "several_tiles": several_tiles,
        "slots_are_reused": several_tiles or "SUBTILES_N" in names,
        "edge": found["edge"] | ({"tile": "MMA_M"} if kernel["d"]["major"] == "m" else {}),
        **places.of_scales(plan.main.copies),
        "scale_type": dtype(scaled.scale).dsl if scaled else "",
        "mma_group": "TWO" if pair else "ONE",
        "rows": rows,
        "boxes": {x: shared.boxes(x, kernel[x]["major"], names, rows[x], tiles[x]) for x in ("a", "b")},
        "buffers": [_buffer(buffer, design) for buffer in plan.main.buffers if buffer.space == "shared"],
        "dynamic": design.scheduler == "dynamic",
        "snake": design.snake,
        "reallocates": False,
        "pair": pair,
        "is_two": ", is_two_cta=True" if pair else "",
        "load_group": "CtaGroup.TWO" if pair else "",
        "storer": "warpgroup" if design.warpgroups > 1 else "",
        "mma_op": _mma_op(plan),
        "packed": scaled is not None and element(kernel["a"]["dtype"]).bits < 8,
        "mma_rows": "PAIR_M" if pair else "MMA_M",
        "store_atom": _copy_atom(kernel["d"], design.subtile_n),
        "load_atom": _copy_atom(kernel["c"], design.subtile_n) if found["has_c"] else "",
        **places.shared_by(design),
        **places.of_accumulators(design),
        **places.of_subtiles(design, names),
    }


def _dsl_types(plan: Plan) -> list[str]:
    used = {plan.kernel["d"]["dtype"], *(buffer.dtype for buffer in plan.main.buffers)}
    used |= {copy.dtype for copy in plan.main.copies}
    computed = set() if plan.kernel["d"]["dtype"] == "i32" else {"Float32"}  # else sums leave as they are
    dynamic = {"Int128"} if plan.design.scheduler == "dynamic" else set()
    names = {dtype(name).dsl for name in used} | computed | {"Int32", "Int64"} | dynamic
    return sorted(names, key=lambda name: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", name)])


def _shapes(design: TensorDesign) -> dict[str, tuple[str, ...]]:
    """Return the shape of each tensor in shared memory, as the source writes it."""
    groups = ["WARPGROUPS"] * (design.warpgroups > 1)
    staged = "SUBTILE_STAGES" if design.subtile_stages > 1 else ""
    return {
        "a": ("TILE_M", "TILE_K", "STAGES"),
        "b": ("LOAD_N" if design.cta_group == 2 else "TILE_N", "TILE_K", "STAGES"),
        "sfa": ("SFA_BYTES", "STAGES"),
        "sfb": ("SFB_BYTES", "STAGES"),
        "c": ("MMA_M", "SUBTILE_N", " * ".join(["C_STAGES", *groups])),
        "d": ("MMA_M", "SUBTILE_N", "D_SLOTS" if groups and staged else staged or "".join(groups) or "1"),
    }


def _buffer(buffer: Buffer, design: TensorDesign) -> dict[str, str]:
    """Return a buffer as a field of the struct: tensors have their layout's shape, rings of barriers one per stage."""
    element = dtype(buffer.dtype)
    shapes = _shapes(design)
    accumulators = places.of_accumulators(design)["accumulators"] or "1"
    stages = {
        **dict.fromkeys(("loaded", "consumed"), "STAGES"),
        **dict.fromkeys(("accumulated", "drained"), accumulators),
        **dict.fromkeys(("c_full", "c_empty"), "C_STAGES"),
        **dict.fromkeys(("tile_ready", "tile_taken"), "TILE_STAGES"),
    }
    if buffer.name in stages:
        return {"name": buffer.name, "type": f"cute.struct.MemRange[{element.dsl}, {stages[buffer.name]}]"}
    if buffer.name == "tensor_base":
        return {"name": buffer.name, "type": element.dsl}
    if buffer.name == "responses":
        return {"name": buffer.name, "type": "cute.struct.Align[cute.struct.MemRange[Int128, TILE_STAGES], 16]"}
    if buffer.name in shapes:
        size, alignment = _product(shapes[buffer.name]), "SMEM_ALIGNMENT"
    else:  # the scratch of an operation
        size, alignment = str(buffer.bytes // element.bytes), str(buffer.alignment)
    inner = f"cute.struct.MemRange[{element.dsl}, {size}], {alignment}"
    fits = len(f"    {buffer.name}: cute.struct.Align[{inner}]") <= LINE_LENGTH
    return {
        "name": buffer.name,
        "type": f"cute.struct.Align[{inner}]" if fits else f"cute.struct.Align[\n        {inner}\n    ]",
    }


def _product(extents: Sequence[str]) -> str:
    return " * ".join(extent for extent in extents if extent != "1")


#: The class of an MMA, by the dtype of A's elements.
_OPS = {"tf32": "MmaTF32Op", "e4m3": "MmaF8F6F4Op", "e5m2": "MmaF8F6F4Op", "i8": "MmaI8Op"}


def _mma_op(plan: Plan) -> str:
    """Return the MMA as the source makes it, on as many lines as it takes."""
    design: TensorDesign = plan.design
    group, rows = ("TWO", "PAIR_M") if design.cta_group == 2 else ("ONE", "MMA_M")
    a, b = (element(plan.kernel[name]["dtype"]) for name in "ab")
    scaled = SCALED.get(plan.kernel["a"]["dtype"])
    majors = ["*majors"]
    if scaled and a.name == "e2m1":  # along K alone
        scale = dtype(scaled.scale).dsl
        op, types, majors = ("MmaMXF4NVF4Op", [scale], []) if scaled.block == 16 else ("MmaMXF4Op", [], [])
    elif scaled:
        op, types = "MmaMXF8F6F4Op", [a.dsl, b.dsl]
    else:
        op = _OPS.get(a.name, "MmaF16BF16Op")
        types = {"MmaTF32Op": [], "MmaI8Op": [a.dsl], "MmaF8F6F4Op": [a.dsl, b.dsl, "Float32"]}.get(
            op, [a.dsl, "Float32"]
        )
    given = [*types, f"({rows}, TILE_N, MMA_K)", f"CtaGroup.{group}", "OperandSource.SMEM", *majors]
    return bracketed(f"op = tcgen05.{op}(", given, ")", 4)


def _copy_atom(matrix: Mapping[str, str], columns: int) -> str:
    """Return the copy atom between a thread's row of a subtile and shared memory: of 16 bytes along a row."""
    element = dtype(matrix["dtype"])
    bits = min(128, columns * element.bits) if matrix["major"] == "n" else element.bits
    return f"cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {element.dsl}, num_bits_per_copy={bits})"
