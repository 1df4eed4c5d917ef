"""Plans a warp-specialised GEMM for Hopper: TMA ring, wgmma consumers, epilogue through shared memory.

Data flow: producer warps -> (ab_full) -> consumer warpgroups -> (ab_empty) -> producer warps, and the same once
more for C where the epilogue reads it. Every number that the template prints is computed here.
"""

from __future__ import annotations

from warpwright.canonical import plain
from warpwright.plan.dtypes import Dtype
from warpwright.plan.gemm.budgets_sm_90a import BUDGET
from warpwright.plan.gemm.choices import C_ORDER_BARRIER, EPILOGUE_BARRIER, ORDER_BARRIER, SWIZZLE_BYTES, Choices
from warpwright.plan.gemm.constants import constants
from warpwright.plan.gemm.label import label
from warpwright.plan.gemm.shapes_sm_90a import SHAPE
from warpwright.plan.rule import Rule
from warpwright.plan.types import Argument, Barrier, Mma, Plan, Role, TmaCopy, Violation
from warpwright.point import Point

__all__ = ["plan", "rules"]


def rules() -> tuple[Rule[Choices], ...]:
    """Return every rule of this family and architecture, in the order of evaluation."""
    return (*SHAPE.rules, *BUDGET.rules)


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    choices = Choices(point)
    violations = SHAPE.violations(choices) or BUDGET.violations(choices)
    if violations:
        return _illegal(choices, violations)
    buffers, shared_bytes = choices.buffers(choices.stages)
    cluster = point.design.cluster
    return Plan(
        family=point.kernel.family,
        arch=point.kernel.arch,
        label=label(choices),
        point=plain(point),
        symbol="gemm",
        threads=choices.threads,
        cluster=(cluster.m, cluster.n),
        shared_bytes=shared_bytes,
        entry_registers=choices.entry_registers,
        mma=_mma(choices),
        buffers=buffers,
        barriers=_barriers(choices),
        roles=_roles(choices),
        tma=_tma(choices),
        constants=constants(choices),
        arguments=_arguments(choices),
        facts=_facts(choices),
    )


def _illegal(c: Choices, violations: tuple[Violation, ...]) -> Plan:
    cluster = c.point.design.cluster
    nothing = Mma("", 0, 0, 0, 0)
    return Plan(
        family=c.point.kernel.family,
        arch=c.point.kernel.arch,
        label=label(c),
        point=plain(c.point),
        symbol="gemm",
        threads=0,
        cluster=(cluster.m, cluster.n),
        shared_bytes=0,
        entry_registers=0,
        mma=nothing,
        buffers=(),
        barriers=(),
        roles=(),
        tma=(),
        constants=(),
        arguments=(),
        violations=violations,
    )


def _mma(c: Choices) -> Mma:
    n, k = c.point.design.tile.n, c.arch.mma_k_bytes // c.ab.bytes
    return Mma(
        instruction=f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{c.ab.name}.{c.ab.name}",
        m=c.arch.mma_m,
        n=n,
        k=k,
        per_k_tile=c.warpgroup_m // c.arch.mma_m * (c.point.design.tile.k // k),
    )


def _barriers(c: Choices) -> tuple[Barrier, ...]:
    cluster = c.point.design.cluster
    peers = cluster.m + cluster.n - 1  # CTAs that receive A or B from this one, itself included
    everyone = "one thread per consumer warpgroup" + (f" of {peers} CTAs" if peers > 1 else "")
    found = [
        Barrier("ab_full", "mbarrier", c.stages, 1, c.stage_bytes, "consumer", "producer: arrive.expect_tx, then TMA",
                buffer="ab_full"),
        Barrier("ab_empty", "mbarrier", c.stages, c.sharing * peers, 0, "producer", everyone, buffer="ab_empty"),
    ]  # fmt: skip
    if c.tile_operands and c.c is not None:
        stage = 64 * c.subtile_n * c.c.bytes * c.sharing
        found += [
            Barrier("c_full", "mbarrier", c.c_stages, 1, stage, "consumer", "C loader: arrive.expect_tx, then TMA",
                    buffer="c_full"),
            Barrier("c_empty", "mbarrier", c.c_stages, 4 * c.sharing, 0, "C loader", "one thread per consumer warp",
                    buffer="c_empty"),
        ]  # fmt: skip
    if c.subtile_stages:
        ids = tuple(EPILOGUE_BARRIER + w for w in range(c.consumers))
        found.append(Barrier("epilogue", "named", 1, 128, 0, "consumer", "the warpgroup's own 128 threads", ids))
    if c.point.design.schedule == "pingpong":
        ids = tuple(ORDER_BARRIER + w for w in range(c.consumers))
        found.append(
            Barrier("mma_order", "named", 1, 256, 0, "consumer", "128 that wait, 128 of the other warpgroup", ids)
        )
        if c.tile_operands:
            ids = tuple(C_ORDER_BARRIER + w for w in range(c.consumers))
            found.append(
                Barrier("c_order", "named", 1, 256, 0, "consumer", "128 that wait, 128 of the other warpgroup", ids)
            )
    if cluster.m * cluster.n > 1:
        found.append(Barrier("cluster", "cluster", 1, c.threads * cluster.m * cluster.n, 0, "all", "all"))
    return tuple(found)


