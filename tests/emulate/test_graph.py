"""Post-dominators against their definition, on random graphs with everything in them that flow may have."""

from __future__ import annotations

import random
from collections.abc import Iterator

from warpwright.emulate.ptx.graph import depths, post_dominators


def graphs(count: int) -> Iterator[list[tuple[int, ...]]]:
    """Random graphs, with endless loops, dead parts and edges to themselves; the exit is the last node."""
    dice = random.Random(11)
    for _ in range(count):
        nodes = dice.randrange(1, 13)
        yield [tuple(dice.randrange(nodes) for _ in range(dice.choice((1, 2, 2)))) for _ in range(nodes - 1)] + [()]


def reaches(successors: list[tuple[int, ...]], start: int, target: int, avoided: int = -1) -> bool:
    seen, pending = {start}, [start]
    while pending:
        for node in successors[pending.pop()]:
            if node != avoided and node not in seen:
                seen.add(node)
                pending.append(node)
    return target in seen


def test_post_dominators_are_those_of_the_definition() -> None:
    checked = 0
    for successors in graphs(1200):
        last = len(successors) - 1
        if not all(reaches(successors, node, last) for node in range(last)):
            continue
        after = [{m for m in range(last + 1) if m != n and not reaches(successors, n, last, m)} for n in range(last)]
        after.append(set())
        want = [next(m for m in after[n] if after[n] - {m} <= after[m]) for n in range(last)]
        assert post_dominators(successors)[:-1] == want, successors
        checked += 1
    assert checked > 400


def test_what_cannot_reach_the_exit_has_a_meeting_point_all_the_same() -> None:
    diamond_in_a_loop = [(1,), (2, 3), (4,), (4,), (1,), ()]
    assert post_dominators(diamond_in_a_loop)[:4] == [1, 4, 4, 4]
    for successors in graphs(600):
        found = post_dominators(successors)
        for node in range(len(successors)):  # all lead up to the exit: a tree
            for _ in successors:
                node = found[node]
            assert node == len(successors) - 1


def test_depths_count_the_way_to_the_root() -> None:
    assert depths([3, 0, 0, 3, 3], 3) == [1, 2, 2, 0, 1]
    assert depths([*range(1, 30000), 29999], 29999)[0] == 29999
