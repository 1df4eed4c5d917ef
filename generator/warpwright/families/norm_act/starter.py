"""The starter file that `warpwright new` writes."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# What this file explores; `warpwright run` on it checks, builds and validates every point.
version: 1
name: my_norm            # lower case; results go to out/my_norm/
purpose: Does it pay to specialise warps of a layer norm with GELU?

# What is computed: y (M, N) = activation(norm(x + residual) weight + bias) over rows, in f32, rounded once to y.
kernel:
  family: norm_act
  arch: sm_90a
  x: {dtype: bf16}                 # f16 | bf16 | f32
  y: {dtype: bf16}                 # f16 | bf16 | f32
  norm: layer                      # layer | rms
  eps: 0.00001                     # added to the variance, or to the mean square
  residual: false                  # a matrix like x, which is added to it first
  weight: {dtype: bf16}            # of each column; left out: none
  bias: {dtype: bf16}              # likewise
  activation: gelu_tanh            # identity | relu | silu | gelu_tanh | gelu_erf

# How it is computed. A field that is left out has the value shown here.
design:
  specialise: tma                  # none: all warps do everything | preprocess | tma: one thread loads, others compute
  columns: 4096                    # of a row, at most: a row may have fewer
  warps_per_row: 4                 # of a group, which has a row of its own and holds it in registers
  groups: 3                        # of a CTA
  ctas_per_row: 1                  # none, not persistent: 2, 4 or 8 CTAs of a cluster have a part of each row
  rows_per_group: 1                # none, not persistent: rows of a group, which one thread asks for all at once
  producer_warps: auto             # warps that load; auto: 1 (tma), 4 (preprocess, which normalise too), 0
  producer_groups: 1               # preprocess: rows that producers load at once
  stages: auto                     # rows in the ring; auto: 64 KiB in flight per SM, if they fit in shared memory
  ring: mbarrier                   # preprocess: what tells that a stage is full, or empty: mbarrier | named
  ctas_per_sm: 1                   # CTAs that share an SM, its registers and its shared memory
  persistent: true                 # false (none only): each group has one row, and there are as many CTAs as that takes
  row: registers                   # where a row stays: registers | shared | streamed: it is loaded for each walk
  scales: registers                # of a thread that holds its weight and bias | shared: in shared memory, as f32
  reallocate: false                # tma: a warpgroup loads, and gives most of its registers to the others
  access_bytes: 16                 # that a lane moves at once; rows begin at multiples of it: 2 | 4 | 8 | 16

# Values per field, or a range such as {from: 2, to: 6}; every combination is one point. A list of such mappings is the
# union of their products.
sweep:
  - design.specialise: [none, tma]
    design.groups: [1, 3]
  - design.specialise: [preprocess]
    design.producer_warps: [4]
    design.groups: [2, 3]

# Which points to keep; all must hold. Fields without their `design.` prefix; + - * / // %, and, or, not, in.
where:
  - groups * warps_per_row <= 12

validate:
  problems: standard               # or a list such as [{m: 1024, n: 4096}]
  repeats: 3                       # runs of each problem, which must agree bit by bit

bench:
  problems:
    - {m: 32768, n: 4096}
"""
