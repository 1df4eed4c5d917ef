"""The starter file that `warpwright new` writes."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# What this file explores; `warpwright run` on it checks, builds and validates every point.
version: 1
name: my_ladder          # lower case; results go to out/my_ladder/
purpose: What each idea behind a fast GEMM is worth, one by one.

# What is computed: D = relu(A B + bias), summed in f32; A and B contiguous along K, D along N.
kernel:
  family: ladder
  arch: sm_90a
  dtype: f16                       # f16 | bf16: of A, B and D

# How it is computed. A field that is left out has the value shown here, but for the rung.
design:
  rung: 1                          # 1 to 9, docs/ladder.md: each adds one idea to the one before
  tile: {m: 128, n: 128, k: 64}    # m: 64, 128; n: 32, 64, 96, 128; k: 32, 64
  stages: auto                     # of the ring, from rung 4 on; auto: as many as fit

# Values per field, or a range such as {from: 2, to: 6}; every combination is one point. A list of such mappings is the
# union of their products.
sweep:
  design.rung: {from: 1, to: 9}

# Which points to keep; all must hold. Fields without their `design.` prefix; + - * / // %, and, or, not, in.
where:
  - tile.m * tile.n <= 16384

validate:
  problems: standard               # or a list such as [{m: 512, n: 512, k: 512}]
  repeats: 3                       # runs of each problem, which must agree bit by bit

bench:
  problems:
    - {m: 4096, n: 4096, k: 4096}
"""
