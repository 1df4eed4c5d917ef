"""A small warp-specialised product D = A B^T: one producer warp, one consumer warpgroup, cluster of two CTAs."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor
from cutlass.cute.typing import Float16, Float32, Int32, Int64

TILE_M, TILE_N, TILE_K = 64, 64, 64
STAGES = 2
CLUSTER_M = 2
STAGE_BYTES = 2 * TILE_K * (TILE_M + TILE_N)
THREADS = 256


@cute.kernel
def kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    tma_d: cute.CopyAtom,
    d: cute.Tensor,
    mma: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    layout_d: cute.ComposedLayout,
):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    thread, _, _ = cute.arch.thread_idx()
    tile_m, tile_n, _ = cute.arch.block_idx()
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())

    smem = cutlass.memory.SmemAllocator()
    s_a = smem.allocate_tensor(Float16, layout_a.outer, 1024, swizzle=layout_a.inner)
    s_b = smem.allocate_tensor(Float16, layout_b.outer, 1024, swizzle=layout_b.inner)
    s_d = smem.allocate_tensor(Float16, layout_d.outer, 1024, swizzle=layout_d.inner)
    full = smem.allocate_array(Int64, STAGES, byte_alignment=8)
    empty = smem.allocate_array(Int64, STAGES, byte_alignment=8)

    if warp == 0:
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(STAGES):
                cute.arch.mbarrier_init(full + stage, 1)
                cute.arch.mbarrier_init(empty + stage, CLUSTER_M)
        cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()

    g_a = cute.local_tile(a, (TILE_M, TILE_K), (tile_m, None))
    g_b = cute.local_tile(b, (TILE_N, TILE_K), (tile_n, None))
    g_d = cute.local_tile(d, (TILE_M, TILE_N), (tile_m, tile_n))
    t_sa, t_ga = cpasync.tma_partition(
        tma_a, 0, cute.make_layout(1), cute.group_modes(s_a, 0, 2), cute.group_modes(g_a, 0, 2)
    )
    t_sb, t_gb = cpasync.tma_partition(
        tma_b, rank, cute.make_layout(CLUSTER_M), cute.group_modes(s_b, 0, 2), cute.group_modes(g_b, 0, 2)
    )
    k_tiles = cute.size(g_a, mode=[2])

    if warp >= 4:
        cute.arch.setmaxregister_decrease(40)
        if warp == 4:
            stage = Int32(0)
            phase = Int32(1)
            for k in cutlass.range(k_tiles, unroll=1):
                cute.arch.mbarrier_wait(empty + stage, phase)
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full + stage, STAGE_BYTES)
                cute.copy(tma_a, t_ga[None, k], t_sa[None, stage], tma_bar_ptr=full + stage)
                cute.copy(
                    tma_b, t_gb[None, k], t_sb[None, stage], tma_bar_ptr=full + stage, mcast_mask=cutlass.Int16(3)
                )
                stage = stage + 1
                if stage == STAGES:
                    stage = Int32(0)
                    phase = phase ^ 1
    else:
        cute.arch.setmaxregister_increase(232)
        slice_mma = mma.get_slice(thread)
        acc = cute.make_rmem_tensor(mma.partition_shape_C((TILE_M, TILE_N)), Float32)
        f_a = mma.make_fragment_A(slice_mma.partition_A(s_a))
        f_b = mma.make_fragment_B(slice_mma.partition_B(s_b))
        mma.set(warpgroup.Field.ACCUMULATE, False)
        stage = Int32(0)
        phase = Int32(0)
        acc.fill(0.0)
        mma.set(warpgroup.Field.ACCUMULATE, True)
        for _ in cutlass.range(k_tiles, unroll=1):
            cute.arch.mbarrier_wait(full + stage, phase)
            warpgroup.fence()
            for block in cutlass.range_constexpr(TILE_K // 16):
                cute.gemm(mma, acc, f_a[None, None, block, stage], f_b[None, None, block, stage], acc)
            warpgroup.commit_group()
            warpgroup.wait_group(0)
            if thread < CLUSTER_M:
                cute.arch.mbarrier_arrive(empty + stage, thread)
            stage = stage + 1
            if stage == STAGES:
                stage = Int32(0)
                phase = phase ^ 1
        out = cute.make_rmem_tensor(acc.shape, Float16)
        out.store(acc.load().to(Float16))
        cute.autovec_copy(out, slice_mma.partition_C(s_d))
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=1, number_of_threads=128)
        if warp == 0:
            t_sd, t_gd = cpasync.tma_partition(
                tma_d, 0, cute.make_layout(1), cute.group_modes(s_d, 0, 2), cute.group_modes(g_d, 0, 2)
            )
            cute.copy(tma_d, t_sd, t_gd)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, max_clusters: Int32, stream):
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, Float16)
    layout_a = cute.tile_to_shape(atom, (TILE_M, TILE_K, STAGES), order=(0, 1, 2))
    layout_b = cute.tile_to_shape(atom, (TILE_N, TILE_K, STAGES), order=(0, 1, 2))
    layout_d = cute.tile_to_shape(atom, (TILE_M, TILE_N), order=(0, 1))
    tma_a, view_a = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, cute.slice_(layout_a, (None, None, 0)), (TILE_M, TILE_K)
    )
    tma_b, view_b = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(),
        b,
        cute.slice_(layout_b, (None, None, 0)),
        (TILE_N, TILE_K),
        num_multicast=CLUSTER_M,
    )
    tma_d, view_d = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), d, layout_d, (TILE_M, TILE_N))
    op = warpgroup.MmaF16BF16Op(
        Float16, Float32, (64, TILE_N, 16), warpgroup.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K
    )
    mma = cute.make_tiled_mma(cute.make_mma_atom(op), (1, 1, 1))
    grid = (cute.round_up(cute.ceil_div(d.shape[0], TILE_M), CLUSTER_M), cute.ceil_div(d.shape[1], TILE_N), 1)
    kernel(tma_a, view_a, tma_b, view_b, tma_d, view_d, mma, layout_a, layout_b, layout_d).launch(
        grid=grid, block=(THREADS, 1, 1), cluster=(CLUSTER_M, 1, 1), stream=stream, min_blocks_per_mp=1
    )


def compile_arguments():
    m, n, k = cute.sym_int(), cute.sym_int(), cute.sym_int()

    def fake(rows, columns):
        return make_fake_tensor(Float16, (rows, columns), (cute.sym_int64(divisibility=8), 1), assumed_align=16)

    return fake(m, k), fake(n, k), fake(m, n), Int32(1), make_fake_stream(use_tvm_ffi_env_stream=True)


ENTRY = gemm
