"""Asynchronous copies of a thread (cp.async), their groups and arrivals; words that it sends to peers (st.async)."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.cp_async.copies import copy_arrive, copy_async, copy_commit, copy_wait
from warpwright.emulate.units.cp_async.emit import OPCODES
from warpwright.emulate.units.cp_async.stores import store_async

UNIT = Unit(
    "cp_async",
    OPCODES,
    (copy_arrive, copy_async, copy_commit, copy_wait, store_async),
    kinds={"cp-async": Kind("a cp.async that is to read more bytes than it copies", "crash")},
)
