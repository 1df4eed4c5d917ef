"""What other tools call the fields of an SGEMM, and what of theirs is not offered."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ELSEWHERE", "KNOWN_AS", "VALUES"]

KNOWN_AS = ("fp32_gemm", "f32_gemm", "gemm_fp32", "gemm_f32", "simt_gemm", "ffma_gemm", "sgemm_sm90", "sgemm_bias_relu")

_BATCH = "the batch is `l` of a problem, in bench.problems and validate.problems"
_EXTENT = "extents belong to a problem, in bench.problems and validate.problems"
_SPLIT = "split-K is not offered: a CTA computes its tile over all of K"
_TILE = "a tile has warps x lanes x thread rows and columns: design.warps, design.lanes_m and design.thread"
_F32 = "A, B and D are f32, and so is every sum: other dtypes are the family gemm's"
_SCALARS = "there is no alpha and no beta: D = activation(A B + bias)"

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("batch", "batches", "batch_size", "batch_count", "num_batches", "l"), _BATCH),
    **dict.fromkeys(("size", "extent", "extents", "problem_size", "problem_shape"), _EXTENT),
    **dict.fromkeys(("split_k", "splitk", "splits", "split_k_slices", "num_splits", "stream_k"), _SPLIT),
    **dict.fromkeys(("num_stages", "n_stages", "pipeline_stages", "stage_count", "depth", "buffers"), "design.stages"),
    **dict.fromkeys(
        ("tile", "tile_shape", "cta_tile", "block", "block_m", "block_n", "bm", "bn", "tile_m", "tile_n"), _TILE
    ),
    **dict.fromkeys(("block_k", "block_size_k", "bk", "cta_k"), "design.tile_k"),
    **dict.fromkeys(("thread_tile", "tm", "tn", "thread_m", "thread_n", "per_thread"), "design.thread"),
    **dict.fromkeys(("num_warps", "consumer_warps", "math_warps", "consumers", "warps_m", "warps_n"), "design.warps"),
    **dict.fromkeys(("num_producer_warps", "load_warps", "dma_warps", "producers"), "design.producer_warps"),
    **dict.fromkeys(("warp_specialized", "warp_specialization", "warp_specialised", "specialize"), "design.specialise"),
    **dict.fromkeys(("lanes", "lanes_n", "lane_layout", "warp_layout"), "design.lanes_m"),
    **dict.fromkeys(("k_unroll", "unroll_k", "unroll_factor", "k_block"), "design.unroll"),
    **dict.fromkeys(("maxnreg", "max_registers", "setmaxnreg", "regs", "num_registers"), "design.registers"),
    **dict.fromkeys(("occupancy", "blocks_per_sm", "min_blocks", "ctas", "num_ctas"), "design.ctas_per_sm"),
    **dict.fromkeys(("group_m", "group_size_m", "group_size", "swizzle_size"), "design.group"),
    **dict.fromkeys(("raster_order", "raster_along", "rasterization"), "design.raster"),
    **dict.fromkeys(("act", "epilogue", "epilogue_op", "fusion", "relu"), "kernel.activation"),
    **dict.fromkeys(("bias_n", "has_bias", "use_bias"), "kernel.bias"),
    **dict.fromkeys(("alpha", "beta"), _SCALARS),
    **dict.fromkeys(("trans_a", "transpose_a", "a_layout", "layout_a", "a_major"), "kernel.a.major"),
    **dict.fromkeys(("trans_b", "transpose_b", "b_layout", "layout_b", "b_major"), "kernel.b.major"),
    **dict.fromkeys(("d", "d_layout", "c_layout", "d_major", "c_major"), "D is contiguous along N"),
    **dict.fromkeys(("dtype", "a_dtype", "b_dtype", "d_dtype", "accumulator", "acc", "compute_type", "tf32"), _F32),
    **dict.fromkeys(("cluster", "cluster_shape", "multicast"), "clusters are not offered: L2 has bandwidth to spare"),
}

_MAJOR = "it names the contiguous mode: row-major A is k, B is n; column-major A is m, B is k"

VALUES: Mapping[str, Mapping[str, str]] = {
    "major": dict.fromkeys(
        ("row", "col", "column", "row_major", "col_major", "column_major", "rowmajor", "colmajor"), _MAJOR
    ),
}
