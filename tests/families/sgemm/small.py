"""A file of small SGEMMs."""

__all__ = ["FILE", "FORMS"]

#: With and without specialised warps, and K-major; as few warps as there can be, which are quick to emulate.
FILE = """\
version: 1
name: small
purpose: Kernels for tests of the SGEMM.
kernel:
  family: sgemm
  arch: sm_90a
  a: {major: m}
  b: {major: n}
design:
  thread: {m: 8, n: 8}
  warps: {m: 1, n: 1}
  tile_k: 8
  unroll: 4
  stages: 3
  group: 2
sweep:
  - design.warps: [{m: 1, n: 2}]
    design.specialise: [producer, none]
  - kernel.a.major: [k]
    kernel.b.major: [k]
    design.stages: [2]
    design.producer_warps: [2]
"""
#: Its points, in order.
FORMS = ("specialised", "all", "along_k")
