"""What is run: the launch, the options, and the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.build import launch_capture
from warpwright.emulate.machine.addresses import PARAM_BYTES, PARAM_WINDOW
from warpwright.emulate.machine.findings import Finding


@dataclass(frozen=True)
class Launch(launch_capture.Launch):
    """A launch to be run; opaque objects among `params` may be any bytes."""

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    def parameter(self, address: Any, size: int, signed: bool, width: int) -> Any:
        """`size` bytes of the kernel's parameters at an address, or at each of a row of them, as a register of `width`
        bits holds them; zeros outside the parameters."""
        if not isinstance(address, int):
            return np.array([self.parameter(a, size, signed, width) for a in address.tolist()], dtype=f"u{width // 8}")
        index, low = divmod(address - PARAM_WINDOW, PARAM_BYTES)
        held = self.params[index][low : low + size] if 0 <= index < len(self.params) else b""
        return int.from_bytes(held, "little", signed=signed) & ((1 << width) - 1)


def _unnamed(_: object) -> str:
    return ""


@dataclass(frozen=True)
class Options:
    """How to run. `clusters`: how many are resident at once (0: the whole grid). `only`: the numbers of the clusters of
    the grid that run at all, in this order (none: every one).

    `names` maps an offset in dynamic shared memory to the plan's words for it, `named` the number of a named barrier
    to its name, `contracts` the name of a barrier to who arrives at it, `roles` a warp's index to its role.
    """

    clusters: int = 0
    only: tuple[int, ...] = ()
    budget: int = 5_000_000  # warp instructions
    peek_failure: float = 0.25  # how often a test of a barrier that is only a peek fails although the phase is over
    limit: int = 20  # findings
    entry_registers: int = 0  # per thread at launch (0: 65,536 / threads, rounded down to a multiple of 8)
    trace: bool = False
    garbage: int = 0xFF  # what each byte of shared memory holds that nobody has written: NaN in every format
    without: frozenset[str] = frozenset()  # rules that are not enforced: see `Unit.rules`
    names: Callable[[int], str] = _unnamed
    contracts: Callable[[str], str] = _unnamed
    named: Callable[[int], str] = _unnamed
    roles: Callable[[int], str] = _unnamed


@dataclass(frozen=True)
class Result:
    """What one run showed.

    statistics: warp_instructions, seconds, events, clocks (modelled), clusters.
    timeline: with `trace`, a dict per "wait" (what: the kind of wait) and per operation of a unit ("load", "mma", ...)
    with cta, warp, PTX line, start and end in modelled clocks, and what is special to the kind (offset, phase, ...).
    observations: by the names in `Unit.observes`, what instructions did, to be compared with a plan.
    complete: whether the launch came to its end; else a finding ended it, and the output says nothing.
    """

    findings: tuple[Finding, ...]
    statistics: dict[str, float]
    timeline: list[dict[str, Any]] = field(default_factory=list)
    observations: dict[str, dict[Any, Any]] = field(default_factory=dict)
    complete: bool = True

    @property
    def clean(self) -> bool:
        return not self.findings
