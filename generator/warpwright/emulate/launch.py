"""What is run: the launch, the meaning of its tensor maps, the options, and the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from warpwright.build import launch_capture

from .findings import EmulatorError, Finding

Swizzle = Literal["none", "32B", "64B", "128B"]
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


@dataclass(frozen=True)
class Launch(launch_capture.Launch):
    """A launch that can be run; tensor maps among `params` may be any 128 bytes. Raises EmulatorError otherwise."""

    def __post_init__(self) -> None:
        for axis, grid, cluster in zip("xyz", self.grid, self.cluster, strict=True):
            if grid < 1 or cluster < 1 or grid % cluster:
                raise EmulatorError(f"grid.{axis} {grid} is not a positive multiple of cluster.{axis} {cluster}")
        if not 1 <= self.threads <= 1024:
            raise EmulatorError(f"{self.threads} threads per block: 1 to 1024")

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z


@dataclass(frozen=True)
class TensorMap:
    """What a CUtensorMap says (tiled mode, no interleave); modes innermost first, the innermost contiguous.

    address: of element (0, ...), 16-byte aligned. extents, box: in elements. strides: in bytes, of modes 1 and up.
    box: what one instruction copies (see `split_box` for multicast). element: bytes of one element.
    """

    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element: int
    swizzle: Swizzle = "none"

    def __post_init__(self) -> None:
        rank = len(self.extents)
        inner = self.box[0] * self.element
        rules = [
            (1 <= rank <= 5 and len(self.box) == rank and len(self.strides) == rank - 1, "1 to 5 modes, all alike"),
            (self.element in (1, 2, 4, 8), "elements of 1, 2, 4 or 8 bytes"),
            (self.address % 16 == 0, "a base address that is a multiple of 16"),
            (all(e >= 1 for e in self.extents), "extents of at least 1"),
            (all(s % 16 == 0 and 0 <= s < 1 << 40 for s in self.strides), "strides: multiples of 16 below 2^40"),
            (all(1 <= b <= 256 for b in self.box), "box extents of 1 to 256"),
            (inner % 16 == 0, "an inner box that is a multiple of 16 bytes"),
            (self.swizzle == "none" or inner == SPANS[self.swizzle], "an inner box as long as the swizzle span"),
        ]
        for holds, rule in rules:
            if not holds:
                raise EmulatorError(f"{self}: a tensor map has {rule}")

    @property
    def bytes(self) -> int:
        """Of one box: what an mbarrier counts, out-of-bounds elements included."""
        size = self.element
        for extent in self.box:
            size *= extent
        return size


def split_box(box: tuple[int, ...], multicast: int) -> tuple[int, ...]:
    """The box of one instruction where `multicast` CTAs share `box`: its outermost mode longer than 1 is divided."""
    at = max((i for i, extent in enumerate(box) if extent > 1), default=0)
    if box[at] % multicast:
        raise EmulatorError(f"box {box} cannot be divided between {multicast} CTAs")
    return tuple(extent // multicast if i == at else extent for i, extent in enumerate(box))


def _unnamed(_: object) -> str:
    return ""


@dataclass(frozen=True)
class Options:
    """How to run. `clusters`: how many are resident at once (0: the whole grid).

    `names` maps an offset in dynamic shared memory to the plan's words for it, `named` the number of a named barrier
    to its name, `contracts` the name of a barrier to who arrives at it, `roles` a warp's index to its role.
    """

    clusters: int = 0
    budget: int = 5_000_000  # warp instructions
    peek_failure: float = 0.25  # how often a try_wait that is only a peek fails although the phase is over
    limit: int = 20  # findings
    entry_registers: int = 0  # per thread at launch (0: 65,536 / threads, rounded down to a multiple of 8)
    trace: bool = False
    tcgen05_fences: bool = True  # tensor memory wants tcgen05.fence beside barriers; else barriers alone order it
    names: Callable[[int], str] = _unnamed
    contracts: Callable[[str], str] = _unnamed
    named: Callable[[int], str] = _unnamed
    roles: Callable[[int], str] = _unnamed


@dataclass(frozen=True)
class Result:
    """What one run showed.

    statistics: warp_instructions, seconds, events, clocks (modelled), clusters.
    timeline: with `trace`, a dict per "wait" (what: mbarrier, named, cluster, wgmma), "load", "store" and "mma" with
    cta, warp, PTX line, start and end in modelled clocks, and what is special to the kind (offset, phase, ...).
    observations: "mbarriers" {offset: {counts, arrivals, bytes (sets over phases), phases}}, "tma" {parameter:
    {boxes, multicast, lanes, copies}}, "registers" {count: warps}, "named" {barrier: thread counts}.
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
