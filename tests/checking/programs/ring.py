"""y = 2 x through a ring of shared memory that bulk copies fill, and a bulk store out of it; with mistakes to choose.

`FAULTS` says what each mistake is and what must be found; "" is the kernel as it should be.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32, Int64
from cutlass.experimental import primitives
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

LANES = 32
CONSUMERS = 2  # warps
PART = LANES * 4  # elements of one warp in a stage
ELEMENTS = CONSUMERS * PART  # of a stage
STAGES = 2
BYTES = 4 * ELEMENTS

#: mistake -> the kind of finding
FAULTS = {
    "no wait for full": "race",
    "no wait for empty": "race",
    "no fence before the store": "race",
    "one arrival too many expected": "deadlock",
    "too many bytes expected": "deadlock",
    "no barrier after init": "mbarrier",
    "no wait for the store": "race",
    "one stage too far": "shared-bounds",
    "one chunk too many": "global-bounds",
}


@cute.struct
class Storage:
    x: cute.struct.Align[cute.struct.MemRange[Float32, STAGES * ELEMENTS], 128]
    y: cute.struct.Align[cute.struct.MemRange[Float32, ELEMENTS], 128]
    full: cute.struct.MemRange[Int64, STAGES]
    empty: cute.struct.MemRange[Int64, STAGES]


@cute.kernel
def ring_kernel(x: cute.Tensor, y: cute.Tensor, chunks: Int32, fault: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    lane = cute.arch.lane_idx()
    storage = SmemAllocator().allocate(Storage)
    full, empty = storage.full.data_ptr(), storage.empty.data_ptr()
    x_smem = storage.x.get_tensor(cute.make_layout((PART, CONSUMERS, STAGES)))
    y_smem = storage.y.get_tensor(cute.make_layout((PART, CONSUMERS)))
    if warp == 0:
        with cute.arch.elect_one():
            for stage in cutlass.range_constexpr(STAGES):
                cute.arch.mbarrier_init(full + stage, 1)
                cute.arch.mbarrier_init(empty + stage, CONSUMERS + (fault == "one arrival too many expected"))
        cute.arch.mbarrier_init_fence()
    if cutlass.const_expr(fault != "no barrier after init"):
        cute.arch.sync_threads()

    if warp == CONSUMERS:
        state = make_pipeline_state(PipelineUserType.Producer, STAGES)
        for chunk in cutlass.range(0, chunks + (fault == "one chunk too many"), 1, unroll=1):
            if cutlass.const_expr(fault != "no wait for empty"):
                cute.arch.mbarrier_wait(empty + state.index, state.phase)
            with cute.arch.elect_one():
                expected = BYTES + 16 * (fault == "too many bytes expected")
                cute.arch.mbarrier_arrive_and_expect_tx(full + state.index, expected)
                target = x_smem[None, None, state.index].iterator
                source = cute.domain_offset(chunk * ELEMENTS, x).iterator
                primitives.cp_async_bulk_shared_cluster_global(target, source, full + state.index, Int32(BYTES))
            state.advance()
    else:
        state = make_pipeline_state(PipelineUserType.Consumer, STAGES)
        for chunk in cutlass.range(0, chunks, 1, unroll=1):
            if cutlass.const_expr(fault != "no wait for full"):
                cute.arch.mbarrier_wait(full + state.index, state.phase)
            stage = state.index + (STAGES * 4 if cutlass.const_expr(fault == "one stage too far") else 0)
            for i in cutlass.range_constexpr(PART // LANES):
                y_smem[i * LANES + lane, warp] = x_smem[i * LANES + lane, warp, stage] * 2
            if cutlass.const_expr(fault != "no fence before the store"):
                cute.arch.fence_view_async_shared()
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(empty + state.index)
                target = cute.domain_offset(chunk * ELEMENTS + warp * PART, y).iterator
                primitives.cp_async_bulk_global_shared_cta(target, y_smem[None, warp].iterator, Int32(4 * PART))
                cute.arch.cp_async_bulk_commit_group()
                if cutlass.const_expr(fault != "no wait for the store"):
                    cute.arch.cp_async_bulk_wait_group(0, read=True)
            cute.arch.sync_warp()
            state.advance()


@cute.jit
def ring(x: cute.Tensor, y: cute.Tensor, fault: cutlass.Constexpr):
    ring_kernel(x, y, cute.size(y) // ELEMENTS, fault).launch(grid=[1, 1, 1], block=[LANES * (CONSUMERS + 1), 1, 1])