def _roles(c: Choices) -> tuple[Role, ...]:
    producer, consumer = c.split or (None, None)
    first = 4 * c.consumers
    warps = c.point.design.producer_warps
    duty = "computes alternate tiles" if c.point.design.schedule == "pingpong" else f"computes {c.warpgroup_m} rows"
    found = [Role(f"consumer {w}", 4 * w, 4, consumer, duty) for w in range(c.consumers)]
    found.append(Role("producer", first, warps, producer, "loads A and B into the ring"))
    if c.tile_operands:
        found.append(Role("C loader", first + warps, 1, producer, "loads C subtiles"))
    idle = c.threads // 32 - first - c.load_warps
    if idle:
        found.append(Role("idle", first + c.load_warps, idle, producer, "gives its registers up and exits"))
    return tuple(found)


def _tma(c: Choices) -> tuple[TmaCopy, ...]:
    kernel, tile, cluster = c.point.kernel, c.point.design.tile, c.point.design.cluster

    def copy(tensor: str, direction: str, element: Dtype, contiguous: int, strided: int, peers: int) -> TmaCopy:
        span = min(SWIZZLE_BYTES[c.swizzle(tensor)] // element.bytes, contiguous)
        return TmaCopy(
            tensor=tensor,
            direction="load" if direction == "load" else "store",
            dtype=element.name,
            box=(span, strided // peers, 1),
            swizzle=c.swizzle(tensor),
            multicast=peers,
            instructions=contiguous // span,
            buffer=tensor,
        )

    def modes(major_is_row_mode: bool, rows: int, depth: int) -> tuple[int, int]:
        return (rows, depth) if major_is_row_mode else (depth, rows)

    found = [
        copy("a", "load", c.ab, *modes(kernel.a.major == "m", tile.m, tile.k), cluster.n),
        copy("b", "load", c.ab, *modes(kernel.b.major == "n", tile.n, tile.k), cluster.m),
    ]
    if c.tile_operands and c.c is not None and kernel.c is not None:
        found.append(copy("c", "load", c.c, *modes(kernel.c.major == "m", 64, c.subtile_n), 1))
    if c.subtile_stages:
        found.append(copy("d", "store", c.d, *modes(kernel.d.major == "m", 64, c.subtile_n), 1))
    return tuple(found)


def _arguments(c: Choices) -> tuple[Argument, ...]:
    kernel = c.point.kernel
    aligned_d = c.arch.tma_alignment if c.subtile_stages else c.d.bytes

    def name(mode: str) -> str:
        return mode.upper()

    found = [
        Argument("a", "tensor", kernel.a.dtype, ("L", "M", "K"), name(kernel.a.major), meaning="A"),
        Argument("b", "tensor", kernel.b.dtype, ("L", "K", "N"), name(kernel.b.major), meaning="B"),
    ]
    operands = [(s, operand, argument) for s in c.steps for operand, argument in s.arguments]
    for _, operand, argument in operands:
        if operand.kind == "tile" and kernel.c is not None:
            major = name(kernel.c.major)
            found.append(Argument(argument, "tensor", kernel.c.dtype, ("L", "M", "N"), major, meaning="C"))
    found.append(
        Argument("d", "tensor", kernel.d.dtype, ("L", "M", "N"), name(kernel.d.major), True, aligned_d, "D, the output")
    )
    for s, operand, argument in operands:
        if operand.kind in ("vector_m", "vector_n"):
            extent = "M" if operand.kind == "vector_m" else "N"
            size = 4 if s.step.dtype == "f32" else 2
            found.append(Argument(argument, "vector", s.step.dtype, (extent,), extent, False, size, s.op.summary))
    for s, operand, argument in operands:
        if operand.kind == "scalar":
            found.append(Argument(argument, "scalar", "f32", meaning=s.op.summary))
    found.append(Argument("max_clusters", "scalar", "i32", meaning="clusters that the device holds at once"))
    return tuple(found)


def _facts(c: Choices) -> dict[str, int | float | str | bool]:
    design = c.point.design
    return {
        "consumers": c.consumers,
        "sharing": c.sharing,
        "warpgroup_m": c.warpgroup_m,
        "accumulators": c.accumulators,
        "stages": c.stages,
        "stage_bytes": c.stage_bytes,
        "subtile_n": c.subtile_n,
        "subtile_stages": c.subtile_stages,
        "subtiles": c.subtiles,
        "c_stages": c.c_stages,
        "persistent": design.scheduler.kind == "persistent",
    }
