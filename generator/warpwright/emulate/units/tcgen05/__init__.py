"""tcgen05: tensor memory of Blackwell (sm_100a), and the matrix products that have their sums in it."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.tcgen05 import allocation, copies, memory, pipelines, products, shared_copies
from warpwright.emulate.units.tcgen05.alter import alter
from warpwright.emulate.units.tcgen05.emit import OPCODES
from warpwright.emulate.units.tcgen05.loaded import arrange, before

UNIT = Unit(
    "tcgen05",
    OPCODES,
    (
        copies.Loading, copies.tcgen05_fence, copies.tcgen05_ld, copies.tcgen05_st, copies.tcgen05_touch,
        copies.tcgen05_wait, allocation.tcgen05_alloc, allocation.tcgen05_dealloc,
        allocation.tcgen05_relinquish, products.tcgen05_commit, products.tcgen05_mma,
        shared_copies.tcgen05_cp, shared_copies.tcgen05_shift,
    ),
    waits={"tensor-memory": allocation.explain},
    kinds={
        "tcgen05": Kind("a tcgen05 instruction whose operands or issuing threads are illegal", "crash"),
        "tensor-memory": Kind("tensor memory allocated, freed or addressed wrongly, or never freed", "crash"),
        "tcgen05-registers": Kind("registers used that a tcgen05.ld may not have filled yet", "incorrect"),
    },
    rules={
        memory.FENCES: "tensor memory wants tcgen05.fence beside barriers; without, barriers alone order it",
        copies.LOADS: "registers that a tcgen05.ld fills want tcgen05.wait::ld; without, their first use waits",
        pipelines.PIPELINES: "tcgen05.mma of one accumulator and shape, and those behind a cp, are in order;"
        " without, all that a thread issues is",
    },
    observes={
        "tensor-memory": "{allocated, freed: sets of (warp, columns, CTAs); permit: set of warps}",
        "tensor-mmas": "{instruction descriptor: {warp: how many}}",
    },
    arrange=arrange,
    before=before,
    at_end=allocation.report_leaks,
    alter=alter,
)  # fmt: skip
