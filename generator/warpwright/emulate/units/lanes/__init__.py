"""What concerns a warp: its lanes among each other, its registers, its end."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.lanes import registers
from warpwright.emulate.units.lanes.emit import OPCODES
from warpwright.emulate.units.lanes.lanes import (
    broadcast,
    elected,
    match,
    reduce_floats,
    reduce_lanes,
    shuffle,
    vote,
)  # fmt: skip

UNIT = Unit(
    "lanes",
    OPCODES,
    (broadcast, elected, match, reduce_floats, reduce_lanes, shuffle, vote, registers.setmaxnreg, registers.trap),
    waits={"registers": registers.explain},
    kinds={
        "setmaxnreg": Kind("reallocation that the warps of a warpgroup do not all make, or beyond the pool", "hang"),
        "shuffle": Kind("a lane reads a register of one that is not here or not in its membermask", "incorrect"),
        "trap": Kind("the kernel executed a trap", "crash"),
    },
    observes={"registers": "{registers per thread: warps that have held as many}"},
    at_end=registers.check_alike,
)
