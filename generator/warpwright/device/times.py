"""Measured times side by side: the variants of one problem, what they were timed beside, and how each stands to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.canonical import canonical_json
from warpwright.device.peers import peers_in
from warpwright.device.problem import size_text
from warpwright.plan.types import Plan

__all__ = ["UNSPECIALISED", "Table", "Timed", "tables", "to_unspecialised"]

#: What the fastest variant of a kernel is called whose warps all do the same.
UNSPECIALISED = "unspecialised"


@dataclass(frozen=True)
class Timed:
    """A variant's figures of one problem. `where` says on which GPU they are from: others compare with nothing."""

    name: str
    plan: Plan
    figures: Mapping[str, Any]
    where: str = ""

    @property
    def specialised(self) -> bool:
        """Whether warps have roles."""
        return any(len(kernel.roles) > 1 for kernel in self.plan.kernels)

    @property
    def kernel(self) -> str:
        """What is computed, on which problem and GPU: times of one such text compare."""
        return canonical_json([self.plan.family, self.plan.kernel, self.figures["problem"], self.where])

    @property
    def median(self) -> float:
        """Microseconds."""
        return float(self.figures["cold_us"]["median"])


@dataclass(frozen=True)
class Table:
    """Times of one problem as text: `columns`, the first of which is a name and the others numbers, and rows."""

    problem: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> Iterator[str]:
        """Yield the table aligned, a line for each row, the columns' names first."""
        widths = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        for name, *cells in (self.columns, *self.rows):
            numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            yield "  ".join([name.ljust(widths[0]), *numbers]).rstrip()


def to_unspecialised(timed: Sequence[Timed]) -> dict[tuple[str, str], float]:
    """Return, by name and problem (as JSON), the time of the fastest variant without roles of warps over each one's.

    Above 1 is faster than it. Only of kernels that have variants of both kinds, and of what was alone on its GPU.
    """
    found: dict[tuple[str, str], float] = {}
    for group in _grouped([each for each in timed if not each.figures.get("shared")]):
        plain = [each.median for each in group if not each.specialised]
        if plain and len(plain) < len(group):
            found |= {(each.name, canonical_json(each.figures["problem"])): min(plain) / each.median for each in group}
    return found


def tables(timed: Sequence[Timed], modes: Sequence[str]) -> list[Table]:
    """Return a table for each problem, in the order in which they come; extents are told in the order of `modes`.

    The variants of a kernel are followed by what they were timed beside. Ratios are of medians, the other's over the
    variant's: above 1 the variant is faster.
    """
    ratios, problems = to_unspecialised(timed), dict[str, list[Timed]]()
    for each in timed:
        problems.setdefault(canonical_json(each.figures["problem"]), []).append(each)
    return [
        _table(own, size_text(own[0].figures["problem"], modes), {n: r for (n, p), r in ratios.items() if p == problem})
        for problem, own in problems.items()
    ]


def _table(timed: Sequence[Timed], problem: str, ratios: Mapping[str, float]) -> Table:
    names = list(dict.fromkeys(peer["name"] for each in timed for peer in peers_in(each.figures) if peer))
    last = [f"vs {UNSPECIALISED}"] if ratios else []
    rows, told = list[tuple[str, ...]](), list[Any]()
    for group in _grouped(timed):
        for each in group:
            beside = {peer["name"]: peer["ratio"] for peer in peers_in(each.figures) if peer}
            found = [*map(beside.get, names), *([ratios.get(each.name)] if last else [])]
            alone = not each.figures.get("shared")
            rows.append(_row(each.name, each.figures, [_ratio(one) if alone else "shared" for one in found]))
        for peer in (peer for each in group for peer in peers_in(each.figures) if peer):
            if (peer["name"], peer["cold_us"]) not in told:
                told.append((peer["name"], peer["cold_us"]))
                rows.append(_row(peer["name"], {**group[0].figures, **peer}, [""] * (len(names) + len(last))))
    columns = ("variant", "median us", "p95", "p99", "speed", *(f"vs {name}" for name in names), *last)
    return Table(problem, columns, tuple(rows))


def _row(name: str, figures: Mapping[str, Any], against: Sequence[str]) -> tuple[str, ...]:
    times = (f"{figures['cold_us'][key]:.1f}" for key in ("median", "p95", "p99"))
    return (name, *times, f"{figures['speed']} {figures['rate']}", *against)


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}"


def _grouped(timed: Sequence[Timed]) -> Iterator[list[Timed]]:
    groups: dict[str, list[Timed]] = {}
    for each in timed:
        groups.setdefault(each.kernel, []).append(each)
    yield from groups.values()
