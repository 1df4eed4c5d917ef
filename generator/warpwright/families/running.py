"""What running a kernel takes: problems, inputs, reference, work and peer of one family, with numpy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from warpwright.device.problem import Case, Problem
from warpwright.device.xp import Array, Xp
from warpwright.plan.types import Argument, Plan

__all__ = ["Expected", "Launched", "Memo", "Peer", "Sample", "View", "Work", "Workload"]

#: get(key, make) -> value: keeps what is dear to make, as long as memory allows; `make` returns a value and its bytes.
#: Keys are within one family, problem and seed: what depends on more of a plan (a dtype, say) must be in the key.
Memo = Callable[[tuple[Any, ...], Callable[[], tuple[Any, int]]], Any]


@dataclass(frozen=True)
class Work:
    """What one problem costs at least: floating-point operations, and bytes read and written once each."""

    flop: int
    bytes: int
    rate: str  # in which its speed is told: TFLOP/s or TB/s

    def speed(self, seconds: float) -> float:
        """The rate at which `seconds` do the work."""
        return (self.flop if self.rate == "TFLOP/s" else self.bytes) / seconds / 1e12


@dataclass(frozen=True)
class Expected:
    """What an output must be, before it is rounded to its dtype: float64 values and the bound on their error.

    signed: whether a zero must have the sign of the value that it is rounded from, -0 included.
    """

    values: Array
    error: Array
    signed: bool = False


@dataclass(frozen=True)
class Sample:
    """Indices along one mode for which alone the reference is computed, where all would take too long."""

    mode: str
    indices: Sequence[int]


@dataclass(frozen=True)
class View:
    """A tensor as a kernel is given it: the address of an argument, with some of its modes in an order of their own."""

    argument: str
    modes: tuple[str, ...]


@dataclass(frozen=True)
class Launched:
    """What a kernel must be launched with on one problem.

    maps: by the tensor of each Copy through a tensor map, the extents of its modes in the Copy's order, which the map
    has and the kernel is given beside it. values: the parameters that are no tensor maps, in the kernel's order, by
    the names that the source passes; a tuple is one name for each of its numbers.
    """

    grid: tuple[int, int, int]
    maps: Mapping[str, tuple[int, ...]]
    values: tuple[tuple[str, int | float | View], ...]


@dataclass(frozen=True)
class Peer:
    """What a variant is timed beside: its name, and a function that does it once on the current stream.

    same: whether it does the same, as the vendor's way does; a plain copy of as many bytes does not, and shows what
    memory allows.
    """

    name: str
    launch: Callable[[], object]
    same: bool = True


class Workload(Protocol):
    """Everything about the problems of one family. `xp` is numpy or torch with one vocabulary (device/xp.py)."""

    designs: Mapping[str, type]  # by arch: the dataclass of a plan's resolved design
    modes: tuple[str, ...]  # of a problem, in the order in which people name its extents

    def problems(self, plan: Plan) -> list[Problem]:
        """Return the standard validation problems, cheap ones first."""

    def cases(self, plan: Plan) -> list[Case]:
        """Return the emulator's cases: the smallest problems with the properties that broken kernels got wrong."""

    def compared(self, plan: Plan) -> list[Case]:
        """Return the cases on which a device is compared with the emulator, one seed each."""

    def inputs(self, xp: Xp, plan: Plan, argument: Argument, problem: Problem, seed: int) -> Array:
        """Return an input's bits, dense, in the shape of its modes.

        They depend on the argument's name, dtype and shape, the problem and the seed, and on nothing else of the plan.
        """

    def scalars(self, plan: Plan, problem: Problem) -> dict[str, float]:
        """Return the scalar arguments of a problem by name, without the grid limit."""

    def unread(self, plan: Plan, problem: Problem) -> set[str]:
        """Return the inputs that a right kernel does not read on this problem: they are filled with NaN."""

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        """Return where the reference is computed, None for everywhere."""

    def expected(
        self, xp: Xp, plan: Plan, problem: Problem, stored: Callable[[str], Array], memo: Memo
    ) -> Mapping[str, Expected]:
        """Return what each output must be, by name.

        `stored(name)` gives an input as stored, in float64, along the sample where the problem has one.
        """

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        """Return what a problem of these extents costs at least."""

    def units(self, plan: Plan, problem: Problem) -> int:
        """Return how many clusters could work at once: tiles of the problem over CTAs of a cluster.

        Where there are none, nothing is launched.
        """

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        """Return what the clusters `only` (numbers in the grid) compute by the plan when the grid limit is `clusters`.

        Parts of the outputs, none twice: by mode, which of its indices; modes that are not named are whole.
        """

    def copied(self, plan: Plan, problem: Problem) -> Mapping[str, int]:
        """Return the elements of each tensor that all CTAs copy, by name of the Copy's tensor.

        Whole boxes where tensor maps copy, shared ones once; what is copied in bulk to the element.
        """

    def launched(self, plan: Plan, problem: Problem, clusters: int) -> Sequence[Launched]:
        """Return what each kernel of the plan must be launched with; `clusters`: the grid limit.

        There is something to launch: `units` is not 0.
        """

    def huge(self, plan: Plan) -> list[Case]:
        """Return problems that are never run, only launched: their extents, strides and offsets end beyond 32 bits."""

    def peers(self, torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        """Return what the plan is timed beside: the vendor's way to do the same, where it has one, and others.

        `tensors` has all arguments by name but the grid limit, scalars included; peers may write the outputs. No two
        have one name.
        """

    def peer_key(self, plan: Plan) -> str:
        """Return what the vendor is asked for, as text: plans of one key have the same peers."""
