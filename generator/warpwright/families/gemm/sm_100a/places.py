"""Where things are, in words: CTAs of a cluster that share something, accumulators, subtiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpwright.families.gemm.workload.design import TensorDesign
from warpwright.plan.types import Copy

__all__ = ["of_accumulators", "of_scales", "of_subtiles", "shared_by"]


def shared_by(d: TensorDesign) -> dict[str, Any]:
    """Which CTAs load a box together, and which a commit tells; ranks in the cluster are m + CLUSTER_M * n."""
    pair, wide = d.cta_group == 2, d.cluster_n > 1
    pairs = d.cluster_m // d.cta_group
    row = "CLUSTER_M * cta_n"
    loaders = []
    if pairs > 1:
        loaders.append(f"COLUMN << ({row})" if wide else "COLUMN")
    if wide:
        ctas = "A_MULTICAST * PAIR" if pair else "A_MULTICAST"
        loaders.append(f"{ctas} << cta_m" if d.cluster_m > 1 else ctas)
    elif pair and pairs == 1:
        loaders.append("PAIR")
    leader = ["cta_m - in_pair"] * (d.cluster_m > 2) + [row] * wide
    own = ["cta_m"] * (d.cluster_m > 2) + [row] * wide  # of the leader itself
    first_rank = " + ".join(own)
    first_rank = f"({first_rank})" if " " in first_rank else first_rank
    into_pair = f"PAIR << {first_rank}" if own else "PAIR"
    shift = " + ".join(["in_pair"] * pair + [row] * wide)
    first = [f"cta_{x} == 0" for x, n in (("m", d.cluster_m), ("n", d.cluster_n)) if n > 1]
    return {
        "shares": {
            "a": "CLUSTER_N" if wide else "",
            "b": ("PAIRS" if pair else "CLUSTER_M") if pairs > 1 else "",
        },
        "pair_of": "cta_m // CTA_GROUP" if pair else "cta_m",
        "b_shift": f" << ({shift})" if " " in shift else shift and f" << {shift}",
        "consumed_mask": " | ".join(f"({x})" if len(loaders) > 1 and " " in x else x for x in loaders),
        "accumulated_mask": into_pair if pair else "",
        "commit_group": ", CtaGroup.TWO" if pair else "",
        "leader": " + ".join(leader) or "0",
        "first_cta": " and ".join(first),
    }


def of_accumulators(d: TensorDesign) -> dict[str, str]:
    """How many accumulators there are, and which one a consumer fills and a warpgroup drains: "" of the only one."""
    several, staged = d.consumers > 1, d.accumulator_stages > 1
    owner = "warpgroup" if several else ""

    def place(state: str, who: str) -> str:
        if staged:
            return f"{state}.index * CONSUMERS + {who}" if several else f"{state}.index"
        return who if several else "0"

    return {
        "accumulators": " * ".join(["ACCUMULATORS"] * staged + ["CONSUMERS"] * several),
        "acc_stages": "ACCUMULATORS" if staged else "1",
        "into": place("into_state", "consumer"),
        "drained_from": place("drain_state", owner),
    }


def of_subtiles(d: TensorDesign, names: set[str]) -> dict[str, str]:
    """Which subtile of a tile is number j of a warpgroup, and its box in D and C."""
    split, several = d.across > 1, "SUBTILES_N" in names
    j = "j" if several else "0"
    if split:
        j = "warpgroup * SUBTILES_N + j" if several else "warpgroup"
    count = "TILE_SUBTILES" if split else "SUBTILES_N" if several else ""
    at = "n_subtile" if " " in j else j
    m_box = "m_tile * CONSUMERS + warpgroup" if d.consumers > 1 else "m_tile"
    return {
        "n_subtile": j,
        "n_box": f"n_tile * {count} + {at}" if count else "n_tile",
        "c_boxes": f"{m_box}, n_tile * {count} + {j}" if count else f"{m_box}, n_tile",
    }


def of_scales(copies: Sequence[Copy]) -> dict[str, Any]:
    """In which order atoms lie in a box: along K first, or along the rows where K has one."""
    rows_first = any(copy.tensor == "sfa" and copy.modes[1].startswith("M/") for copy in copies)
    order = ("atoms", "ATOMS_K") if rows_first else ("ATOMS_K", "atoms")
    return {
        "rows_first": rows_first,
        "scale_modes": ", ".join(order),
        "scale_atoms": "row atom, K atom" if rows_first else "K atom, row atom",
    }
