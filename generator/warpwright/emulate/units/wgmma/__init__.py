"""wgmma: matrix products of a warpgroup, with the sums in its registers (sm_90a)."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.wgmma.accumulators import MOVES, Accumulators, arrange, before
from warpwright.emulate.units.wgmma.emit import OPCODES
from warpwright.emulate.units.wgmma.products import (
    check_waited,
    explain,
    wgmma_commit,
    wgmma_mma,
    wgmma_wait,
)  # fmt: skip
from warpwright.emulate.units.wgmma.touched import wgmma_fence, wgmma_overwrite, wgmma_touch

UNIT = Unit(
    "wgmma",
    OPCODES,
    (Accumulators, wgmma_commit, wgmma_fence, wgmma_mma, wgmma_overwrite, wgmma_touch, wgmma_wait),
    waits={"wgmma": explain},
    kinds={
        "wgmma": Kind("warps of a warpgroup disagree on a wgmma, or its descriptor is illegal", "crash"),
        "wgmma-registers": Kind(
            "registers of sums or of A touched while a wgmma still owns them, or without wgmma.fence", "incorrect"
        ),
    },
    rules={MOVES: "a move of accumulator registers wants a wgmma.fence behind it; without, other accesses alone do"},
    arrange=arrange,
    before=before,
    at_exit=check_waited,
)
