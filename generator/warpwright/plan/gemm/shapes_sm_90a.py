"""Which shapes a gemm for sm_90a may have: rules that read the point alone. `warpwright rules` prints the list.

A predicate returns None or (value, limit, nearest legal value). What must fit beside each other is in `budgets_sm_90a`.
"""

from __future__ import annotations

from warpwright.plan.gemm.choices import Choices
from warpwright.plan.rule import RuleSet, nearest_of

__all__ = ["SHAPE", "Finding"]

SHAPE: RuleSet[Choices] = RuleSet()
Finding = tuple[object, object, object] | None

_FACTORS = ("f16", "bf16")
_MAX_GROUP = 1024


def _multiples(step: int, low: int, high: int) -> range:
    return range(-(-low // step) * step, high + 1, step)


# Operands -------------------------------------------------------------------------------------------------


@SHAPE.add("operand.dtype", "kernel")
def _(c: Choices) -> Finding:
    """wgmma multiplies A and B of one and the same 16-bit type"""
    a, b = c.point.kernel.a.dtype, c.point.kernel.b.dtype
    if a == b and a in _FACTORS:
        return None
    nearest = next((name for name in (a, b) if name in _FACTORS), _FACTORS[0])
    return f"a.dtype {a}, b.dtype {b}", "both f16 or both bf16", f"both {nearest}"


@SHAPE.add("operand.major", "kernel")
def _(c: Choices) -> Finding:
    """the mode of stride 1 is one of the matrix's own: m or k of A, n or k of B, m or n of C and D"""
    kernel = c.point.kernel
    for name, operand, legal in (
        ("a", kernel.a, "km"),
        ("b", kernel.b, "kn"),
        ("c", kernel.c, "nm"),
        ("d", kernel.d, "nm"),
    ):
        if operand is not None and operand.major not in legal:
            return f"{name}.major {operand.major}", f"{legal[1]} or {legal[0]}", f"{name}.major {legal[0]}"
    return None


# Warps ---------------------------------------------------------------------------------------------------


@SHAPE.add("warps.consumer", "design.consumer_warps")
def _(c: Choices) -> Finding:
    """consumers are 1 to 3 whole warpgroups of 4 warps"""
    warps = c.point.design.consumer_warps
    return None if warps in (4, 8, 12) else (warps, "4, 8 or 12", nearest_of(warps, (4, 8, 12)))


@SHAPE.add("warps.producer", "design.producer_warps")
def _(c: Choices) -> Finding:
    """producers and the loader of tile operands share one warpgroup"""
    warps, most = c.point.design.producer_warps, 3 if c.tile_operands else 4
    return None if 1 <= warps <= most else (warps, f"1..{most}", nearest_of(warps, range(1, most + 1)))


@SHAPE.add("schedule.pingpong", "design.consumer_warps")
def _(c: Choices) -> Finding:
    """pingpong alternates tiles between exactly two consumer warpgroups"""
    warps = c.point.design.consumer_warps
    return None if c.point.design.schedule != "pingpong" or warps == 8 else (warps, "8", 8)


@SHAPE.add("schedule.persistent", "design.scheduler.kind")
def _(c: Choices) -> Finding:
    """pingpong needs CTAs that compute several tiles"""
    kind = c.point.design.scheduler.kind
    bad = c.point.design.schedule == "pingpong" and kind == "one_tile"
    return (kind, "persistent", "persistent") if bad else None


# Tiles ---------------------------------------------------------------------------------------------------


@SHAPE.add("tile.m", "design.tile.m")
def _(c: Choices) -> Finding:
    """every consumer warpgroup that shares the tile computes a multiple of 64 rows (wgmma M), TMA boxes hold 256"""
    m, step = c.point.design.tile.m, c.arch.mma_m * c.sharing
    legal = _multiples(step, step, c.arch.tma_box)
    return None if m in legal else (m, f"a multiple of {step} up to {c.arch.tma_box}", nearest_of(m, legal))


@SHAPE.add("tile.n", "design.tile.n")
def _(c: Choices) -> Finding:
    """wgmma takes N from 8 to 256 in steps of 8 (PTX ISA, wgmma.mma_async)"""
    n, legal = c.point.design.tile.n, _multiples(c.arch.mma_n_step, 8, c.arch.mma_n_max)
    return None if n in legal else (n, "a multiple of 8 from 8 to 256", nearest_of(n, legal))


@SHAPE.add("tile.k", "design.tile.k")
def _(c: Choices) -> Finding:
    """a stage is a whole number of MMA depths: 32 bytes of K; TMA boxes hold 256 elements"""
    k, step = c.point.design.tile.k, c.arch.mma_k_bytes // c.ab.bytes
    legal = _multiples(step, step, c.arch.tma_box)
    return None if k in legal else (k, f"a multiple of {step} up to {c.arch.tma_box}", nearest_of(k, legal))


# Tile schedule --------------------------------------------------------------------------------------------


@SHAPE.add("scheduler.group", "design.scheduler.group")
def _(c: Choices) -> Finding:
    """a band is at most 1024 clusters wide: no L2 holds more, and its tile index stays within 32 bits"""
    group = c.point.design.scheduler.group
    return None if group <= _MAX_GROUP else (group, _MAX_GROUP, _MAX_GROUP)


# Clusters ------------------------------------------------------------------------------------------------


@SHAPE.add("cluster.m", "design.cluster.m")
def _(c: Choices) -> Finding:
    """cluster extents are powers of two"""
    m = c.point.design.cluster.m
    return None if m in (1, 2, 4) else (m, "1, 2 or 4", nearest_of(m, (1, 2, 4)))


@SHAPE.add("cluster.n", "design.cluster.n")
def _(c: Choices) -> Finding:
    """cluster extents are powers of two"""
    n = c.point.design.cluster.n
    return None if n in (1, 2, 4) else (n, "1, 2 or 4", nearest_of(n, (1, 2, 4)))


@SHAPE.add("cluster.size", "design.cluster")
def _(c: Choices) -> Finding:
    """clusters hold at most 4 CTAs"""
    cluster = c.point.design.cluster
    size, most = cluster.m * cluster.n, c.arch.max_cluster
    return None if size <= most else (f"{cluster.m}x{cluster.n}", f"{most} CTAs", f"{min(cluster.m, 2)}x2")


def _multicast(peers: int, rows: int, depth: int, major: str) -> Finding:
    # Multicast divides the extent that is not contiguous.
    extent = rows if major == "k" else depth
    if peers == 1 or extent % (8 * peers) == 0:
        return None
    return peers, f"{extent} / {peers} a multiple of 8", nearest_of(peers, (1, 2) if extent % 16 == 0 else (1,))


@SHAPE.add("multicast.a", "design.cluster.n")
def _(c: Choices) -> Finding:
    """each CTA of a cluster row loads a share of A that is a multiple of 8 rows (one swizzle pattern)"""
    tile = c.point.design.tile
    return _multicast(c.point.design.cluster.n, tile.m, tile.k, c.point.kernel.a.major)


@SHAPE.add("multicast.b", "design.cluster.m")
def _(c: Choices) -> Finding:
    """each CTA of a cluster column loads a share of B that is a multiple of 8 rows (one swizzle pattern)"""
    tile = c.point.design.tile
    return _multicast(c.point.design.cluster.m, tile.n, tile.k, c.point.kernel.b.major)


# Epilogue ------------------------------------------------------------------------------------------------


@SHAPE.add("epilogue.operand", "kernel.c")
def _(c: Choices) -> Finding:
    """a chain with a tile operand needs kernel.c, and no other chain may give it; one tile operand at most"""
    given, wanted = c.point.kernel.c is not None, len(c.tile_operands)
    if wanted > 1:
        return f"{wanted} tile operands", "1", "1"
    if given != bool(wanted):
        return ("given", "absent", "remove it") if given else ("absent", "given", "{dtype: f16, major: n}")
    return None


@SHAPE.add("epilogue.dtype", "kernel.epilogue")
def _(c: Choices) -> Finding:
    """an operation takes a dtype only for a vector operand; a tile operand has that of kernel.c, a scalar f32"""
    for s in c.steps:
        if s.step.dtype != "f32" and not any(o.kind in ("vector_m", "vector_n") for o in s.op.operands):
            return f"{{op: {s.op.name}, dtype: {s.step.dtype}}}", "no dtype", s.op.name
    return None


@SHAPE.add("epilogue.n", "design.epilogue_n")
def _(c: Choices) -> Finding:
    """a subtile is 8, 16, 32 or 64 columns and divides tile.n"""
    legal = [n for n in (8, 16, 32, 64) if c.point.design.tile.n % n == 0]
    n = c.subtile_n
    return None if n in legal else (n, " or ".join(map(str, legal)) or "none", nearest_of(n, legal))


@SHAPE.add("epilogue.stages", "design.epilogue_stages")
def _(c: Choices) -> Finding:
    """stores go through 1 to 8 buffers per warpgroup, a divisor of its subtiles; the direct path has none"""
    stages = c.point.design.epilogue_stages
    if stages == "auto":
        return None
    if c.point.design.store == "direct":
        return stages, "auto", "auto"
    legal = [s for s in range(1, 9) if c.subtiles % s == 0]
    return None if stages in legal else (stages, f"a divisor of {c.subtiles} up to 8", nearest_of(stages, legal))
