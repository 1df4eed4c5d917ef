"""What instructions do: one package for each part of the hardware, in an order in which the later may use the earlier.

Another unit is one more line here; see docs/add_an_instruction.md.
"""

from __future__ import annotations

from warpwright.emulate.translate.unit import Units
from warpwright.emulate.units import (
    atomics,
    barriers,
    cp_async,
    lanes,
    launch_control,
    memory,
    mma,
    tcgen05,
    tma,
    wgmma,
)

UNITS = Units(
    (
        lanes.UNIT,
        memory.UNIT,
        barriers.UNIT,
        atomics.UNIT,
        cp_async.UNIT,
        tma.UNIT,
        launch_control.UNIT,
        mma.UNIT,
        wgmma.UNIT,
        tcgen05.UNIT,
    )
)
