"""Loads and stores of global and shared memory, and of matrices in it."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.memory.emit import OPCODES
from warpwright.emulate.units.memory.generic import generic_load, generic_store
from warpwright.emulate.units.memory.global_memory import global_load, global_loads, global_store, global_stores
from warpwright.emulate.units.memory.local import local_load, local_store
from warpwright.emulate.units.memory.shared import (
    ldmatrix,
    shared_load,
    shared_loads,
    shared_store,
    shared_stores,
    stmatrices,
    stmatrix,
)  # fmt: skip

UNIT = Unit(
    "memory",
    OPCODES,
    (
        generic_load,
        generic_store,
        global_load,
        global_loads,
        global_store,
        global_stores,
        ldmatrix,
        local_load,
        local_store,
        shared_load,
        shared_loads,
        shared_store,
        shared_stores,
        stmatrices,
        stmatrix,
    ),
    kinds={"local-bounds": Kind("an address outside the local memory of a thread", "crash")},
)
