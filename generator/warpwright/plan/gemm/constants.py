"""The constants block of a rendered gemm: every number with the formula that gave it."""

from __future__ import annotations

from warpwright.plan.gemm.choices import C_ORDER_BARRIER, EPILOGUE_BARRIER, ORDER_BARRIER, Choices
from warpwright.plan.types import Constant

__all__ = ["constants"]


def constants(c: Choices) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them."""
    design = c.point.design
    tile, cluster = design.tile, design.cluster
    found = [
        Constant("TILE_M", tile.m, "rows of D per CTA tile"),
        Constant("TILE_N", tile.n, "columns of D per CTA tile"),
        Constant("TILE_K", tile.k, "depth of one stage"),
        Constant("CLUSTER_M", cluster.m, "CTAs along M: they share tiles of B"),
        Constant("CLUSTER_N", cluster.n, "CTAs along N: they share tiles of A"),
        Constant("STAGES", c.stages, _stages_formula(c)),
        Constant("CONSUMERS", c.consumers, "consumer warpgroups"),
        Constant("THREADS", c.threads, _threads_formula(c)),
        Constant("WARPGROUP_M", c.warpgroup_m, f"rows of one warpgroup: {_share_formula(c)}"),
        Constant("K_BLOCKS", tile.k // 16, "MMAs along one stage: TILE_K / 16"),
        Constant("STAGE_BYTES", c.stage_bytes, f"(TILE_M + TILE_N) * TILE_K * {c.ab.bytes}"),
        Constant("EMPTY_ARRIVALS", c.sharing * (cluster.m + cluster.n - 1), _arrivals_formula(c)),
    ]  # fmt: skip
    turns = ": they take turns, one k-tile each" if design.producer_warps > 1 else ""
    found.append(Constant("PRODUCER_WARPS", design.producer_warps, "warps that load A and B" + turns))
    if c.split:
        found.append(Constant("PRODUCER_REGISTERS", c.split[0], f"of {c.entry_registers} at entry"))
        total = 128 * (c.split[0] + c.consumers * c.split[1])
        formula = f"128 * ({c.split[0]} + {c.consumers} * {c.split[1]}) = {total} of {c.arch.registers} in all"
        found.append(Constant("CONSUMER_REGISTERS", c.split[1], formula))
    if cluster.n > 1:
        mask = sum(1 << (cluster.m * n) for n in range(cluster.n))
        found.append(Constant("A_MULTICAST", f"0b{mask:b}", "CTAs of m = 0, that share A; rank = m + CLUSTER_M * n"))
    if cluster.m > 1:
        found.append(Constant("B_MULTICAST", f"0b{(1 << cluster.m) - 1:b}", "CTAs of n = 0, that share B"))
    found += [
        Constant("SUBTILE_N", c.subtile_n, "columns of an epilogue subtile of 64 rows"),
        Constant("SUBTILES_M", c.warpgroup_m // 64, "WARPGROUP_M / 64"),
        Constant("SUBTILES_N", tile.n // c.subtile_n, "TILE_N / SUBTILE_N"),
    ]
    if c.subtile_stages:
        found.append(Constant("SUBTILE_STAGES", c.subtile_stages, "buffers per warpgroup through which D leaves"))
    if c.tile_operands and c.c is not None:
        found += [
            Constant("C_STAGES", c.c_stages, "ring of C subtiles"),
            Constant("C_STAGE_BYTES", 64 * c.subtile_n * c.c.bytes * c.sharing, _c_formula(c)),
            Constant("C_EMPTY_ARRIVALS", 4 * c.sharing, "consumer warps that read a stage"),
        ]
    if design.schedule == "pingpong" and c.tile_operands:
        found.append(Constant("SUBTILES", c.subtiles, "SUBTILES_M * SUBTILES_N"))
    if c.subtile_stages or design.schedule == "pingpong":
        found.append(Constant("WARPGROUP", 128, "threads"))
    alignment = c.arch.tma_alignment
    found += [
        Constant("AB_ALIGNMENT", alignment // c.ab.bytes, "elements in TMA's 16 bytes: every stride is a multiple"),
    ]
    if c.tile_operands and c.c is not None:
        found.append(Constant("C_ALIGNMENT", alignment // c.c.bytes, "likewise"))
    direct = not c.subtile_stages
    found.append(
        Constant("D_ALIGNMENT", 1 if direct else alignment // c.d.bytes, "threads store D" if direct else "likewise")
    )
    if c.subtile_stages:
        lines = 64 if c.point.kernel.d.major == "n" else c.subtile_n
        steps = -(-(alignment // c.d.bytes) * lines // 128)
        across = "rows" if c.point.kernel.d.major == "n" else "columns"
        found += [
            Constant("EDGE_WIDTH", 128 // lines, f"threads of a warpgroup for each of a subtile's {lines} {across}"),
            Constant("EDGE_STEPS", steps, "D_ALIGNMENT / EDGE_WIDTH, rounded up"),
        ]
        found.append(
            Constant("EPILOGUE", EPILOGUE_BARRIER, "first of CONSUMERS named barriers, 3 at most; 0 is sync_threads")
        )
    if design.schedule == "pingpong":
        found.append(Constant("MMA_ORDER", ORDER_BARRIER, "first of 2 named barriers"))
        if c.tile_operands:
            found.append(Constant("C_ORDER", C_ORDER_BARRIER, "likewise"))
    found.append(Constant("GROUP", design.scheduler.group, "clusters that walk together so that L2 serves them"))
    return tuple(found)


def _stages_formula(c: Choices) -> str:
    how = "largest that fits" if c.point.design.stages == "auto" else f"given; {c.fitting_stages} fit"
    return f"{how} {c.arch.shared_bytes} B of shared memory"


def _threads_formula(c: Choices) -> str:
    if c.reallocates:
        return "128 * (CONSUMERS + 1)"
    return f"128 * CONSUMERS + 32 * {c.load_warps}"


def _share_formula(c: Choices) -> str:
    return "TILE_M" if c.sharing == 1 else f"TILE_M / {c.sharing}"


def _arrivals_formula(c: Choices) -> str:
    cluster = c.point.design.cluster
    who = "one warpgroup" if c.sharing == 1 else f"{c.sharing} warpgroups"
    if cluster.m * cluster.n == 1:
        return f"{who} per stage"
    return f"{who} of each of CLUSTER_M + CLUSTER_N - 1 CTAs"


def _c_formula(c: Choices) -> str:
    assert c.c is not None
    return f"64 * SUBTILE_N * {c.c.bytes}" + (f" * {c.sharing} warpgroups" if c.sharing > 1 else "")
