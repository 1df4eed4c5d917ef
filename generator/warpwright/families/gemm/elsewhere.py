"""What other tools call the fields of a GEMM, and what of theirs is not offered."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ELSEWHERE", "KNOWN_AS", "VALUES"]

KNOWN_AS = (
    *(
        "matmul",
        "mm",
        "bmm",
        "batched_gemm",
        "batched_matmul",
        "linear",
        "dense",
        "hgemm",
        "gemm_bias",
        "gemm_epilogue",
    ),
    *("gemm_sm90", "gemm_sm90a", "warp_specialized_gemm", "ws_gemm"),
)

_BATCH = "the batch is `l` of a problem, in bench.problems and validate.problems"
_EXTENT = "extents belong to a problem, in bench.problems and validate.problems"
_SPLIT = "split-K and stream-K are not offered: a cluster computes its tile over all of K"
_SCALES = "scales follow from the dtype (mxf8_e4m3, mxf8_e5m2, mxf4, nvf4), and are arguments of every call"
_SCALARS = "an operation of kernel.epilogue, whose value is an argument of every call"

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("batch", "batches", "batch_size", "batch_count", "num_batches", "l"), _BATCH),
    **dict.fromkeys(("m", "n", "k", "size", "extent", "extents", "problem_size", "problem_shape"), _EXTENT),
    **dict.fromkeys(("split_k", "splitk", "splits", "split_k_slices", "num_splits", "stream_k", "streamk"), _SPLIT),
    **dict.fromkeys(
        ("num_stages", "n_stages", "pipeline_stages", "stage_count", "pipeline_depth", "depth"), "design.stages"
    ),
    **dict.fromkeys(("tile_shape", "tile_shape_mnk", "cta_tile", "block", "mma_tiler", "mma_tiler_mnk"), "design.tile"),
    **dict.fromkeys(("block_m", "block_size_m", "bm", "tile_m", "cta_m"), "design.tile.m"),
    **dict.fromkeys(("block_n", "block_size_n", "bn", "tile_n", "cta_n"), "design.tile.n"),
    **dict.fromkeys(("block_k", "block_size_k", "bk", "tile_k", "cta_k"), "design.tile.k"),
    **dict.fromkeys(
        ("cluster_shape", "cluster_shape_mn", "cluster_size", "cluster_dims", "clusters"), "design.cluster"
    ),
    "cluster_m": "design.cluster.m",
    "cluster_n": "design.cluster.n",
    **dict.fromkeys(("num_warps", "warps", "num_consumer_warps", "math_warps", "consumers"), "design.consumer_warps"),
    **dict.fromkeys(("num_producer_warps", "load_warps", "dma_warps", "producers"), "design.producer_warps"),
    **dict.fromkeys(("kernel_schedule", "mainloop_schedule", "mainloop", "pingpong", "cooperative"), "design.schedule"),
    **dict.fromkeys(
        ("warp_specialized", "warp_specialization", "warp_specialised"),
        "every kernel is warp-specialised: design.schedule says how",
    ),
    **dict.fromkeys(("maxnreg", "max_registers", "setmaxnreg", "regs", "num_registers"), "design.registers"),
    **dict.fromkeys(
        ("group_m", "group_size_m", "group_size", "swizzle_size", "max_swizzle_size"), "design.scheduler.group"
    ),
    **dict.fromkeys(("raster_order", "raster_along", "rasterization"), "design.scheduler.raster"),
    **dict.fromkeys(("persistent", "tile_scheduler", "is_persistent"), "design.scheduler.kind"),
    **dict.fromkeys(
        ("multicast", "use_multicast", "tma_multicast"),
        "CTAs of a cluster always share loads by multicast: design.cluster says which",
    ),
    **dict.fromkeys(("swizzle", "smem_swizzle", "swizzle_mode"), "the plan chooses the swizzle of shared memory"),
    "bias": "a bias is an operation of kernel.epilogue: bias_m or bias_n",
    **dict.fromkeys(("activation", "act", "epilogue_op", "fusion"), "kernel.epilogue"),
    **dict.fromkeys(("alpha", "beta"), _SCALARS),
    **dict.fromkeys(("sfa", "sfb", "sf", "scale", "scales", "a_scale", "b_scale", "scale_a", "scale_b"), _SCALES),
    **dict.fromkeys(("sf_dtype", "sf_vec_size", "scale_dtype", "block_size"), _SCALES),
    **dict.fromkeys(("two_cta", "use_2cta", "use_2cta_instrs", "cta_pair", "num_cta"), "design.cta_group"),
    **dict.fromkeys(("acc_stages", "num_acc_stage", "tmem_stages"), "design.accumulator_stages"),
    **dict.fromkeys(("trans_a", "transpose_a", "a_layout", "layout_a", "a_major"), "kernel.a.major"),
    **dict.fromkeys(("trans_b", "transpose_b", "b_layout", "layout_b", "b_major"), "kernel.b.major"),
    **dict.fromkeys(("d_layout", "c_layout", "layout_d", "d_major", "c_major"), "kernel.d.major"),
    **dict.fromkeys(("acc", "acc_dtype", "accumulator_dtype", "accum", "compute_type"), "kernel.accumulator"),
    **dict.fromkeys(("a_dtype", "ab_dtype", "in_dtype", "input_dtype"), "kernel.a.dtype"),
    "b_dtype": "kernel.b.dtype",
    "c_dtype": "kernel.c.dtype",
    **dict.fromkeys(("d_dtype", "out_dtype", "output_dtype"), "kernel.d.dtype"),
    **dict.fromkeys(("tma_store", "use_tma_store", "epilogue_store"), "design.store"),
    **dict.fromkeys(("epi_tile", "epilogue_tile", "epi_n", "epilogue_tile_n"), "design.epilogue_n"),
    **dict.fromkeys(("epi_stages", "epi_stage"), "design.epilogue_stages"),
}

_MAJOR = "it names the contiguous mode: row-major A is k, B and D are n; column-major A and D are m, B is k"

_FP8 = "fp8 is e4m3 or e5m2, with a scale per 32 elements mxf8_e4m3 or mxf8_e5m2, of A and B alone"
_FP4 = "fp4 has scales: mxf4 (a power of two per 32 elements) or nvf4 (an e4m3 per 16), of A and B alone"

VALUES: Mapping[str, Mapping[str, str]] = {
    "dtype": {
        **dict.fromkeys(("fp8", "f8", "float8", "mxfp8"), _FP8),
        **dict.fromkeys(("fp4", "f4", "float4", "float4_e2m1fn", "e2m1"), _FP4),
    },
    "major": dict.fromkeys(
        ("row", "col", "column", "row_major", "col_major", "column_major", "rowmajor", "colmajor"), _MAJOR
    ),
}
