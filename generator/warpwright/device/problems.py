"""The standard problems that every variant is validated on: each exists because some kernel got it wrong once.

Extents follow the variant's own tile, cluster and ring, so that "ragged" or "longer than the ring" mean for every
variant what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from warpwright.plan.types import Plan

__all__ = ["Problem", "Tiling", "listed", "standard", "tiling"]

Fill = Literal["normal", "integer", "nonfinite"]


@dataclass(frozen=True)
class Problem:
    """One multiplication: extents, what the operands hold and how they lie in memory.

    fill: `normal` (standard normal), `integer` (-2..2, whose sums every accumulator holds exactly: the sharpest test,
    since one lost product shows) or `nonfinite` (integers, with NaN and both infinities in A).
    padding: units of 16 bytes added to every leading stride and batch stride, filled with a guard pattern.
    odd_strides: modes of extent 1 get a stride that no rule would allow, since it must not matter.
    zero: scalars that are zero; a tile operand that then must not be read is filled with NaN.
    sampled: the reference is computed for a sample of rows that touches every tile, not for all.
    """

    name: str
    m: int
    n: int
    k: int
    l: int = 1  # noqa: E741  (the extent's name in the ABI)
    fill: Fill = "normal"
    padding: int = 0
    odd_strides: bool = False
    zero: tuple[str, ...] = ()
    sampled: bool = False
    repeats: int = 0  # at most so many launches; 0: as many as asked for

    def extents(self) -> dict[str, int]:
        return {"M": self.m, "N": self.n, "K": self.k, "L": self.l}

    def figures(self) -> dict[str, Any]:
        """What a result says about the problem."""
        kept = asdict(self)
        return {key: kept[key] for key in ("name", "m", "n", "k", "l", "fill")}


@dataclass(frozen=True)
class Tiling:
    """What the problems' extents follow: elements per CTA tile, CTAs per cluster and stages of the ring."""

    m: int
    n: int
    k: int
    cluster_m: int
    cluster_n: int
    stages: int


def tiling(plan: Plan) -> Tiling:
    """Read a plan's tiling from its point and its barriers (`stages` in the point may be `auto`)."""
    design: Any = plan.point["design"]
    tile = design["tile"]
    stages = max((b.stages for b in plan.barriers if b.kind == "mbarrier"), default=1)
    return Tiling(tile["m"], tile["n"], tile["k"], *plan.cluster, stages)


def standard(plan: Plan, skips: Mapping[str, str]) -> list[Problem]:
    """Return the standard problems, cheap ones first; `skips` maps a tile operand to its off switch, a scalar."""
    t = tiling(plan)
    m, n, k = t.m, t.n, t.k
    cluster_m, cluster_n = t.m * t.cluster_m, t.n * t.cluster_n
    ragged_m, ragged_n, ragged_k = cluster_m + m // 2 + 1, cluster_n + n // 2 + 3, 3 * k + k // 2 + 3
    problems = [
        Problem("aligned", 2 * cluster_m, 2 * cluster_n, 4 * k),
        Problem("aligned_integer", 2 * cluster_m, 2 * cluster_n, 4 * k, fill="integer"),
        Problem("ragged_m", ragged_m, 2 * cluster_n, 4 * k, fill="integer"),
        Problem("ragged_n", 2 * cluster_m, ragged_n, 4 * k, fill="integer"),
        Problem("ragged_k", 2 * cluster_m, 2 * cluster_n, ragged_k, fill="integer"),
        Problem("ragged", ragged_m, ragged_n, ragged_k),
        Problem("ragged_integer_padded", 2 * m + 1, 2 * n + 1, k + 1, fill="integer", padding=3),
        Problem("tiny", 1, 8, 8),
        Problem("unit", 1, 1, 1, padding=1, odd_strides=True),
        Problem("single_row", 1, n + 8, 2 * k, fill="integer", odd_strides=True),
        Problem("single_column", m + 8, 1, 2 * k, fill="integer", odd_strides=True),
        Problem("k_one", m + 5, n + 5, 1, odd_strides=True),
        Problem("k_zero", ragged_m, ragged_n, 0, fill="integer"),
        Problem("k_below_ring", 2 * m, 2 * n, max(1, t.stages - 1) * k, fill="integer"),
        Problem("k_beyond_ring", 2 * m, 2 * n, (3 * t.stages + 1) * k - 5, fill="integer"),
        Problem("k_long", m + 1, n + 1, 16384 + 7, fill="integer"),
        Problem("odd_tiles", (t.cluster_m + 1) * m, (t.cluster_n + 1) * n, 2 * k, fill="integer"),
        Problem("one_tile", m, n, 2 * k),
        Problem("batch", ragged_m, n + 1, 2 * k + 1, 3, fill="integer", padding=2),
        Problem("batch_normal", m + 3, ragged_n, 2 * k, 2),
        Problem("l_zero", m, n, k, 0),
        Problem("m_zero", 0, n, k),
        Problem("n_zero", m, 0, k),
        Problem("nonfinite", m + 7, n + 9, k + 3, fill="nonfinite"),
        *(Problem(f"{scalar}_zero", ragged_m, ragged_n, 2 * k, zero=(scalar,)) for scalar in sorted({*skips.values()})),
        # More tiles than an H200 has SMs, so that a persistent CTA computes several.
        Problem("waves", 19 * m - 3, 18 * n - 5, 3 * k + 1, fill="integer"),
        Problem("large", 4099, 4111, 4091),
        # 46411 * 46419 > 2^31: offsets of D no longer fit into 32 bits.
        Problem("beyond_2_31", 46411, 46419, 2 * k, fill="integer", sampled=True, repeats=2),
    ]
    return problems


def listed(problems: Sequence[Mapping[str, int]]) -> list[Problem]:
    """Return the problems that a YAML file lists as {m, n, k, l}, each with normal and with integer operands."""
    return [
        Problem(
            "x".join(str(p.get(e, 1)) for e in "mnkl") + ("_integer" if fill == "integer" else ""),
            p["m"],
            p["n"],
            p["k"],
            p.get("l", 1),
            fill=fill,
            sampled=p["m"] * p["n"] * p.get("l", 1) > 1 << 28,
        )
        for p in problems
        for fill in ("normal", "integer")
    ]
