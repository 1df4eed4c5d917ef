"""The plan of one kernel as plain numbers: what every later stage reads and nothing recomputes.

A `Plan` knows no kernel family: memory map, barriers, roles, TMA boxes, constants and arguments are lists
that a family's planner fills. Templates print them, the build census and the emulator check against them,
the device runner calls the kernel by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Swizzle = Literal["none", "32B", "64B", "128B"]


@dataclass(frozen=True)
class Buffer:
    """A region of dynamic shared memory; `offset`, `bytes` and `alignment` in bytes from its base."""

    name: str
    offset: int
    bytes: int
    alignment: int
    dtype: str
    shape: tuple[int, ...]  # logical extents, the last one being the pipeline stage where there is one
    swizzle: Swizzle
    note: str


@dataclass(frozen=True)
class Barrier:
    """A barrier and its contract.

    `arrivals` counts what one phase of one stage needs (threads for a named barrier);
    `transaction_bytes` are the bytes that land in this CTA per phase, multicast included.
    """

    name: str
    kind: Literal["mbarrier", "named", "cluster"]
    stages: int
    arrivals: int
    transaction_bytes: int
    waits: str  # role that waits
    arrives: str  # who arrives, in words
    ids: tuple[int, ...] = ()  # hardware ids of named barriers
    buffer: str = ""  # name of the Buffer that holds the mbarriers


@dataclass(frozen=True)
class Role:
    """Warps that run one branch of the kernel; `registers` after setmaxnreg (None: not reallocated)."""

    name: str
    first_warp: int
    warps: int
    registers: int | None
    duty: str


@dataclass(frozen=True)
class TmaCopy:
    """One TMA atom: `box` in elements, innermost first; `instructions` per pipeline stage and CTA."""

    tensor: str
    direction: Literal["load", "store"]
    dtype: str
    box: tuple[int, ...]
    swizzle: Swizzle
    multicast: int  # CTAs that receive one box
    instructions: int
    buffer: str  # name of the Buffer that it fills or drains


@dataclass(frozen=True)
class Constant:
    """A named number of the rendered kernel, with the formula that gave it."""

    name: str
    value: int | float | str
    formula: str


@dataclass(frozen=True)
class Argument:
    """One argument of the built kernel, in call order.

    tensor: `shape` and `modes` name extents ("L", "M", "K"); `contiguous` names the mode of stride 1.
    vector: one extent, contiguous. scalar: `dtype` f32 or i32.
    """

    name: str
    kind: Literal["tensor", "vector", "scalar"]
    dtype: str
    shape: tuple[str, ...] = ()
    contiguous: str = ""
    output: bool = False
    alignment: int = 16  # bytes, of the base and of every stride but the contiguous one
    meaning: str = ""


@dataclass(frozen=True)
class Violation:
    """Why a plan is illegal: the rule, its numbers, the limit and the nearest legal value."""

    rule: str
    field: str
    value: str
    limit: str
    nearest: str
    message: str


@dataclass(frozen=True)
class Mma:
    """The tensor-core instruction and how often one warpgroup issues it per k-tile."""

    instruction: str  # e.g. wgmma.m64n256k16.f32.f16.f16
    m: int
    n: int
    k: int
    per_k_tile: int


@dataclass(frozen=True)
class Plan:
    """Everything about one kernel that can be said before it is written."""

    family: str
    arch: str
    label: str
    point: dict[str, object]  # the canonical form of the Point
    symbol: str  # exported function name
    threads: int
    cluster: tuple[int, int]
    shared_bytes: int  # dynamic shared memory that the launch asks for
    entry_registers: int  # registers per thread at launch
    mma: Mma
    buffers: tuple[Buffer, ...]
    barriers: tuple[Barrier, ...]
    roles: tuple[Role, ...]
    tma: tuple[TmaCopy, ...]
    constants: tuple[Constant, ...]
    arguments: tuple[Argument, ...]
    facts: dict[str, int | float | str | bool] = field(default_factory=dict)  # family-specific, for templates
    violations: tuple[Violation, ...] = ()

    @property
    def legal(self) -> bool:
        return not self.violations
