"""Post-dominators of a graph, in time that is near-linear in its edges whatever its shape: endless loops, dead parts.

A node that cannot reach the exit stands in, or ahead of, a loop without an end. Each such loop is given an edge to the
exit from the last of its nodes in the text, which is where it turns back: so what branches inside it joins inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["depths", "post_dominators"]


def post_dominators(successors: Sequence[Sequence[int]]) -> list[int]:
    """For each node the next one that every path from it to the last node, the exit, must pass; for the exit itself.

    The algorithm is that of Lengauer and Tarjan (A fast algorithm for finding dominators in a flowgraph, TOPLAS 1979,
    with path compression alone), on the reversed edges.
    """
    count = len(successors)
    last = count - 1
    edges: list[list[int]] = [[] for _ in range(count)]  # of the reversed graph
    for node, following in enumerate(successors):
        for successor in following:
            edges[successor].append(node)
    leaving = _ends_of_endless(edges, last)
    edges[last] += leaving
    backwards: list[Sequence[int]] = list(successors)
    for node in leaving:
        backwards[node] = (*successors[node], last)
    order, parent = _numbered(edges, last)
    number = [-1] * count
    for at, node in enumerate(order):
        number[node] = at
    semi, label, ancestor = list(range(count)), list(range(count)), [-1] * count  # by number
    idom = [0] * count
    buckets: list[list[int]] = [[] for _ in range(count)]

    def least(at: int) -> int:
        """The number with the least semi-dominator between `at` and the root of its tree; the path is compressed."""
        path = []
        top = at
        while ancestor[top] >= 0 and ancestor[ancestor[top]] >= 0:
            path.append(top)
            top = ancestor[top]
        for low in reversed(path):
            above = ancestor[low]
            if semi[label[above]] < semi[label[low]]:
                label[low] = label[above]
            ancestor[low] = ancestor[above]
        return label[at]

    for at in range(count - 1, 0, -1):
        for before in backwards[order[at]]:
            found = number[before]
            semi[at] = min(semi[at], semi[least(found) if ancestor[found] >= 0 else found])
        buckets[semi[at]].append(at)
        ancestor[at] = parent[at]
        for below in buckets[parent[at]]:
            found = least(below)
            idom[below] = found if semi[found] < semi[below] else parent[at]
        buckets[parent[at]] = []
    result = [last] * count
    for at in range(1, count):
        if idom[at] != semi[at]:
            idom[at] = idom[idom[at]]
        result[order[at]] = order[idom[at]]
    return result


def depths(parents: Sequence[int], root: int) -> list[int]:
    """How far each node of a tree is from its `root`, which is its own parent."""
    found = [-1] * len(parents)
    found[root] = 0
    for node in range(len(parents)):
        path = []
        while found[node] < 0:
            path.append(node)
            node = parents[node]
        for above, low in enumerate(reversed(path), found[node] + 1):
            found[low] = above
    return found


def _ends_of_endless(edges: Sequence[Iterable[int]], last: int) -> list[int]:
    """Nodes that, given an edge to the exit, let every node reach it: the last of each loop that nothing leaves.

    Walks over the reversed edges begin wherever none has been yet. Nothing that begins later was reached from what
    began earlier, so what is reached by no later walk began in a loop that nothing leaves (Kosaraju's argument).
    """
    reached = [False] * len(edges)
    _reach(edges, last, reached)
    seen, roots = list(reached), []
    for node in reversed(range(len(edges))):
        if not seen[node]:
            roots.append(node)
            _reach(edges, node, seen)
    ends = []
    for node in reversed(roots):
        if not reached[node]:
            ends.append(node)
            _reach(edges, node, reached)
    return ends


def _reach(edges: Sequence[Iterable[int]], start: int, seen: list[bool]) -> None:
    """Mark all that can be reached from `start` over what is not marked yet."""
    seen[start] = True
    pending = [start]
    while pending:
        for node in edges[pending.pop()]:
            if not seen[node]:
                seen[node] = True
                pending.append(node)


def _numbered(edges: Sequence[Sequence[int]], root: int) -> tuple[list[int], list[int]]:
    """Nodes in the order of a depth-first walk, and by that order the number of each one's parent."""
    order, parent, seen = list[int](), list[int](), [False] * len(edges)
    pending = [(root, 0)]
    while pending:
        node, above = pending.pop()
        if not seen[node]:
            seen[node] = True
            parent.append(above)
            pending += [(following, len(order)) for following in edges[node] if not seen[following]]
            order.append(node)
    return order, parent
