"""A translated kernel: what the machine runs."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpwright.emulate.ptx.flow import Block
from warpwright.emulate.ptx.syntax import Instruction, Kernel

if TYPE_CHECKING:
    from warpwright.emulate.machine.order import Event
    from warpwright.emulate.machine.state import Cta, Fiber, Warp

#: Of a suspended fiber and the detail it was suspended with: what it waits for, in words and as numbers.
Explain = Callable[["Fiber", Any], tuple[str, dict[str, Any]]]


def nothing(*_: object) -> str:
    """The words for what would order two accesses, where no unit knows any."""
    return "nothing that this kernel has"


@dataclass(frozen=True)
class Hooks:
    """What the instructions of a kernel want of the machine.

    waits: how to explain each kind of wait. at_leave: what lanes that end no longer count for; at_exit, at_end: checks
    when a warp ends, and of a CTA when all is over.
    remedy: what would order an event, of that number, whose access is a "read" or "write" of a warp, before an access
    by another (asynchronous or not).
    observes: the names under which runs note what they saw. rules: what may be switched off (`Options.without`).
    """

    waits: Mapping[str, Explain] = field(default_factory=dict)
    at_leave: tuple[Callable[[Warp], None], ...] = ()
    at_exit: tuple[Callable[[Warp], None], ...] = ()
    at_end: tuple[Callable[[Cta], None], ...] = ()
    remedy: Callable[[Event, int, str, Warp, bool], str] = nothing
    observes: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()


@dataclass
class Program:
    """The translation of one kernel. `row_files`: (bits, dtype, rows). `arranged`: what each unit laid down of it.

    `forks`: instructions that may go two ways, as (number, block): conditional branches but those that only wait, and
    effects under a guard. `ways`: for each of them two bytes, 1 where it went: its condition held, it did not hold;
    of all runs so far.
    """

    kernel: Kernel
    instructions: list[Instruction]
    blocks: list[Block]
    hooks: Hooks
    functions: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    unset: tuple[list[int], list[int]] = ([], [])  # the uniform registers as they begin, in two ways
    row_files: list[tuple[int, Any, int]] = field(default_factory=list)
    arranged: dict[str, Any] = field(default_factory=dict)
    static_bytes: int = 0
    shared_offsets: dict[str, int] = field(default_factory=dict)
    local_bytes: int = 0
    local_offsets: dict[str, int] = field(default_factory=dict)
    source: str = ""
    forks: list[tuple[int, int]] = field(default_factory=list)
    ways: bytearray = field(default_factory=bytearray)
    spans: dict[Any, dict[Any, Any]] = field(
        default_factory=dict
    )  # addresses found good, by the launch's shared memory

    @property
    def file(self) -> str:
        """The name of `source` in tracebacks."""
        return f"<{self.kernel.name[:40]}>"

    def place(self, error: BaseException) -> str:
        """Which lines of the PTX were being executed when `error` came about."""
        names = [f.name for f in traceback.extract_tb(error.__traceback__) if f.filename == self.file]
        block = int(names[0][1:]) if names and names[0][1:].isdecimal() else len(self.blocks)
        ran = self.blocks[block].instructions if block < len(self.blocks) else []
        if not ran:
            return f"kernel {self.kernel.name}"
        return ran[0].where if len(ran) == 1 else f"PTX lines {ran[0].line} to {ran[-1].line}"

    def fork(self, number: int, block: int) -> int:
        """Count instruction `number` of `block` among the forks; where its two bytes of `ways` are."""
        self.forks.append((number, block))
        self.ways += b"\0\0"
        return len(self.ways) - 2
