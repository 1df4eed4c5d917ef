"""A file of small GEMMs."""

__all__ = ["FILE", "FORMS"]

#: A kernel in a cluster of two, and one whose epilogue reads C.
FILE = """\
version: 1
name: small
purpose: Kernels for tests of the emulator.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 64, n: 32, k: 64}
  consumer_warps: 4
  stages: 3
sweep:
  - design.cluster: [{m: 2, n: 1}]
  - kernel.epilogue: [[alpha, beta_c]]
    kernel.c: [{dtype: f16, major: n}]
    design.cluster: [{m: 1, n: 1}]
"""
#: Its points, in order.
FORMS = ("cooperative", "with_c")
