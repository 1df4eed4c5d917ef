"""A file of small copies."""

__all__ = ["FILE", "FORMS"]

#: Both ways out; two producers in turns and a cast beside the plainest; small stages, which are quick to emulate.
FILE = """\
version: 1
name: small
purpose: Kernels for tests of the copy.
kernel:
  family: copy
  arch: sm_90a
  x: {dtype: f32}
  y: {dtype: bf16}
design:
  stage_bytes: 2048
  stages: 3
  consumer_warps: 2
  ctas_per_sm: 2
sweep:
  - design.store: [tma]
    design.slots: [3]
  - design.store: [direct]
    design.producer_warps: [2]
    kernel.x: [{dtype: f16}]
"""
#: Its points, in order.
FORMS = ("tma", "direct")
