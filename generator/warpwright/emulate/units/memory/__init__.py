"""Loads and stores of global and shared memory, and of matrices in it."""

from __future__ import annotations

from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.memory.emit import OPCODES
from warpwright.emulate.units.memory.global_memory import global_load, global_store
from warpwright.emulate.units.memory.shared import (
    generic_load,
    generic_store,
    ldmatrix,
    shared_load,
    shared_store,
    stmatrix,
)  # fmt: skip

UNIT = Unit(
    "memory",
    OPCODES,
    (generic_load, generic_store, global_load, global_store, ldmatrix, shared_load, shared_store, stmatrix),
)
