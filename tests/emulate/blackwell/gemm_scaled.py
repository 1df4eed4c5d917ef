"""A small block-scaled GEMM for sm_100a, nvf4: what the emulator's scale factors and tcgen05.cp are tried on.

D = (A SFA) (B SFB)^T in f16 with f32 sums; elements are e2m1, and each 16 of them along K share a scale, ue4m3. One CTA
per tile of 128 x 128, one tile each. Warps 0..3 are the epilogue, warp 4 issues copies of scales and MMAs, warp 5 the
TMA loads. Each stage of shared memory has scales of its own in tensor memory: whoever copies the next ones there has
waited, through the barriers of the stage, until the MMAs that read the last ones are over.
"""

import cutlass
import cutlass.cute as cute
import cutlass.utils.blockscaled_layout as blockscaled
from cutlass import Float4E2M1FN, Float8E4M3FN, Float16, Float32, Int16, Int32, Int64, Uint8
from cutlass._mlir.dialects import nvvm
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState

TILE = 128  # rows and columns
TILE_K = 256  # 128 bytes
MMA_K = 64
BLOCK = 16  # elements that share a scale
STAGES = 3
COLUMNS = 256  # of tensor memory: sums, then the scales of A and B of each stage
SCALE_COLUMNS = 16  # of 128 rows and a stage's K: 32 lanes by four bytes each, four MMAs
STAGE_BYTES = 2 * (TILE * TILE_K // 2 + TILE * TILE_K // BLOCK)
MMA_WARP, TMA_WARP = 4, 5
THREADS = 192
PART = 32  # columns that an epilogue thread holds at a time


@cute.struct
class Storage:
    a: cute.struct.Align[cute.struct.MemRange[Uint8, TILE * TILE_K // 2 * STAGES], 1024]
    b: cute.struct.Align[cute.struct.MemRange[Uint8, TILE * TILE_K // 2 * STAGES], 1024]
    a_scales: cute.struct.Align[cute.struct.MemRange[Float8E4M3FN, TILE * TILE_K // BLOCK * STAGES], 128]
    b_scales: cute.struct.Align[cute.struct.MemRange[Float8E4M3FN, TILE * TILE_K // BLOCK * STAGES], 128]
    full: cute.struct.MemRange[Int64, STAGES]
    empty: cute.struct.MemRange[Int64, STAGES]
    computed: Int64
    tensor_memory: Int32


def make_mma():
    op = tcgen05.MmaMXF4NVF4Op(Float8E4M3FN, (TILE, TILE, MMA_K), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM)
    return cute.make_tiled_mma(op)


def operand_layout(mma, stages):
    """(MMA, M, K, stage), the same for A and B."""
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, Float4E2M1FN)
    shape = mma.partition_shape_A((TILE, TILE_K))
    return tcgen05.tile_to_mma_shape(atom, cute.append(shape, stages), order=(1, 2, 3))


def scale_layouts(mma, stages):
    tiler = TILE, TILE, TILE_K
    return (
        blockscaled.make_smem_layout_sfa(mma, tiler, BLOCK, stages),
        blockscaled.make_smem_layout_sfb(mma, tiler, BLOCK, stages),
    )


def elements(packed: cute.Tensor):
    """(rows, K, 1) of (rows, K / 2) bytes."""
    pointer = cute.recast_ptr(packed.iterator, dtype=Float4E2M1FN)
    rows, half = packed.shape
    k = cute.assume(half * 2, 32)
    return cute.make_tensor(pointer, cute.make_layout((rows, k, 1), stride=(k, 1, cute.assume(rows * k, 32))))


@cute.jit
def gemm(a: cute.Tensor, b: cute.Tensor, a_scales: cute.Tensor, b_scales: cute.Tensor, d: cute.Tensor, stream):
    """A (M, K / 2), B (N, K / 2) bytes of two elements; their scales in atoms of 512 bytes, whole ones; D (M, N)."""
    mma = make_mma()
    layout = cute.slice_(operand_layout(mma, 1), (None, None, None, 0))
    sfa_layout, sfb_layout = (cute.slice_(each, (None, None, None, 0)) for each in scale_layouts(mma, 1))
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    tiler = TILE, TILE, TILE_K
    cluster = cute.tiled_divide(cute.make_layout((1, 1, 1)), (mma.thr_id.shape,)).shape
    a4, b4 = elements(a), elements(b)
    a_sf, b_sf = (
        cute.make_tensor(scales.iterator, blockscaled.tile_atom_to_shape_SF(each.shape, BLOCK))
        for scales, each in ((a_scales, a4), (b_scales, b4))
    )
    a_tma, a_tiles = cute.nvgpu.make_tiled_tma_atom_A(load, a4, layout, tiler, mma, cluster)
    b_tma, b_tiles = cute.nvgpu.make_tiled_tma_atom_B(load, b4, layout, tiler, mma, cluster)
    sfa_tma, sfa_tiles = cute.nvgpu.make_tiled_tma_atom_A(
        load, a_sf, sfa_layout, tiler, mma, cluster, internal_type=Int16
    )
    sfb_tma, sfb_tiles = cute.nvgpu.make_tiled_tma_atom_B(
        load, b_sf, sfb_layout, tiler, mma, cluster, internal_type=Int16
    )
    tiles = cute.ceil_div(d.shape[0], TILE), cute.ceil_div(d.shape[1], TILE)
    kernel(
        a_tma, a_tiles, b_tma, b_tiles, sfa_tma, sfa_tiles, sfb_tma, sfb_tiles, d, cute.ceil_div(a4.shape[1], TILE_K)
    ).launch(grid=(*tiles, 1), block=(THREADS, 1, 1), cluster=(1, 1, 1), stream=stream)


def parts_of(tma, tiles, smem, partition):
    """(TMA, global tiles, stages) of one operand or its scales."""
    boxes = partition(cute.local_tile(tiles, (TILE, TILE_K), (None, None, None)))
    one, flat = cute.make_layout(1), cute.group_modes(boxes, 0, 3)
    to, source = cpasync.tma_partition(tma, 0, one, cute.group_modes(smem, 0, 3), flat)
    return tma, cute.filter_zeros(source), cute.filter_zeros(to)


def load_stage(parts, tiles, k, stage, bar):
    for (tma, source, to), tile in zip(parts, tiles, strict=True):
        cute.copy(tma, source[None, tile, k, 0], to[None, stage], tma_bar_ptr=bar)


def copy_scales(smem, tmem, stage):
    """tcgen05.cp of a stage's scales: 32 lanes by 16 bytes, to all four quarters."""
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), Float8E4M3FN)
    compact, target = cute.filter_zeros(smem), cute.filter_zeros(tmem)
    copy = tcgen05.make_s2t_copy(atom, target)
    mine = copy.get_slice(0)
    source = tcgen05.get_s2t_smem_desc_tensor(copy, mine.partition_S(compact))
    cute.copy(copy, source[None, None, None, None, stage], mine.partition_D(target))


@cute.kernel
def kernel(
    a_tma: cute.CopyAtom, a_tiles: cute.Tensor, b_tma: cute.CopyAtom, b_tiles: cute.Tensor, sfa_tma: cute.CopyAtom,
    sfa_tiles: cute.Tensor, sfb_tma: cute.CopyAtom, sfb_tiles: cute.Tensor, d: cute.Tensor, k_tiles: Int32,
):  # fmt: skip
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    thread, _, _ = cute.arch.thread_idx()
    tile_m, tile_n, _ = cute.arch.block_idx()
    storage = SmemAllocator().allocate(Storage)
    full, empty, computed = storage.full.data_ptr(), storage.empty.data_ptr(), storage.computed.ptr
    mma = make_mma()
    layout = operand_layout(mma, STAGES)
    sfa_layout, sfb_layout = scale_layouts(mma, STAGES)
    a_smem, b_smem = (
        cute.make_tensor(cute.recast_ptr(part.data_ptr(), layout.inner, dtype=Float4E2M1FN), layout.outer)
        for part in (storage.a, storage.b)
    )
    sfa_smem, sfb_smem = storage.a_scales.get_tensor(sfa_layout), storage.b_scales.get_tensor(sfb_layout)

    if warp == 0:
        with cute.arch.elect_one():
            for i in cutlass.range_constexpr(STAGES):
                cute.arch.mbarrier_init(full + i, 1)
                cute.arch.mbarrier_init(empty + i, 1)
            cute.arch.mbarrier_init(computed, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.alloc_tmem(COLUMNS, storage.tensor_memory.ptr)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    base = cute.arch.retrieve_tmem_ptr(Float32, 16, storage.tensor_memory.ptr)
    sums = cute.make_tensor(base, mma.make_fragment_C(mma.partition_shape_C((TILE, TILE))).layout)

    if warp == TMA_WARP:
        mine = mma.get_slice(0)
        parts = (
            parts_of(a_tma, a_tiles, a_smem, mine.partition_A), parts_of(b_tma, b_tiles, b_smem, mine.partition_B),
            parts_of(sfa_tma, sfa_tiles, sfa_smem, mine.partition_A),
            parts_of(sfb_tma, sfb_tiles, sfb_smem, mine.partition_B),
        )  # fmt: skip
        fill = PipelineState(STAGES, count=Int32(0), index=Int32(0), phase=Int32(1))
        for k in cutlass.range(k_tiles, unroll=1):
            cute.arch.mbarrier_wait(empty + fill.index, fill.phase)
            bar = full + fill.index
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(bar, STAGE_BYTES)
            load_stage(parts, (tile_m, tile_n, tile_m, tile_n), k, fill.index, bar)
            fill.advance()
    elif warp == MMA_WARP:
        a_operand, b_operand = mma.make_fragment_A(a_smem), mma.make_fragment_B(b_smem)
        tiler = TILE, TILE, TILE_K
        one_stage = [cute.slice_(each, (None, None, None, 0)) for each in (sfa_layout, sfb_layout)]
        tmem_a = blockscaled.make_tmem_layout_sfa(mma, tiler, BLOCK, one_stage[0])
        tmem_b = blockscaled.make_tmem_layout_sfb(mma, tiler, BLOCK, one_stage[1])
        read = PipelineState(STAGES, count=Int32(0), index=Int32(0), phase=Int32(0))
        for k in cutlass.range(k_tiles, unroll=1):
            cute.arch.mbarrier_wait(full + read.index, read.phase)
            scales = base + TILE + 2 * SCALE_COLUMNS * read.index
            sfa = cute.make_tensor(cute.recast_ptr(scales, dtype=Float8E4M3FN), tmem_a)
            sfb = cute.make_tensor(cute.recast_ptr(scales + SCALE_COLUMNS, dtype=Float8E4M3FN), tmem_b)
            copy_scales(sfa_smem, sfa, read.index)
            copy_scales(sfb_smem, sfb, read.index)
            for i in cutlass.range_constexpr(TILE_K // MMA_K):
                mma.set(tcgen05.Field.ACCUMULATE, k > 0 if i == 0 else True)
                mma.set(tcgen05.Field.SFA, sfa[None, None, i].iterator)
                mma.set(tcgen05.Field.SFB, sfb[None, None, i].iterator)
                a_part, b_part = a_operand[None, None, i, read.index], b_operand[None, None, i, read.index]
                cute.gemm(mma, sums, a_part, b_part, sums)
            with cute.arch.elect_one():
                tcgen05.commit(empty + read.index)
            read.advance()
        with cute.arch.elect_one():
            tcgen05.commit(computed)
    else:
        part = cute.flat_divide(sums[((None, None), 0, 0)], (TILE, PART))  # (128, 32, 1, 4)
        atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), Float32)
        copy = tcgen05.make_tmem_copy(atom, part[None, None, 0, 0])
        mine = copy.get_slice(thread)
        source = mine.partition_S(part)
        held = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((TILE, PART))).shape, Float32)
        cute.arch.mbarrier_wait(computed, 0)
        nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
        row = tile_m * TILE + thread
        for j in cutlass.range_constexpr(TILE // PART):
            cute.copy(copy, source[None, None, None, 0, j], held)
            cute.arch.fence_view_async_tmem_load()
            first = tile_n * TILE + j * PART
            for i in cutlass.range_constexpr(PART):
                if row < d.shape[0] and first + i < d.shape[1]:
                    d[row, first + i] = held[i].to(Float16)
        nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
        cute.arch.barrier(barrier_id=1, number_of_threads=128)
        if warp == 0:
            cute.arch.dealloc_tmem(base, COLUMNS)


def compile_arguments():
    m, n, half, a_bytes, b_bytes = (cute.sym_int() for _ in range(5))

    def tensor(dtype, rows, columns):
        stride = cute.sym_int64(divisibility=16), 1
        return cute.runtime.make_fake_tensor(dtype, (rows, columns), stride, assumed_align=128)

    def scales(count):
        return cute.runtime.make_fake_tensor(Float8E4M3FN, (count,), (1,), assumed_align=128)

    stream = cute.runtime.make_fake_stream(use_tvm_ffi_env_stream=True)
    packed = tensor(Uint8, m, half), tensor(Uint8, n, half)
    return *packed, scales(a_bytes), scales(b_bytes), tensor(Float16, m, n), stream
