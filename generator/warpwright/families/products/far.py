"""Products at the end of 32 bits: no offset of the output fits into them; the tiles are as many as they count."""

from __future__ import annotations

from warpwright.device.problem import Case
from warpwright.dtypes import dtype
from warpwright.families.products.problems import multiplication
from warpwright.families.products.tiles import Tiled, ceil
from warpwright.plan.types import Plan

__all__ = ["far", "most"]

#: Few rows and columns, so that the others' rows, which are padded alike, do not reach even further; ragged in both,
#: so that threads compute addresses of D where TMA stores the rest.
_M, _N, _K, _L = 37, 35, 9, 2
#: Elements between the first and the last row of a batch of D: beyond 2^32, so that 32 bits overflow with and without
#: a sign, and no multiple of it.
_REACH = 5 * 2**30


def far(plan: Plan) -> Case:
    """Return the case; padding counts units of an argument's alignment, and D's may be the shortest."""
    output = next(argument for argument in plan.arguments if argument.output)
    unit = max(1, output.alignment // dtype(output.dtype).bytes)
    rows = _M if output.contiguous == "N" else _N
    padding = _REACH // ((rows - 1) * unit) | 1
    return Case(multiplication("far", _M, _N, _K, _L, fill="integer", padding=padding), 1, 1, (1,))


def most(plan: Plan) -> list[Case]:
    """Return cases of as many tiles as can be counted, of which a few are computed, the last one among them.

    In batches, with a grid of as many clusters, so that the step of the walk is as long as it can be; across the
    raster, so that a band of tiles has as many as it can have, with two tiles for each cluster; and along it, so that
    bands and rows are as many as they can be.
    """
    d: Tiled = plan.design
    *each, tiles = plan.limits
    walk, other = ("M", "N") if d.raster == "m" else ("N", "M")
    batches = multiplication("most_batches", 3, 5, _K, tiles.most, fill="integer")
    found = [Case(batches, tiles.most, 0, (1,), (0, tiles.most // 2, tiles.most - 1))]
    for name, mode in (("most_across", other), ("most_along", walk)):
        longest = next(limit.most for limit in each if limit.modes == ((mode, 1),))
        extents = {walk: 3, other: 3, "L": 1, mode: longest}
        count = tiles.count(extents)
        clusters = ceil(count, 2) if d.persistent else count
        problem = multiplication(name, extents["M"], extents["N"], _K, fill="integer")
        found.append(Case(problem, clusters, 0, (1,), (0, count // 3, clusters - 1)))
    return found
