"""y = alpha * (x + x) in two kernels, through a workspace: bulk copies without tensor maps, no MMA."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.typing import Float16, Float32, Int64

CHUNK = 1024
THREADS = 128
CHUNK_BYTES = CHUNK * 2
SCALE_THREADS = 64


@cute.kernel
def double_kernel(x: cute.Tensor, w: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator()
    chunk = smem.allocate_tensor(Float16, cute.make_layout(CHUNK), 128)
    full = smem.allocate_array(Int64, 1, byte_alignment=8)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float16, num_bits_per_copy=CHUNK * 16)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Float16, num_bits_per_copy=CHUNK * 16)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, CHUNK_BYTES)
            cute.copy(load, cute.local_tile(x, (CHUNK,), (block,)), chunk, mbar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    for i in cutlass.range_constexpr(CHUNK // THREADS):
        chunk[i * THREADS + thread] = chunk[i * THREADS + thread] + chunk[i * THREADS + thread]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if warp == 0:
        with cute.arch.elect_one():
            cute.copy(store, chunk, cute.local_tile(w, (CHUNK,), (block,)))
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0)


@cute.kernel
def scale_kernel(w: cute.Tensor, y: cute.Tensor, alpha: Float32, blocks: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    if block < blocks:
        y[block * SCALE_THREADS + thread] = w[block * SCALE_THREADS + thread].to(Float32) * alpha


@cute.jit
def doubled(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, alpha: Float32, stream):
    double_kernel(x, w).launch(grid=(cute.ceil_div(x.shape[0], CHUNK), 1, 1), block=(THREADS, 1, 1), stream=stream)
    blocks = cute.ceil_div(y.shape[0], SCALE_THREADS)
    scale_kernel(w, y, alpha, blocks).launch(
        grid=(cute.round_up(blocks, 2), 1, 1), block=(SCALE_THREADS, 1, 1), cluster=(2, 1, 1), stream=stream
    )
