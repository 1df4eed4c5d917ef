"""Words that the GEMM templates of every arch share: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.dtypes import SCALED, dtype, element
from warpwright.families.gemm.parts.chain import Step, steps
from warpwright.families.products.tiles import Tiled, counted_as
from warpwright.plan.source import bracketed
from warpwright.plan.types import Argument, Plan, Swizzle

__all__ = ["VIEWS", "boxes", "common", "guard"]

#: What a tensor map is made of, on the host.
VIEWS = {"a": "a_mkl", "b": "b_nkl", "sfa": "sfa_pairs", "sfb": "sfb_pairs", "c": "c_mnl", "d": "d_whole"}
_SWIZZLE_WORDS: dict[Swizzle, str] = {
    "none": "INTER", "32B": "SW32", "64B": "SW64", "128B": "SW128", "128B/32B": "SW128_32B",
}  # fmt: skip


def common(plan: Plan, shapes: Mapping[str, Sequence[str]], marks: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the templates of every arch are given alike.

    shapes: of the tensors in shared memory, as the source writes them. marks: arguments of an instrumented twin.
    """
    kernel, design = plan.kernel, plan.design
    chain = steps(tuple((each["op"], each["dtype"]) for each in kernel["epilogue"]))
    operands = [operand for each in chain for operand in each.arguments]
    c_argument = next((name for operand, name in operands if operand.kind == "tile"), "")
    matrices = ("a", "b", "c", "d") if c_argument else ("a", "b", "d")
    majors = {name: kernel[name]["major"] for name in matrices}
    in_shared = [name for name in matrices if name != "d" or design.store == "tma"]
    scaled = SCALED.get(kernel["a"]["dtype"])
    moved = ["a", "b", *(["sfa", "sfb"] if scaled else []), *in_shared[2:]]
    names = {constant.name for constant in plan.constants}
    passed = kernel_arguments(design, chain, moved, marks)
    return {
        "title": _title(plan.arch, kernel),
        "formula": f"D = {formula(chain)}",
        "design": design,
        "names": names,
        "types": {name: element(kernel[name]["dtype"]) for name in matrices},
        "has_c": bool(c_argument),
        "c_argument": c_argument,
        "c_guard": next((found for each in chain if (found := guard(each))), ""),
        "steps": [step(each) for each in chain],
        "has_vectors": any(operand.kind.startswith("vector") for operand, _ in operands),
        "has_vectors_m": any(operand.kind == "vector_m" for operand, _ in operands),
        "stores_by_tma": design.store == "tma",
        "edge": edge(majors["d"]),
        "contiguous": listed([majors[name].upper() for name in matrices]),
        "layouts": [_layout(plan, name, majors[name], shapes[name]) for name in in_shared],
        "mapped": [VIEWS[name] for name in moved],
        "scaled": scaled,
        "least_depth": max(1, 8 // element(kernel["a"]["dtype"]).bits),
        "majors": {name: "K" if majors[name] == "k" else "MN" for name in ("a", "b")},
        "signature": bracketed(f"def {plan.entry}(", [*map(parameter, plan.arguments), "stream"], "):"),
        "launched": bracketed(f"{plan.main.name}(", [value for value, _, _ in passed], ")", 8, ".launch("),
        "kernel_signature": bracketed(f"def {plan.main.name}(", [f"{name}: {kind}" for _, name, kind in passed], "):"),
        "across": "SUBTILES_N" in names,
        "clustered": design.cluster_m * design.cluster_n > 1,
    }


def _title(arch: str, kernel: Mapping[str, Any]) -> str:
    operands = " and ".join(dict.fromkeys(kernel[name]["dtype"] for name in "ab"))
    return f"GEMM for {arch}: {operands} in, {kernel['accumulator']} accumulate, {kernel['d']['dtype']} out."


def _layout(plan: Plan, name: str, major: str, shape: Sequence[str]) -> dict[str, str]:
    # The DSL's atoms are named for MMA operands; for C and D, n plays the part of k.
    inner = major in ("k", "n") if name in ("c", "d") else major == "k"
    swizzle = next(buffer.swizzle for buffer in plan.main.buffers if buffer.name == name)
    return {
        "name": name,
        "kind": f"{'K' if inner else 'MN'}_{_SWIZZLE_WORDS[swizzle]}",
        "type": element(plan.kernel[name]["dtype"]).dsl,
        "shape": f"({', '.join(shape)})",
        # Blocks of the swizzle's width lie behind one another, so that one TMA box fills each.
        "order": "(0, 1, 2)" if inner else "(1, 0, 2)",
    }


def listed(words: Sequence[str]) -> str:
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


def boxes(name: str, major: str, names: set[str], rows: str, tile: str) -> dict[str, Any]:
    """Return which box of A or B the producer asks for: a whole stage, or in a loop what it consists of.

    `rows` of a stage, and the number of the tile along them, as the source writes it.
    """
    many = f"{name.upper()}_BOXES"
    if many not in names:
        return {"looped": False, "shape": f"({rows}, TILE_K)", "index": f"{tile}, k_tile"}
    if major == "k":
        return {
            "looped": True, "shape": f"({rows}, TILE_K // {many})", "at": "(0, None, None)",
            "index": f"{tile}, k_tile * {many} + i",
        }  # fmt: skip
    tile = f"({tile})" if " " in tile else tile
    return {
        "looped": True, "shape": f"({rows} // {many}, TILE_K)", "at": "(None, 0, None)",
        "index": f"{tile} * {many} + i, k_tile",
    }  # fmt: skip


def edge(major: str) -> dict[str, Any]:
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


def parameter(a: Argument) -> str:
    return f"{a.name}: {dtype(a.dtype).dsl if a.kind == 'scalar' else 'cute.Tensor'}"


def guard(step: Step) -> str:
    """Return the argument that switches a step off where it is zero, "" where nothing does."""
    names = {operand.name: argument for operand, argument in step.arguments}
    return next((names[o.skip_if_zero] for o, _ in step.arguments if o.kind == "tile" and o.skip_if_zero), "")


def kernel_arguments(
    design: Tiled, chain: Sequence[Step], in_shared: Sequence[str], marks: Sequence[str]
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


def step(step: Step) -> dict[str, Any]:
    operands = [{"kind": o.kind, "local": o.name, "argument": argument} for o, argument in step.arguments]
    # A sum or a product says itself what it computes.
    named = not re.fullmatch(r"x = [\w .*+-]+", step.op.code.strip())
    return {"op": step.op, "named": named, "scratch": step.scratch, "guard": guard(step), "operands": operands}
