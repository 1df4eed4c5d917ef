"""The starter file that `warpwright new` writes."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# What this file explores; `warpwright run` on it checks, builds and validates every point.
version: 1
name: my_copy            # lower case; results go to out/my_copy/
purpose: Explore stages and residency of a scaled copy.

# What is computed: y (n) = alpha x (n), multiplied in f32 and rounded once to y's dtype.
kernel:
  family: copy
  arch: sm_90a
  x: {dtype: f16}                  # f16 | bf16 | f32
  y: {dtype: f32}                  # f16 | bf16 | f32

# How it is computed. A field that is left out has the value shown here.
design:
  stage_bytes: 4096                # one chunk, counted in the wider dtype: a multiple of 512 per consumer warp
  stages: auto                     # chunks in the ring; auto: 64 KiB in flight per SM, if they fit in shared memory
  consumer_warps: 4                # warps that scale, each its own slice of every chunk
  producer_warps: 1                # warps that load; several take turns
  ctas_per_sm: 4                   # CTAs that share an SM, and its shared memory
  store: direct                    # direct: from registers | tma: through shared memory
  slots: auto                      # tma: buffers per consumer warp on the way out, 1 to 8; auto: 2

# Values per field, or a range such as {from: 2, to: 6}; every combination is one point. A list of such mappings is the
# union of their products.
sweep:
  design.stage_bytes: [4096, 8192]
  design.ctas_per_sm: [2, 4]
  design.store: [direct, tma]

# Which points to keep; all must hold. Fields without their `design.` prefix; + - * / // %, and, or, not, in.
where:
  - stage_bytes * ctas_per_sm >= 16384

validate:
  problems: standard               # or a list such as [{n: 4096}]
  repeats: 3                       # runs of each problem, which must agree bit by bit

bench:
  problems:
    - {n: 268435456}
    - {n: 16777216}
"""
