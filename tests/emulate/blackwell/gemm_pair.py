"""The GEMM of gemm.py by pairs of CTAs: one MMA computes 256 x 128, of which each CTA keeps 128 rows.

Each CTA loads its rows of A and half of the columns of B; the MMA warp of the leader, the CTA of rank 0, issues for
both. Warps 0..3 are the epilogue, warp 4 issues the MMAs, warp 5 the TMA loads. Two
accumulators of 128 columns lie in tensor memory, so that the next tile is computed while one is stored.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float16, Float32, Int32, Int64
from cutlass._mlir.dialects import nvvm
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState

TILE = 128  # rows of a CTA, and columns
PAIR_TILE = 2 * TILE  # rows
TILE_K = 64
STAGES = 3
ACCUMULATORS = 2
COLUMNS = 256  # of tensor memory
STAGE_BYTES = 2 * (TILE + TILE // 2) * TILE_K * 2  # of both CTAs: their loads signal the leader
MMA_WARP, TMA_WARP = 4, 5
BOTH = 0b11  # CTAs that a commit arrives at
THREADS = 192
PART = 32  # columns that an epilogue thread holds at a time


@cute.struct
class Storage:
    a: cute.struct.Align[cute.struct.MemRange[Float16, TILE * TILE_K * STAGES], 1024]
    b: cute.struct.Align[cute.struct.MemRange[Float16, TILE // 2 * TILE_K * STAGES], 1024]
    full: cute.struct.MemRange[Int64, STAGES]
    empty: cute.struct.MemRange[Int64, STAGES]
    computed: cute.struct.MemRange[Int64, ACCUMULATORS]
    stored: cute.struct.MemRange[Int64, ACCUMULATORS]
    tensor_memory: Int32


def make_mma():
    majors = OperandMajorMode.K, OperandMajorMode.K
    shape = PAIR_TILE, TILE, 16
    op = tcgen05.MmaF16BF16Op(Float16, Float32, shape, tcgen05.CtaGroup.TWO, tcgen05.OperandSource.SMEM, *majors)
    return cute.make_tiled_mma(cute.make_mma_atom(op))


def operand_layout(shape, stages):
    """(MMA, M or N, K, stage) of a CTA's share."""
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, Float16)
    return tcgen05.tile_to_mma_shape(atom, cute.append(shape, stages), order=(1, 2, 3))


def a_layout(mma, stages):
    return operand_layout(mma.partition_shape_A((PAIR_TILE, TILE_K)), stages)


def b_layout(mma, stages):
    return operand_layout(mma.partition_shape_B((TILE, TILE_K)), stages)


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, d: cute.Tensor, blocks: Int32, stream):
    """A (M, K), B (N, K), D (M, N), each contiguous along its last mode; `blocks` pairs at most."""
    mma = make_mma()
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.TWO)
    stage = None, None, None, 0
    tiler, cluster = (PAIR_TILE, TILE, TILE_K), (2, 1, 1, 1)
    a_tma, a_tiles = cute.nvgpu.make_tiled_tma_atom_A(
        load, a, cute.slice_(a_layout(mma, 1), stage), tiler, mma, cluster
    )
    b_tma, b_tiles = cute.nvgpu.make_tiled_tma_atom_B(
        load, b, cute.slice_(b_layout(mma, 1), stage), tiler, mma, cluster
    )
    tiles_m, tiles_n = cute.ceil_div(d.shape[0], PAIR_TILE), cute.ceil_div(d.shape[1], TILE)
    kernel(a_tma, a_tiles, b_tma, b_tiles, d, tiles_m, tiles_n, cute.ceil_div(a.shape[1], TILE_K)).launch(
        grid=(2 * cutlass.min(blocks, tiles_m * tiles_n), 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1), stream=stream
    )


