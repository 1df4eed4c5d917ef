"""What other tools call the fields of a copy, and what of theirs is not offered."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ELSEWHERE", "KNOWN_AS"]

KNOWN_AS = ("memcpy", "cast", "scale", "elementwise", "copy_cast", "convert", "axpy")

_EXTENT = "the length is `n` of a problem, in bench.problems and validate.problems"

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("n", "size", "length", "elements", "numel", "m", "k", "l", "batch"), _EXTENT),
    **dict.fromkeys(("num_stages", "n_stages", "pipeline_stages", "stage_count", "depth"), "design.stages"),
    **dict.fromkeys(
        ("tile", "block", "block_size", "chunk", "chunk_bytes", "bytes", "stage_size"), "design.stage_bytes"
    ),
    **dict.fromkeys(("num_warps", "warps", "num_consumer_warps", "consumers"), "design.consumer_warps"),
    **dict.fromkeys(("num_producer_warps", "load_warps", "producers"), "design.producer_warps"),
    **dict.fromkeys(("occupancy", "blocks_per_sm", "min_blocks", "ctas", "num_ctas"), "design.ctas_per_sm"),
    **dict.fromkeys(("tma_store", "use_tma_store"), "design.store"),
    **dict.fromkeys(("x_dtype", "in_dtype", "input_dtype", "src_dtype", "src", "source", "a"), "kernel.x.dtype"),
    **dict.fromkeys(("y_dtype", "out_dtype", "output_dtype", "dst_dtype", "dst", "d"), "kernel.y.dtype"),
    "alpha": "alpha is an argument of every call",
}
