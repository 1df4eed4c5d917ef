"""The starter file that `warpwright new` writes."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# What this file explores; `warpwright run` on it checks, builds and validates every point.
version: 1
name: my_gemm            # lower case; results go to out/my_gemm/
purpose: Explore tiles and schedules of a half-precision GEMM.

# What is computed: D (l, m, n) = epilogue(A (l, m, k) B (l, k, n)).
kernel:
  family: gemm
  arch: sm_90a                     # sm_100a: Blackwell, with more fields of design: docs/gemm_sm100.md
  a: {dtype: f16, major: k}        # f16 | bf16 (docs/formats.md: more on sm_100a); major is the mode of stride 1: m | k
  b: {dtype: f16, major: k}        # the dtype of A; n | k
  d: {dtype: f16, major: n}        # f16 | bf16 | f32; m | n
  # c: {dtype: f16, major: n}      # only for an epilogue with a tile operand
  accumulator: f32
  epilogue: []                     # a chain of operations, e.g. [alpha, {op: bias_n, dtype: f16}, relu]

# How it is computed. A field that is left out has the value shown here.
design:
  tile: {m: 128, n: 128, k: 64}    # elements of D per CTA, and depth of one stage (no defaults)
  cluster: {m: 1, n: 1}            # CTAs that share loads by multicast
  stages: auto                     # auto: as many as fit in shared memory
  producer_warps: 1
  consumer_warps: auto             # on sm_90a 8, two warpgroups; on sm_100a one warp for each 128 rows of the tile
  schedule: cooperative            # cooperative: the consumers share a tile; pingpong: one tile each
  registers: auto                  # auto | none | {producer: 40, consumer: 232}
  scheduler: {kind: persistent, raster: m, group: 8}   # persistent | one_tile; group: clusters that share L2
  store: tma                       # tma | direct
  epilogue_n: auto                 # columns of one epilogue subtile
  epilogue_stages: auto

# Values per field, or a range such as {from: 2, to: 6}; every combination is one point. A list of such mappings is the
# union of their products.
sweep:
  design.tile.n: [64, 128, 256]
  design.cluster: [{m: 1, n: 1}, {m: 2, n: 1}]
  design.schedule: [cooperative, pingpong]

# Which points to keep; all must hold. Fields without their `design.` prefix; + - * / // %, and, or, not, in.
where:
  - tile.m * tile.n <= 32768
  - schedule != "pingpong" or tile.n <= 128

validate:
  problems: standard               # or a list such as [{m: 128, n: 256, k: 64, l: 2}]
  repeats: 3                       # runs of each problem, which must agree bit by bit

bench:
  problems:
    - {m: 4096, n: 4096, k: 4096}
    - {m: 8192, n: 8192, k: 8192}
"""