@cute.kernel
def kernel(
    a_tma: cute.CopyAtom, a_tiles: cute.Tensor, b_tma: cute.CopyAtom, b_tiles: cute.Tensor, d: cute.Tensor,
    tiles_m: Int32, tiles_n: Int32, k_tiles: Int32,
):  # fmt: skip
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    storage = SmemAllocator().allocate(Storage)
    full, empty = storage.full.data_ptr(), storage.empty.data_ptr()
    computed, stored = storage.computed.data_ptr(), storage.stored.data_ptr()
    mma = make_mma()
    a_smem = storage.a.get_tensor(a_layout(mma, STAGES).outer, swizzle=a_layout(mma, STAGES).inner)
    b_smem = storage.b.get_tensor(b_layout(mma, STAGES).outer, swizzle=b_layout(mma, STAGES).inner)
    rank = block % 2

    if warp == 0:
        with cute.arch.elect_one():
            for i in cutlass.range_constexpr(STAGES):
                cute.arch.mbarrier_init(full + i, 1)
                cute.arch.mbarrier_init(empty + i, 1)
            for i in cutlass.range_constexpr(ACCUMULATORS):
                cute.arch.mbarrier_init(computed + i, 1)
                cute.arch.mbarrier_init(stored + i, 8)  # of the leader: the epilogue warps of both
        cute.arch.mbarrier_init_fence()
    if warp == MMA_WARP:
        cute.arch.alloc_tmem(COLUMNS, storage.tensor_memory.ptr, is_two_cta=True)
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    base = cute.arch.retrieve_tmem_ptr(Float32, 16, storage.tensor_memory.ptr)
    shape = cute.append(mma.partition_shape_C((PAIR_TILE, TILE)), ACCUMULATORS)
    accumulators = cute.make_tensor(base, mma.make_fragment_C(shape).layout)  # (MMA, 1, 1, ACCUMULATORS)

    tiles = tiles_m * tiles_n
    tile = block // 2
    if warp == TMA_WARP:
        mine = mma.get_slice(rank)
        a_parts = mine.partition_A(cute.local_tile(a_tiles, (PAIR_TILE, TILE_K), (None, None)))
        b_parts = mine.partition_B(cute.local_tile(b_tiles, (TILE, TILE_K), (None, None)))
        one = cute.make_layout(1)
        a_boxes, b_boxes = cute.group_modes(a_parts, 0, 3), cute.group_modes(b_parts, 0, 3)
        a_to, a_from = cpasync.tma_partition(a_tma, 0, one, cute.group_modes(a_smem, 0, 3), a_boxes)
        b_to, b_from = cpasync.tma_partition(b_tma, 0, one, cute.group_modes(b_smem, 0, 3), b_boxes)
        fill = PipelineState(STAGES, count=Int32(0), index=Int32(0), phase=Int32(1))
        while tile < tiles:
            for k in cutlass.range(k_tiles, unroll=1):
                cute.arch.mbarrier_wait(empty + fill.index, fill.phase)
                bar = full + fill.index
                if rank == 0:
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive_and_expect_tx(bar, STAGE_BYTES)
                cute.copy(a_tma, a_from[None, tile % tiles_m, k], a_to[None, fill.index], tma_bar_ptr=bar)
                cute.copy(b_tma, b_from[None, tile // tiles_m, k], b_to[None, fill.index], tma_bar_ptr=bar)
                fill.advance()
            tile += blocks // 2
        # The leader's commits still arrive here: leave only when every stage has been given back.
        for _ in cutlass.range(STAGES, unroll=1):
            cute.arch.mbarrier_wait(empty + fill.index, fill.phase)
            fill.advance()
    elif warp == MMA_WARP and rank == 0:
        a_operand, b_operand = mma.make_fragment_A(a_smem), mma.make_fragment_B(b_smem)
        read = PipelineState(STAGES, count=Int32(0), index=Int32(0), phase=Int32(0))
        into = PipelineState(ACCUMULATORS, count=Int32(0), index=Int32(0), phase=Int32(1))
        while tile < tiles:
            cute.arch.mbarrier_wait(stored + into.index, into.phase)
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
            accumulator = accumulators[None, None, None, into.index]
            for k in cutlass.range(k_tiles, unroll=1):
                cute.arch.mbarrier_wait(full + read.index, read.phase)
                for i in cutlass.range_constexpr(TILE_K // 16):
                    mma.set(tcgen05.Field.ACCUMULATE, k > 0 if i == 0 else True)
                    a_part, b_part = a_operand[None, None, i, read.index], b_operand[None, None, i, read.index]
                    cute.gemm(mma, accumulator, a_part, b_part, accumulator)
                with cute.arch.elect_one():
                    tcgen05.commit(empty + read.index, BOTH, tcgen05.CtaGroup.TWO)
                read.advance()
            with cute.arch.elect_one():
                tcgen05.commit(computed + into.index, BOTH, tcgen05.CtaGroup.TWO)
            into.advance()
            tile += blocks // 2
    elif warp < MMA_WARP:
        part = cute.flat_divide(accumulators[((None, None), 0, 0, None)], (TILE, PART))  # (128, 32, 1, 4, ACCUMULATORS)
        atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), Float32)
        copy = tcgen05.make_tmem_copy(atom, part[None, None, 0, 0, 0])
        mine = copy.get_slice(thread)
        source = mine.partition_S(part)
        held = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((TILE, PART))).shape, Float32)
        read = PipelineState(ACCUMULATORS, count=Int32(0), index=Int32(0), phase=Int32(0))
        while tile < tiles:
            cute.arch.mbarrier_wait(computed + read.index, read.phase)
            nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
            row = (tile % tiles_m * 2 + rank) * TILE + thread
            for j in cutlass.range_constexpr(TILE // PART):
                cute.copy(copy, source[None, None, None, 0, j, read.index], held)
                cute.arch.fence_view_async_tmem_load()
                if j == TILE // PART - 1:
                    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive(stored + read.index, 0)
                first = tile // tiles_m * TILE + j * PART
                for i in cutlass.range_constexpr(PART):
                    if row < d.shape[0] and first + i < d.shape[1]:
                        d[row, first + i] = held[i].to(Float16)
            read.advance()
            tile += blocks // 2

    # Tensor memory may be freed, and a CTA end, when no one of the pair uses it any more.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if warp == MMA_WARP:
        cute.arch.dealloc_tmem(base, COLUMNS, is_two_cta=True)


def compile_arguments():
    m, n, k = (cute.sym_int() for _ in range(3))

    def tensor(rows, columns):
        stride = cute.sym_int64(divisibility=8), 1
        return cute.runtime.make_fake_tensor(Float16, (rows, columns), stride, assumed_align=16)

    stream = cute.runtime.make_fake_stream(use_tvm_ffi_env_stream=True)
    return tensor(m, k), tensor(n, k), tensor(m, n), Int32(1), stream
