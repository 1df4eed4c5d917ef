"""Asynchronous copies of a thread from global to shared memory (cp.async), their groups, and their arrivals."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.cp_async.copies import copy_arrive, copy_async, copy_commit, copy_wait
from warpwright.emulate.units.cp_async.emit import OPCODES

UNIT = Unit(
    "cp_async",
    OPCODES,
    (copy_arrive, copy_async, copy_commit, copy_wait),
    kinds={"cp-async": Kind("a cp.async that is to read more bytes than it copies", "crash")},
)
