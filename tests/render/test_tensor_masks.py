"""Who of a cluster is meant by the masks and ranks of a rendered kernel for sm_100a, CTA by CTA."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from tests.plan.tensor_space import point
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.render import render

CLUSTERS = [
    (group, m, n)
    for group, m, n in product((1, 2), (1, 2, 4, 8), (1, 2, 4, 8))
    if m * n <= 8 and m % group == 0 and m * n > 1
]


class Kernel:
    """A rendered kernel's expressions, and what they are in CTA (m, n)."""

    def __init__(self, planned: Plan) -> None:
        self.design, self.text = planned.design, render(planned)
        self._names: dict[str, Any] = {constant.name: constant.value for constant in planned.constants}

    def value(self, pattern: str, cta: tuple[int, int]) -> int | None:
        """What the group of `pattern` is; None where the kernel has no such text."""
        found = re.search(pattern, self.text)
        if found is None:
            return None
        m, n = cta
        local: dict[str, Any] = {"cta_m": m, "cta_n": n, "in_pair": m % self.design.cta_group}
        for name in ("loaders", "both"):
            if found[1] == name:
                return self.value(rf"\b{name} = cutlass\.Int16\((.*)\)\n", cta)
        return int(eval(found[1], {"__builtins__": {}}, self._names | local))

    def ctas(self, pattern: str, cta: tuple[int, int]) -> set[tuple[int, int]]:
        """The CTAs that a mask names; the CTA itself where there is no mask."""
        mask, m = self.value(pattern, cta), self.design.cluster_m
        if mask is None:
            return {cta}
        return {(rank % m, rank // m) for rank in range(16) if mask >> rank & 1}


@pytest.mark.parametrize("kind", ["persistent", "dynamic"])
@pytest.mark.parametrize(("group", "m", "n"), CLUSTERS)
def test_each_mask_names_those_that_are_meant(group: int, m: int, n: int, kind: str) -> None:
    planned = plan(point({
        "design.cta_group": group, "design.cluster": {"m": m, "n": n}, "design.scheduler.kind": kind,
        "design.tile": {"m": 128, "n": 128, "k": 64},
    }))  # fmt: skip
    assert planned.legal, planned.violations
    kernel = Kernel(planned)
    ctas = [*product(range(m), range(n))]
    for row, column in ctas:
        a = {(row, other) for other in range(n)}
        b = {(other, column) for other in range(m) if other % group == row % group}
        assert kernel.ctas(r"a_mask = cutlass\.Int16\((.*)\)\n", (row, column)) == a
        assert kernel.ctas(r"b_mask = cutlass\.Int16\((.*)\)\n", (row, column)) == b
        leader = (row - row % group, column)
        if (row, column) == leader:
            # Whoever loads some of what this CTA, or pair, multiplies.
            own = {(row + peer, column) for peer in range(group)}
            loaders = {cta for cta in ctas for mine in own if _loads(cta, mine, group)}
            commit = r"tcgen05\.commit\({} \+ \w+\.index, ([^,()]*?)(?:, CtaGroup\.TWO)?\)"
            assert kernel.ctas(commit.format("consumed"), leader) == loaders
            assert kernel.ctas(commit.format("accumulated"), leader) == own
        if group == 2:
            rank = kernel.value(r"mbarrier_arrive\(drained \+ \w+\.index, (.*)\)\n", (row, column))
            assert rank == leader[0] + m * leader[1]


def _loads(cta: tuple[int, int], into: tuple[int, int], group: int) -> bool:
    """Whether a CTA's boxes go into another's shared memory (or its own)."""
    return cta[0] == into[0] or (cta[1] == into[1] and cta[0] % group == into[0] % group)
