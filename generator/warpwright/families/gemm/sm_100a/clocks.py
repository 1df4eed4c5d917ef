"""What a GEMM with tcgen05 takes on B200, in clocks of an SM: functions of plain numbers, with the source of each.

No Blackwell device has run anything of this project. The figures are what others measured on a B200 (microbench:
SemiAnalysisAI/microbench-blackwell at 9a068d85, at 1.965 GHz) and, where nobody did, what an H200 was found to take.
None is fitted to what is published of six kernels (modern-gpu-programming-for-mlsys, chapter "Scaling GEMM", end-to-end
results): tests compare.
"""

from __future__ import annotations

from typing import NamedTuple

from warpwright.archs import Device

__all__ = [
    "BEGIN", "Clocks", "Shape", "Tiles", "chain", "clocks", "dram_rate", "dram_seconds", "interval", "launched",
    "seconds",
]  # fmt: skip

#: Bytes of K that one MMA takes, of every kind: what a clock multiplies is the same number of bytes (archs.Device).
MMA_BYTES = 32
#: Clocks from issuing a chain of MMAs until a commit's barrier is seen, beside their intervals; by CTAs and rows of D
#: in each (microbench, umma_latency/fit_results.csv).
CHAIN = {(1, 128): 148, (1, 64): 132, (2, 128): 182, (2, 64): 177}
#: Seconds from asking TMA for a stage until its bytes begin to flow. With one CTA on every SM a box of 8 KiB is there
#: after 962 clocks (microbench, tma2d_latency), of which 128 are its own at PORT's rate.
LOAD_LATENCY = (962 - 128) / 1.965e9
#: Bytes per clock that one SM takes from L2 or its peers while L2 has some to spare; where all SMs ask for more than it
#: gives, each gets `Device.l2_bytes_per_clock`. The first is H200's (the ladder's, fitted to nine kernels).
PORT = 64
#: Clocks in which one warpgroup converts 128 x 128 elements of D, stores them in shared memory and has TMA take them,
#: without the bytes' own way: H200's (the ladder's). Tensor memory comes on top.
EPILOGUE = 2200
#: Columns of tensor memory that a warp reads per clock, for its 32 lanes: a word each. Assumed: what is published as
#: its rate (arXiv 2512.02189) does not say of what. At a tenth of it an epilogue takes two fifths longer.
COLUMNS_PER_CLOCK = 1
#: Of a CTA: clocks from the end of the one before to its first load, barriers and descriptors included: H200's.
BEGIN = 2300
#: Clocks of a synchronisation of all threads: H200's.
SYNCHRONISE = 20
#: Bytes in flight per SM, and bytes per second of DRAM that they are enough for (microbench, tma2d_throughput).
IN_FLIGHT = ((16 << 10, 3.8e12), (32 << 10, 5.9e12), (64 << 10, 7.2e12))


class Shape(NamedTuple):
    """A kernel in plain numbers. A tile is that of one CTA; a pair's MMA has the rows of both."""

    tile_m: int
    tile_n: int
    tile_k: int
    bits: int = 16  # of an element of A and B in shared memory
    written: float = 2  # bytes per element of D, with what the epilogue reads beside it
    cta_group: int = 1
    cluster_m: int = 1  # CTAs, those of a pair included
    cluster_n: int = 1
    stages: int = 1
    accumulator_stages: int = 1
    consumers: int = 1  # warps that issue MMAs, each for its share of the tile's rows
    epilogue_warps: int = 4
    persistent: bool = False
    by_threads: bool = False  # A and B come through registers, 16 bytes at a time
    in_turn: bool = False  # the same threads ask for a stage, wait for its MMAs, and then ask for the next
    one_cta: bool = False  # walks over all tiles
    block: int = 0  # elements of A and B that share a scale of one byte; 0: there are none
    scale_bytes: float = 0  # of a stage, in one CTA

    @property
    def rows(self) -> int:
        """Of D, in one CTA, per MMA."""
        return self.tile_m // self.consumers

    @property
    def mmas(self) -> float:
        """Of a stage and consumer."""
        return self.tile_k * self.bits / 8 / MMA_BYTES

    @property
    def stage_bytes(self) -> float:
        """That one CTA keeps of a stage: its rows of A, and its share of the columns of B."""
        return self.tile_k * self.bits / 8 * (self.tile_m + self.tile_n / self.cta_group) + self.scale_bytes

    @property
    def asked_bytes(self) -> float:
        """That one CTA asks L2 for per stage: what a cluster shares is asked for once, but for scales."""
        shared = self.tile_m / self.cluster_n + self.tile_n / self.cluster_m
        return self.tile_k * self.bits / 8 * shared + self.scale_bytes

    @property
    def element_bytes(self) -> float:
        """Of A and B in global memory, with its part of a scale."""
        return self.bits / 8 + (1 / self.block if self.block else 0)


class Tiles(NamedTuple):
    """What there is to compute, in tiles: `ctas` at once, `waves` of them; `steps` along K of each."""

    tiles: int
    ctas: int
    waves: int
    steps: int


class Clocks(NamedTuple):
    """Of a step along K, the MMAs, the bytes at L2's rate when all ask, a load from asking to there, and the step that
    comes of them; of a tile, the epilogue, and what of the tile is left in the open beside its steps; once per CTA."""

    compute: float
    transfer: float
    load: float
    step: float
    epilogue: float
    beside: float
    once: float


