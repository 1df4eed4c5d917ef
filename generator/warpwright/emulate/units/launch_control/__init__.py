"""The launch of clusters that are still to come, taken over by one that runs (clusterlaunchcontrol, sm_100)."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.launch_control.cancel import first_ctaid, is_canceled, try_cancel
from warpwright.emulate.units.launch_control.emit import OPCODES

UNIT = Unit(
    "launch_control",
    OPCODES,
    (first_ctaid, is_canceled, try_cancel),
    kinds={"launch-control": Kind("a cluster asked for where the PTX ISA says that the outcome is undefined", "hang")},
)
