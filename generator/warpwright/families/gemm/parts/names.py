"""Names that the rendered kernels bind: an operand or a temporary of such a name would change the kernel around it."""

from __future__ import annotations

import re

__all__ = ["TAKEN"]

#: As tests/epilogue/test_registry.py finds them in kernels of every kind.
TAKEN = frozenset(
    re.findall(
        r"\w+",
        """
        a a_block a_box a_boxes a_dst a_layout a_mask a_mkl a_operand a_part a_smem a_src a_stage a_tma ab_empty ab_full
        accumulated accumulator accumulators alignment answer ask_state b b_block b_box b_boxes b_dst b_layout b_mask
        b_nkl b_operand b_part b_smem b_src b_stage b_tma band barrier base batch batches block_x blocks_of blocks_x
        both box boxes broadcast c_atom c_consumer_state c_dst c_empty c_full c_layout c_mnl c_producer_state c_s2r
        c_s2r_dst c_s2r_src c_slot c_smem c_src c_tma c_values cluster_tile cluster_tiles clusters column columns
        columns_left consumed consumer consumer_state coordinates cpasync cta_m cta_n cute cutlass d d_atom d_dst
        d_elements d_layout d_mnl d_r2s d_r2s_dst d_r2s_src d_slot d_smem d_src d_subtile d_tma d_whole depth
        drain_state drained dtype e edge element extent fills first first_rows first_tile fit fits full gemm gemm_kernel
        given group i identity in_pair inside into_state is_store_warp j k k_tile k_tiles kind last layout load load_c
        loaded loaders m m_box m_clusters m_subtile m_tile m_tiles majors make_mma make_pipeline_state max_clusters mma
        mode modes most multicast n n_box n_clusters n_subtile n_tile n_tiles next_tile op operand order other out pairs
        parts peer per_batch place primitives producer_state ragged ready release_state releases responses row rows
        rows_left shape share shares slot smem smem_layout smem_layouts stage state step storage store store_edge stream
        stride strides_fit subtile subtile_mma subtile_shape subtiles sums sums_src taken tcgen05 tensor
        tensor_accumulators tensor_atom tensor_base tensor_load tensors thread thread_idx tile tile_count tile_of
        tile_ready tile_state tile_step tile_taken tiles tiles_mnl tma tma_partition tma_view turn usable values vector
        warp warp_idx warpgroup whole width within
        """,
    )
)
