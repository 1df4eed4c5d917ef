"""The words of the SGEMM template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from warpwright.families.sgemm.sm_90a.lanes import order
from warpwright.families.sgemm.sm_90a.solution import VECTOR
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.source import bracketed
from warpwright.plan.types import Plan, Swizzle

__all__ = ["words"]

_ATOMS: dict[Swizzle, str] = {"32B": "SW32", "64B": "SW64", "128B": "SW128"}


def words(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    kernel, design = plan.kernel, plan.design
    assert isinstance(design, SgemmDesign)
    specialised, bias = design.specialised, kernel["bias"]
    formula = "A B + bias[n]" if bias else "A B"
    operands = [_operand(plan, name) for name in ("a", "b")]
    given = [f"{x['name']}_{'tma' if specialised else x['name_of_view']}" for x in operands]
    both = ["k_tiles"] if all(x["along_k"] for x in operands) else []
    kind = "cpasync.TmaInfo" if specialised else "cute.Tensor"
    marks = [argument.name for argument in plan.arguments if argument.role == "workspace"]  # of an instrumented twin
    passed = [
        *((name, kind) for name in given),
        ("d_mnl", "cute.Tensor"),
        *([("bias", "cute.Tensor")] if bias else []),
        *((name, "cute.Tensor") for name in marks),
        ("tiles_mnl", "cute.Shape"),
        ("tile_count", "Int32"),
        ("k_tiles", "Int32"),
    ]
    stored = [
        ("accumulator", "cute.Tensor"),
        ("d_mnl", "cute.Tensor"),
        *([("bias", "cute.Tensor")] if bias else []),
        *((name, "Int32") for name in ("row", "column", "m_tile", "n_tile", "batch")),
    ]
    return {
        "title": f"SGEMM for {plan.arch}: f32 in, f32 out, by fused multiply-add.",
        "formula": f"D = relu({formula})" if kernel["activation"] == "relu" else f"D = {formula}",
        # The shared walk over tiles knows clusters.
        "design": {**asdict(design), "persistent": True, "cluster_m": 1, "cluster_n": 1},
        "names": {constant.name for constant in plan.constants},
        "clustered": False,
        "dynamic": False,
        "snake": False,
        "specialised": specialised,
        "bias": bias,
        "relu": kernel["activation"] == "relu",
        "operands": operands,
        "smem_order": _smem_order(*(x["along_k"] for x in operands)),
        "swizzled": any(x["swizzled"] for x in operands),
        "moves": all(x["along_k"] for x in operands) or not (bias or kernel["activation"] == "relu"),
        "along_k": any(x["along_k"] for x in operands),
        "two_vectors": any(x["along_k"] for x in operands) and design.unroll > VECTOR,
        "b_along_k": operands[1]["along_k"],
        "contiguous": f"{operands[0]['contiguous']}, {operands[1]['contiguous']} and N",
        "lanes": order(design.lane_order, design.lanes_m),
        "first": _first(design, *(x["along_k"] for x in operands)),
        "accumulator_order": _order(*(x["along_k"] for x in operands)),
        "line_of_row": " // LINE_ROWS" if any(c.name == "LINE_ROWS" for c in plan.constants) else "",
        "multiply_arguments": ", ".join(["a_part", "b_part", *(x["first"] for x in operands if x["along_k"]), *both]),
        "multiply_signature": bracketed(
            "def multiply_stage(",
            ["a: cute.Tensor", "b: cute.Tensor", *(f"{x['first']}: Int32" for x in operands if x["along_k"]),
             *(f"{name}: Int32" for name in (*both, "stage")), "accumulator: cute.Tensor"],
            "):",
        ),
        "store_signature": bracketed("def store_tile(", [f"{name}: {kind}" for name, kind in stored], "):"),
        "store_call": bracketed("store_tile(", [name for name, _ in stored], ")", 12),
        "reallocates": design.consumer_registers is not None,
        "idles": any(role.name == "idle" for role in plan.main.roles),
        "signature": bracketed(
            f"def {plan.entry}(",
            ["a: cute.Tensor", "b: cute.Tensor", "d: cute.Tensor", *(["bias: cute.Tensor"] if bias else []),
             "max_ctas: Int32", *(f"{name}: cute.Tensor" for name in marks), "stream"],
            "):",
        ),
        "launched": bracketed(f"{plan.main.name}(", [name for name, _ in passed], ")", 8, ".launch("),
        "kernel_signature": bracketed(f"def {plan.main.name}(", [f"{name}: {kind}" for name, kind in passed], "):"),
    }  # fmt: skip


def _operand(plan: Plan, name: str) -> dict[str, Any]:
    """Return how an operand lies in memory, and what a thread reads of it."""
    mode = "M" if name == "a" else "N"
    major = plan.kernel[name]["major"]
    along_k = major == "k"
    swizzle = next(buffer.swizzle for buffer in plan.main.buffers if buffer.name == name)
    return {
        "name": name,
        "mode": mode,
        "first": "row" if name == "a" else "column",
        "index": "i" if name == "a" else "j",
        "line": "row" if name == "a" else "column",
        "lines": "rows" if name == "a" else "columns",
        "view": "view_along_k" if along_k else "view",
        "value": f"{name}_values[{'k % VECTOR, ' if along_k else ''}{'i' if name == 'a' else 'j'}]",
        "tile": f"{mode.lower()}_tile",
        "contiguous": major.upper(),
        "along_k": along_k,
        "swizzled": swizzle != "none",
        "atom": _ATOMS.get(swizzle, ""),
        "name_of_view": "mkl" if name == "a" else "nkl",
        "modes": "1, 2, 0" if name == "a" else "2, 1, 0",
        "extent": mode.lower(),
    }


def _first(design: SgemmDesign, a_along_k: bool, b_along_k: bool) -> dict[str, str]:
    """Return where a thread's rows and columns begin in a tile, from its warp and its place in it."""
    m, n = design.warps_m > 1, design.warps_n > 1
    row = "lane_m" if a_along_k else "lane_m * VECTOR"
    column = "lane_n" if b_along_k else "lane_n * VECTOR"
    if m:
        row = f"{'warp_idx % WARPS_M' if n else 'warp_idx'} * (LANES_M * THREAD_M) + {row}"
    if n:
        column = f"{'warp_idx // WARPS_M' if m else 'warp_idx'} * (LANES_N * THREAD_N) + {column}"
    return {"row": row, "column": column}


def _order(a_along_k: bool, b_along_k: bool) -> str:
    """Return the order of the accumulators' modes, rows before columns, in which N is contiguous."""
    columns = "0" if b_along_k else "(0, 1)"
    last = 1 if b_along_k else 2
    return f"({last if a_along_k else f'({last}, {last + 1})'}, {columns})"


def _smem_order(a_along_k: bool, b_along_k: bool) -> str:
    """Return in words which modes are contiguous in shared memory."""
    if a_along_k == b_along_k:
        return "K is contiguous" if a_along_k else "M and N are contiguous"
    return f"{'K' if a_along_k else 'M'} is contiguous in A, {'K' if b_along_k else 'N'} in B"
