"""Loads and stores without a state space: the address says which memory it means."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import LOCAL_WINDOW, SHARED_WINDOW
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.memory.global_memory import global_load, global_store
from warpwright.emulate.units.memory.local import local_load, local_store
from warpwright.emulate.units.memory.shared import shared_load, shared_store


def _first(f: Fiber, addresses: Any) -> int:
    """The address of the first active lane: what it means, those of the others mean."""
    return addresses if isinstance(addresses, int) else int(addresses[np.argmax(f.lanes)])


def generic_load(f: Fiber, number: int, addresses: Any, width: int, count: int) -> Array:
    """ld without a state space."""
    first = _first(f, addresses)
    if first >= LOCAL_WINDOW:
        return local_load(f, number, addresses, width, count)
    if first >= SHARED_WINDOW:
        return shared_load(f, number, addresses, width, count, True)
    return global_load(f, number, addresses, width, count)


def generic_store(f: Fiber, number: int, addresses: Any, values: Array, width: int) -> None:
    """st without a state space."""
    first = _first(f, addresses)
    if first >= LOCAL_WINDOW:
        local_store(f, number, addresses, values, width)
    elif first >= SHARED_WINDOW:
        shared_store(f, number, addresses, values, width, True)
    else:
        global_store(f, number, addresses, values, width)
