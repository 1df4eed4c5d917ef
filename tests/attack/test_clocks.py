"""The clock model of B200 on random kernels and problems: what must hold whatever they are."""

from __future__ import annotations

import random

from warpwright.archs import B200
from warpwright.families.gemm.sm_100a import clocks
from warpwright.families.gemm.sm_100a.clocks import Shape

CASES = 20_000


def random_shape(pick: random.Random) -> Shape:
    group, consumers = pick.choice((1, 2)), pick.choice((1, 1, 2))
    bits = pick.choice((4, 8, 16, 32))
    return Shape(
        tile_m=128 * consumers,
        tile_n=32 * pick.randrange(1, 9),
        tile_k=pick.choice((1, 2, 4)) * 256 // bits,
        bits=bits,
        written=pick.choice((1, 2, 4, 6)),
        cta_group=group,
        cluster_m=group * pick.choice((1, 1, 2)),
        cluster_n=pick.choice((1, 1, 2)),
        stages=pick.randrange(2, 10),
        accumulator_stages=pick.choice((1, 2)),
        consumers=consumers,
        epilogue_warps=4 * pick.choice((consumers, 2)),
        persistent=pick.random() < 0.7,
    )


def random_extents(pick: random.Random) -> tuple[int, int, int, int]:
    m, n, k = (pick.choice((0, 1, 100, 1024, 4096, 8192, 16384, pick.randrange(1, 20_000))) for _ in range(3))
    return m, n, k, pick.choice((0, 1, 1, 1, 3))


def test_what_must_hold(rng: random.Random, seed: int) -> None:
    """A time is at least what the tensor cores, DRAM and a launch take.

    More stages, a second accumulator, more warps for the epilogue and a faster L2 never make it longer, half the SMs
    never shorter; and tiles fill their waves.
    """
    faster = B200.__class__(**{**vars(B200), "l2_bytes_per_clock": 2 * B200.l2_bytes_per_clock})
    for _ in range(CASES):
        s, extents = random_shape(rng), random_extents(rng)
        m, n, k, batches = extents
        told = f"ATTACK_SEED={seed}: {s} {extents}"
        time = clocks.seconds(s, *extents, B200)
        flop = 2 * m * n * k * batches
        least = flop / (B200.sms * B200.hertz * B200.flop_of(s.bits))
        dram = clocks.dram_seconds(s, *extents, B200)
        assert time >= max(least, dram) + B200.launch_seconds, told
        slack = time * (1 + 1e-12)
        assert clocks.seconds(s._replace(stages=s.stages + 1), *extents, B200) <= slack, told
        assert clocks.seconds(s, *extents, faster) <= slack, told
        if s.epilogue_warps == 4 * s.consumers == 4:
            assert clocks.seconds(s._replace(epilogue_warps=8), *extents, B200) <= slack, told
        if s.persistent and s.accumulator_stages == 1:
            c = clocks.clocks(s, -(-k // s.tile_k), B200)
            more = clocks.seconds(s._replace(accumulator_stages=2), *extents, B200)
            assert more <= slack + (c.load + c.epilogue) / B200.hertz, told  # the last one's epilogue is in the open
        half = B200.__class__(**{**vars(B200), "sms": B200.sms // 2})
        assert clocks.seconds(s, *extents, half) >= time * (1 - 1e-12), told
        tiles = clocks.launched(s, *extents, B200.sms)
        assert tiles.tiles == 0 or tiles.ctas * (tiles.waves - 1) < tiles.tiles <= tiles.ctas * tiles.waves, told