def interval(n: int, rows: int, cta_group: int = 1) -> float:
    """Clocks from one MMA to the next, n columns wide with `rows` rows in each CTA.

    The tensor cores take them, or shared memory does, which gives 128 bytes per clock. Microbench, umma_throughput:
    128x64 48, 128x256 128, a pair's 256x256 128; 64 rows take as long as 128, but for a pair's.
    """
    tensor = n / 4 if rows == 64 and cta_group == 2 else n / 2
    return max(tensor, MMA_BYTES * (rows + n / cta_group) / 128)


def chain(s: Shape) -> float:
    """Clocks from issuing the MMAs of a stage until its barrier says that they are done."""
    return _compute(s) + CHAIN.get((s.cta_group, s.rows), CHAIN[s.cta_group, 128])


def launched(s: Shape, m: int, n: int, k: int, batches: int, sms: int) -> Tiles:
    """How the problem is cut. Clusters are whole; one CTA has an SM to itself."""
    size = s.cluster_m * s.cluster_n
    tiles = _ceil(m, s.tile_m * s.cluster_m) * _ceil(n, s.tile_n * s.cluster_n) * batches * size
    ctas = min(tiles, 1 if s.one_cta else max(1, sms // size) * size)
    return Tiles(tiles, ctas, _ceil(tiles, ctas) if tiles else 0, _ceil(k, s.tile_k))


def clocks(s: Shape, steps: int, device: Device) -> Clocks:
    """Return what a tile of `steps` steps along K takes.

    What follows the other adds up; what overlaps costs as much as the longer. A stage of a ring is free again once it
    has been loaded and its MMAs are done, so that `stages` of them pass in that time at best.
    """
    compute = _compute(s)
    arrives = s.stage_bytes / PORT  # whoever asked for it
    # One CTA is alone with L2.
    transfer = arrives if s.one_cta else max(arrives, s.asked_bytes / device.l2_bytes_per_clock)
    load = LOAD_LATENCY * device.hertz + arrives
    if s.by_threads:  # through registers and into shared memory, and all must have come
        load += s.stage_bytes / device.shared_bytes_per_clock + SYNCHRONISE
    round_trip = load + chain(s)
    step = round_trip if s.in_turn else max(compute, transfer, round_trip / s.stages)
    epilogue = _epilogue(s, device)
    inside = steps * step
    if s.accumulator_stages > 1 and s.persistent:
        # Hidden behind the next tile, as far as that is long enough, and as L2 has room for what is stored meanwhile.
        crossing = steps * transfer + _stored(s) / device.l2_bytes_per_clock
        beside, once = max(0.0, epilogue - inside, crossing - inside), BEGIN + load + epilogue
    else:
        beside, once = epilogue, BEGIN + (0.0 if s.in_turn else load)
    # A persistent CTA begins once, and its producer runs ahead into the next tile while this one is stored.
    if not s.persistent and not s.one_cta:
        beside, once = beside + once, 0.0
    return Clocks(compute, transfer, load, step, epilogue, beside, once)


def seconds(s: Shape, m: int, n: int, k: int, batches: int, device: Device) -> float:
    """Seconds of a launch."""
    tiles = launched(s, m, n, k, batches, device.sms)
    c = clocks(s, tiles.steps, device)
    busy = (tiles.waves * (tiles.steps * c.step + c.beside) + c.once) / device.hertz if tiles.tiles else 0.0
    return max(busy, dram_seconds(s, m, n, k, batches, device)) + device.launch_seconds


def dram_seconds(s: Shape, m: int, n: int, k: int, batches: int, device: Device) -> float:
    """Seconds in which A, B and D cross DRAM once, with as many bytes in flight as the ring has room for."""
    moved = batches * (s.element_bytes * (m * k + k * n) + s.written * m * n)
    return moved / dram_rate(s, device)


def dram_rate(s: Shape, device: Device) -> float:
    """Bytes per second that DRAM gives to as many bytes in flight: straight between the points that were measured."""
    in_flight, rate, before = s.stages * s.stage_bytes, IN_FLIGHT[-1][1], (0.0, 0.0)
    for point in IN_FLIGHT:
        if in_flight <= point[0]:
            rate = before[1] + (point[1] - before[1]) * (in_flight - before[0]) / (point[0] - before[0])
            break
        before = point
    return min(rate, device.dram_bytes_per_second)


def _compute(s: Shape) -> float:
    """Clocks of a stage's MMAs: consumers share the tensor cores."""
    return s.consumers * s.mmas * interval(s.tile_n, s.rows, s.cta_group)


def _epilogue(s: Shape, device: Device) -> float:
    """Clocks from a tile's accumulators to D: warpgroups share its columns, or have a consumer's rows each."""
    warpgroups = max(s.epilogue_warps // 4, 1)
    # Rows of D lie in as many lanes; two consumers have columns of their own.
    columns = s.consumers * s.tile_n / warpgroups
    elements = s.tile_m * s.tile_n / warpgroups
    through_threads = columns / COLUMNS_PER_CLOCK + EPILOGUE * elements / (128 * 128)
    return through_threads + _stored(s) / device.l2_bytes_per_clock


def _stored(s: Shape) -> float:
    """Bytes of a tile of D, and of what the epilogue reads beside it."""
    return s.written * s.tile_m * s.tile_n


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
