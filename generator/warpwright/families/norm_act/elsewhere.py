"""What other tools call the fields of a normalisation, and what of theirs is not offered."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ELSEWHERE", "KNOWN_AS"]

KNOWN_AS = ("layernorm", "layer_norm", "rmsnorm", "rms_norm", "norm", "normalise", "normalize", "ln_gelu", "batchnorm")

_EXTENT = "rows and columns are `m` and `n` of a problem, in bench.problems and validate.problems"

ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("m", "n", "rows", "batch", "hidden_size", "normalized_shape", "k", "l"), _EXTENT),
    **dict.fromkeys(("num_stages", "n_stages", "pipeline_stages", "stage_count", "depth"), "design.stages"),
    **dict.fromkeys(("block_size", "block", "block_n", "tile", "tile_n", "width", "max_columns"), "design.columns"),
    **dict.fromkeys(("num_warps", "warps", "consumer_warps", "num_consumer_warps"), "design.warps_per_row"),
    **dict.fromkeys(("num_producer_warps", "load_warps", "producers"), "design.producer_warps"),
    **dict.fromkeys(("occupancy", "blocks_per_sm", "min_blocks", "ctas", "num_ctas"), "design.ctas_per_sm"),
    **dict.fromkeys(
        ("cluster", "cluster_n", "cluster_size", "cluster_shape", "ctas_per_cluster"), "design.ctas_per_row"
    ),
    **dict.fromkeys(("warp_specialize", "warp_specialized", "warp_specialization", "mode"), "design.specialise"),
    **dict.fromkeys(("vector_width", "vec_size", "alignment", "vectorization"), "design.access_bytes"),
    **dict.fromkeys(("rows_per_block", "rows_per_cta", "consumers"), "design.groups"),
    **dict.fromkeys(("x_dtype", "in_dtype", "input_dtype", "src_dtype", "input"), "kernel.x.dtype"),
    **dict.fromkeys(("y_dtype", "out_dtype", "output_dtype", "dst_dtype", "output", "d"), "kernel.y.dtype"),
    **dict.fromkeys(("epsilon", "variance_epsilon", "layer_norm_eps"), "kernel.eps"),
    **dict.fromkeys(("gamma", "scale", "elementwise_affine"), "kernel.weight"),
    **dict.fromkeys(("beta", "shift"), "kernel.bias"),
    **dict.fromkeys(("act", "activation_fn", "hidden_act", "epilogue", "nonlinearity"), "kernel.activation"),
    **dict.fromkeys(("accumulator", "compute_dtype", "stats_dtype"), "statistics are in f32, always"),
}
