"""Accesses that threads may make at once: atomic operations, reductions, and loads and stores with an order."""

from __future__ import annotations

from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.atomics.access import strong_load, strong_store
from warpwright.emulate.units.atomics.alter import alter
from warpwright.emulate.units.atomics.emit import OPCODES
from warpwright.emulate.units.atomics.operations import atomic

UNIT = Unit("atomics", OPCODES, (atomic, strong_load, strong_store), alter=alter)
