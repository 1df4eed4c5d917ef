"""A problem: extents of a kernel's modes, what the operands hold, and how they lie in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from warpwright.plan.types import Argument, extent_of

__all__ = ["Case", "Fill", "Problem", "listed", "shape_of", "shared", "size_text", "sizes_of"]

Fill = Literal["normal", "integer", "nonfinite", "extreme"]


@dataclass(frozen=True)
class Problem:
    """One problem. `sizes` are the extents by mode, in the order in which a person names them: (("M", 128), ...).

    fill: `normal` (standard normal), `integer` (-2..2, whose sums every accumulator holds exactly: the sharpest test,
    since one lost product shows), `nonfinite` (integers, with NaN and both infinities among them) or `extreme` (the
    same in every input, and numbers whose results are beyond the output's range, at its edge, subnormal or -0).
    padding: units of an argument's alignment added to every leading stride and batch stride, and a few more to each
    argument's own, filled with a guard pattern.
    odd_strides: modes of extent 1 get a stride that no rule would allow, since it must not matter.
    zero: scalars that are zero; an input that then must not be read is filled with NaN.
    special: scalars that are not finite, or all but zero.
    in_place: an output that may be an input is that input.
    """

    name: str
    sizes: tuple[tuple[str, int], ...]
    fill: Fill = "normal"
    padding: int = 0
    odd_strides: bool = False
    zero: tuple[str, ...] = ()
    repeats: int = 0  # at most so many launches; 0: as many as asked for
    special: tuple[str, ...] = ()
    in_place: bool = False

    @property
    def extents(self) -> dict[str, int]:
        return dict(self.sizes)

    def figures(self) -> dict[str, Any]:
        """What a result says about the problem; extents under the names that a YAML file gives them."""
        return {"name": self.name, **{mode.lower(): extent for mode, extent in self.sizes}, "fill": self.fill}


@dataclass(frozen=True)
class Case:
    """One problem and how the emulator runs it.

    clusters: the kernel's grid limit, so the size of a persistent grid. resident: clusters in flight at once
    (0: the whole grid). seeds: of the schedule; the operands are the same for all of them. only: numbers of the
    clusters of the grid that are run (none: all): so many tiles cost no more than the few that these compute.
    """

    problem: Problem
    clusters: int
    resident: int
    seeds: tuple[int, ...]
    only: tuple[int, ...] = ()


def shared(arguments: Iterable[Argument], problem: Problem) -> dict[str, Argument]:
    """Return what lies in one place on a problem that is computed in place: the input's name, and the output.

    The output comes with the alignment that both need.
    """
    every = {argument.name: argument for argument in arguments}
    return {
        output.in_place: replace(output, alignment=max(output.alignment, every[output.in_place].alignment))
        for output in every.values()
        if problem.in_place and output.in_place
    }


def shape_of(argument: Argument, extents: Mapping[str, int]) -> tuple[int, ...]:
    """Return an argument's extents on a problem, in elements."""
    return tuple(extent_of(mode, extents) for mode in argument.shape)


def sizes_of(given: Mapping[str, int], modes: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the sizes of a problem as a YAML file gives it (keys are modes in lower case), in the order of `modes`."""
    return tuple((mode, given[mode.lower()]) for mode in modes)


def size_text(given: Mapping[str, int], modes: Sequence[str]) -> str:
    """Return the sizes of a problem as people write them: 4096x4096x4096, extents of 1 at the end left out."""
    sizes = [extent for _, extent in sizes_of(given, modes)]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(map(str, sizes))


def listed(problems: Sequence[Mapping[str, int]], modes: Sequence[str]) -> list[Problem]:
    """Return the problems that a YAML file lists, each with normal and with integer operands."""
    return [
        Problem(
            "x".join(str(extent) for _, extent in sizes_of(given, modes)) + ("_integer" if fill == "integer" else ""),
            sizes_of(given, modes),
            fill=fill,
        )
        for given in problems
        for fill in ("normal", "integer")
    ]
