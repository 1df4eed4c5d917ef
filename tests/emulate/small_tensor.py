"""A file of small GEMMs for sm_100a: every form that their template has."""

__all__ = ["FILE", "FORMS"]

FILE = """\
version: 1
name: small
purpose: Kernels for tests of the emulator.
kernel:
  family: gemm
  arch: sm_100a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 32, k: 32}
  stages: 3
  scheduler: {kind: persistent, raster: m, group: 2}
sweep:
  - design.epilogue_n: [16]
  - design.cta_group: [2]
    design.cluster: [{m: 2, n: 1}, {m: 4, n: 2}]
    design.scheduler.snake: [true]
  - design.tile: [{m: 256, n: 32, k: 32}]
    design.accumulator_stages: [1]
  - design.tile: [{m: 256, n: 32, k: 32}]
    design.cta_group: [2]
    design.cluster: [{m: 2, n: 1}]
    design.epilogue_n: [16]
  - design.scheduler: [{kind: dynamic, raster: m, group: 2}]
    design.cluster: [{m: 1, n: 1}, {m: 2, n: 2}]
  - design.scheduler: [{kind: dynamic, raster: n, group: 2}]
    design.cta_group: [2]
    design.cluster: [{m: 2, n: 1}]
  - design.scheduler: [{kind: one_tile, raster: m, group: 2}]
  - design.epilogue_warps: [8]
    design.epilogue_n: [8]
  - design.store: [direct]
    design.epilogue_n: [8]
    kernel.d: [{dtype: f32, major: n}]
  - kernel.epilogue: [[alpha, beta_c, {op: bias_m, dtype: f16}]]
    kernel.c: [{dtype: f16, major: n}]
    kernel.a.major: [m]
    kernel.b.major: [n]
    kernel.d.major: [m]
  - kernel.a.dtype: [mxf8_e4m3]
    kernel.b.dtype: [mxf8_e4m3]
    design.tile: [{m: 128, n: 128, k: 128}]
"""
#: Its points, in order.
FORMS = (
    "one_cta",
    "pair",
    "pairs",
    "two_consumers",
    "pair_of_two_consumers",
    "dynamic",
    "dynamic_cluster",
    "dynamic_pair",
    "one_tile",
    "side_by_side",
    "direct",
    "chain_with_c",
    "scaled",
)
