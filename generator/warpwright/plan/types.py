"""A plan as plain numbers: what every later stage reads and nothing recomputes.

A `Plan` knows no kernel family: the function that is exported and its arguments, and one `KernelPlan` per kernel that
it launches, with memory map, barriers, roles, copies and MMAs as lists that a family's planner fills. Templates print
them, the build census and the emulator check against them, the device runner calls the function by them. Imports the
standard library only: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

__all__ = [
    "ATOM", "Argument", "ArgumentRole", "Barrier", "Buffer", "Constant", "Copy", "KernelPlan", "Limit", "Mma", "Plan",
    "Role", "Space", "Swizzle", "TensorMemory", "Violation", "extent_of",
]  # fmt: skip

#: 128B/32B: 32-byte parts of a row change places, not 16-byte ones.
Swizzle = Literal["none", "32B", "64B", "128B", "128B/32B"]
Space = Literal["shared", "tensor", "global"]
#: workspace: memory that the caller provides and nobody reads afterwards. grid_limit: how many clusters the device
#: holds at once; the caller of the checked call need not give it.
ArgumentRole = Literal["input", "output", "workspace", "grid_limit"]
#: The innermost mode of scales: bytes of an atom, which holds those of 128 rows and 4 blocks of K.
ATOM = "512"


def extent_of(mode: str, extents: Mapping[str, int]) -> int:
    """Return a mode's extent on a problem: of `M/128` the parts of 128, the last one perhaps not whole; a number, as a
    workspace may have, is its own. Raises KeyError."""
    if mode.isdecimal():
        return int(mode)
    whole, _, part = mode.partition("/")
    return -(-extents[whole] // int(part)) if part else extents[whole]


@dataclass(frozen=True)
class Buffer:
    """A region of one CTA's memory: dynamic shared memory, tensor memory, or its share of a global workspace.

    `offset`, `bytes` and `alignment` count bytes from the base of the space (columns of 32 bit in tensor memory).
    """

    name: str
    offset: int
    bytes: int
    alignment: int
    dtype: str
    shape: tuple[int, ...]  # logical extents, the last one being the pipeline stage where there is one
    swizzle: Swizzle
    note: str
    space: Space = "shared"


@dataclass(frozen=True)
class Barrier:
    """A barrier and its contract.

    `arrivals` counts what one phase of one stage needs (threads for a named barrier);
    `transaction_bytes` are the bytes that land in this CTA per phase, multicast included. pair: both CTAs of a pair
    arrive at that of its leader, which counts arrivals and bytes of both; that of the other CTA is not used. state: the
    pipeline state by which the waiting role goes through its stages, and the phase that it first waits for.
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
    partial: bool = False  # the last phases of a problem may bring fewer bytes
    pair: bool = False
    state: str = ""


@dataclass(frozen=True)
class Role:
    """Warps that run one branch of the kernel; `registers` after setmaxnreg (None: not reallocated)."""

    name: str
    first_warp: int
    warps: int
    registers: int | None
    duty: str


@dataclass(frozen=True)
class Copy:
    """One kind of asynchronous copy between global and shared memory; `instructions` per pipeline stage and CTA.

    tensor: through a tensor map, `box` in elements, innermost first. bulk: a run of bytes without one, `box` holding
    the elements of a whole run.
    """

    tensor: str  # name of the Argument
    direction: Literal["load", "store"]
    dtype: str
    box: tuple[int, ...]
    swizzle: Swizzle
    multicast: int  # CTAs that receive one box
    instructions: int
    buffer: str  # name of the Buffer that it fills or drains
    kind: Literal["tensor", "bulk"] = "tensor"
    modes: tuple[str, ...] = ()  # the tensor's modes in the kernel's order, where it is not the Argument's


@dataclass(frozen=True)
class Mma:
    """A tensor-core instruction and how often one warpgroup issues it per pipeline stage.

    instruction: the PTX opcode. sass: the machine instruction with its shape (HGMMA.64x256x16). pairs: PTX opcodes with
    the machine instruction of each: the SASS may hold no more of it, since ptxas adds them where it must serialise.
    descriptor: tcgen05's instruction descriptor, which holds shape, dtypes and majors; None where the opcode says them.
    Which of a column's scale factors an MMA takes stands in it as well, and is 0 here: it is set while the kernel runs.
    """

    instruction: str
    sass: str
    m: int
    n: int
    k: int
    per_stage: int
    pairs: tuple[tuple[str, str], ...] = ()
    descriptor: int | None = None


@dataclass(frozen=True)
class TensorMemory:
    """What one CTA allocates of tensor memory (Blackwell), and who does: columns of 128 lanes of 32 bits.

    Its parts are the kernel's buffers of space `tensor`. allocates, frees: a warp each, as roles. ctas: of one
    allocation, 2 for a CTA pair. Once it is there, the allocating warp gives the permit to allocate up.
    """

    columns: int  # a power of two from 32 to 512
    ctas: int
    allocates: str
    frees: str


