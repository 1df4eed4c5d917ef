"""A file of small rungs of one role."""

__all__ = ["FILE", "FORMS"]

FILE = """\
version: 1
name: small
purpose: Kernels for tests of the ladder.
kernel: {family: ladder, arch: sm_90a}
design:
  tile: {m: 64, n: 32, k: 32}
sweep:
  - design.rung: [1, 2, 3]
  - design.rung: [4]
    design.stages: [3]
  - kernel.arch: [sm_100a]
    design.rung: [1, 2, 3]
    design.tile.m: [128]
"""
#: Its points, in order.
FORMS = ("serial", "grid", "tma", "ring", "blackwell_synchronous", "blackwell_tiled", "blackwell_tma")
