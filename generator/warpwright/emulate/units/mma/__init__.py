"""Matrix products of one warp, of fragments in its registers (mma.sync), and the transposition of a fragment."""

from __future__ import annotations

from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.mma.emit import OPCODES
from warpwright.emulate.units.mma.products import movmatrix, warp_mma

UNIT = Unit("mma", OPCODES, (movmatrix, warp_mma))