@dataclass(frozen=True)
class Constant:
    """A named number of the rendered module: its value, and how the source gives it.

    `expression` is Python over the constants before it, "" where the value itself stands; `note` says what it is.
    """

    name: str
    value: int | float | str
    note: str
    expression: str = ""


@dataclass(frozen=True)
class Argument:
    """One argument of the exported function, in call order.

    tensor: `shape` names extents ("L", "M", "K"); `contiguous` names the mode of stride 1.
    vector: one extent, contiguous. scalar: `dtype` f32 or i32. Extents beyond 31 bits, where they are legal, are 64-bit
    in the function's interface. Extents and strides count elements, of which several may share a byte; then the
    contiguous mode is whole bytes long.
    Scales of blocks along K, as tensor cores want them: ("L", "M/128", "K/128", "512"), an atom of 512 bytes for 128
    rows and 4 blocks (here of 32 elements), with that of row r and block j of the atom in byte
    16 (r % 32) + 4 (r // 32) + j.
    """

    name: str
    kind: Literal["tensor", "vector", "scalar"]
    dtype: str
    shape: tuple[str, ...] = ()
    contiguous: str = ""
    role: ArgumentRole = "input"
    alignment: int = 16  # bytes, of the base and of every stride but the contiguous one
    meaning: str = ""
    largest_extent: int = 2**31 - 1
    in_place: str = ""  # of an output: the input that it may be exactly, element for element

    @property
    def output(self) -> bool:
        return self.role == "output"

    @property
    def block(self) -> int:
        """Of scales: the elements along K that share one; 0 of everything else."""
        return int(self.shape[2].partition("/")[2]) // 4 if len(self.shape) == 4 and self.shape[3] == ATOM else 0


@dataclass(frozen=True)
class Limit:
    """What a kernel counts of a problem, and the most that it can: `modes` gives how much of each makes one."""

    what: str
    modes: tuple[tuple[str, int], ...]
    most: int

    def count(self, extents: Mapping[str, int]) -> int:
        """The product over the modes of their extents over what makes one, rounded up."""
        return prod(-(-extents[mode] // unit) for mode, unit in self.modes)


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
class KernelPlan:
    """One kernel: its launch, its memory, and who does what in it. `name` is that of its function in the source."""

    name: str
    threads: int
    cluster: tuple[int, int, int]
    shared_bytes: int  # dynamic shared memory that the launch asks for
    entry_registers: int  # registers per thread at launch
    buffers: tuple[Buffer, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    roles: tuple[Role, ...] = ()
    copies: tuple[Copy, ...] = ()
    mmas: tuple[Mma, ...] = ()
    tensor_memory: TensorMemory | None = None
    ctas_per_sm: int | None = None  # that share an SM, by the launch bounds; None: one is promised, more may fit


@dataclass(frozen=True)
class Plan:
    """Everything about one exported function that can be said before it is written.

    `kernel` is what is computed, in the canonical form of the family's kernel model; `design` is how, resolved: the
    family's own frozen dataclass in which no choice is left to be made. The two together are the variant's identity.
    An illegal plan has its violations and nothing below them.
    """

    family: str
    arch: str
    label: str
    kernel: Mapping[str, Any]
    design: Any
    violations: tuple[Violation, ...] = ()
    entry: str = ""  # name of the host function in the source
    identity: str = ""  # of the variant, 12 hex digits (plan.identified)
    symbol: str = ""  # name under which the function is exported, unique per variant (plan.identified)
    kernels: tuple[KernelPlan, ...] = ()  # in the order of their launches
    constants: tuple[Constant, ...] = ()
    arguments: tuple[Argument, ...] = ()
    limits: tuple[Limit, ...] = ()  # of a problem: beyond them the checked call refuses, and a raw one's launch fails

    @property
    def legal(self) -> bool:
        return not self.violations

    def exceeded(self, extents: Mapping[str, int]) -> Limit | None:
        """Return the first limit that a problem of these extents exceeds, those of single arguments included."""
        each = {mode: a.largest_extent for a in self.arguments for mode in a.shape if mode in extents}
        limits = (*(Limit(f"along {mode}", ((mode, 1),), most) for mode, most in each.items()), *self.limits)
        return next((limit for limit in limits if limit.count(extents) > limit.most), None)

    @property
    def main(self) -> KernelPlan:
        """The first kernel that is launched, which does the work; others prepare or finish."""
        return self.kernels[0]

    @property
    def shared_bytes(self) -> int:
        """The most dynamic shared memory that one of the kernels asks for."""
        return max((kernel.shared_bytes for kernel in self.kernels), default=0)
