"""The starter file that `warpwright new` writes."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# What this file explores; `warpwright run` on it checks, builds and validates every point.
version: 1
name: my_sgemm           # lower case; results go to out/my_sgemm/
purpose: Explore tiles and pipelines of a true fp32 GEMM.

# What is computed: D (l, m, n) = activation(A (l, m, k) B (l, k, n) + bias (n)), all f32, by fused multiply-add; D is
# contiguous along n.
kernel:
  family: sgemm
  arch: sm_90a
  a: {major: m}                    # the mode of stride 1: m | k
  b: {major: n}                    # n | k
  bias: true
  activation: relu                 # relu | identity

# How it is computed. A field that is left out has the value shown here.
design:
  specialise: producer             # producer: warps that only load, by TMA | none: all warps load (cp.async)
  warps: {m: 4, n: 2}              # that compute: a tile has warps x lanes x thread rows and columns
  thread: {m: 16, n: 8}            # elements of D per thread: 8x8, 16x8 or 8x16
  lanes_m: auto                    # 4 | 8 of a warp's lanes along m; auto: warps as square as can be
  lane_order: crossed              # plain, interleaved: reads of half as many wavefronts, and slower
  tile_k: 32                       # depth of one stage: 8 | 16 | 32 | 64
  unroll: auto                     # steps of k that are written out
  stages: auto                     # 2 to 6; auto: as many as fit in shared memory
  producer_warps: auto             # auto: 1
  registers: auto                  # auto | none | {producer: 40, consumer: 232}
  ctas_per_sm: 1                   # CTAs that share an SM
  raster: m                        # the direction in which consecutive tiles walk: m | n
  group: 8                         # tiles that walk together, so that L2 is shared

# Values per field, or a range such as {from: 2, to: 6}; every combination is one point. A list of such mappings is the
# union of their products.
sweep:
  - design.stages: [2, 3, 4]
  - design.thread: [{m: 8, n: 8}]
    design.warps: [{m: 2, n: 4}]
    design.specialise: [producer, none]

# Which points to keep; all must hold. Fields without their `design.` prefix; + - * / // %, and, or, not, in.
where:
  - thread.m * thread.n >= 64

validate:
  problems: standard               # or a list such as [{m: 128, n: 256, k: 64, l: 2}]
  repeats: 3                       # runs of each problem, which must agree bit by bit

bench:
  problems:
    - {m: 4096, n: 4096, k: 4096}
    - {m: 1024, n: 1024, k: 1024}
    - {m: 2048, n: 2048, k: 2048}
    - {m: 4000, n: 5000, k: 3000}
"""
