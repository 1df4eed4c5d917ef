"""What other tools call the fields of the ladder, and what of theirs is not offered."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ELSEWHERE", "KNOWN_AS"]

KNOWN_AS = ("teaching", "tutorial", "steps", "gemm_ladder", "ladder_gemm", "worklog", "progression")

_EXTENT = "extents belong to a problem, in bench.problems and validate.problems"
_RUNG = "design.rung decides it; the family gemm has it as a choice of its own"

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("m", "n", "k", "l", "batch", "size", "problem_size"), _EXTENT),
    **dict.fromkeys(("step", "level", "version", "stage_of_ladder", "kernel_number", "mechanism"), "design.rung"),
    **dict.fromkeys(("num_stages", "n_stages", "pipeline_stages", "depth"), "design.stages"),
    **dict.fromkeys(("tile_shape", "cta_tile", "block", "mma_tiler"), "design.tile"),
    **dict.fromkeys(("block_m", "bm", "tile_m"), "design.tile.m"),
    **dict.fromkeys(("block_n", "bn", "tile_n"), "design.tile.n"),
    **dict.fromkeys(("block_k", "bk", "tile_k"), "design.tile.k"),
    **dict.fromkeys(("in_dtype", "input_dtype", "a", "b", "d", "element"), "kernel.dtype"),
    **dict.fromkeys(("cluster", "consumer_warps", "producer_warps", "schedule", "scheduler", "store"), _RUNG),
    "epilogue": "every rung computes relu(A B + bias); the family gemm has epilogues to choose from",
}
