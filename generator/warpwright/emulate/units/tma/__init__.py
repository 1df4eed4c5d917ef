"""Copies that the hardware makes by itself between global and shared memory: of tensors (TMA), and of bare bytes."""

from __future__ import annotations

from warpwright.emulate.machine.findings import Kind
from warpwright.emulate.translate.unit import Unit
from warpwright.emulate.units.tma.bulk import bulk_load, bulk_prefetch, bulk_store
from warpwright.emulate.units.tma.copies import READS, TAIL, bulk_commit, bulk_wait, check_read
from warpwright.emulate.units.tma.emit import OPCODES
from warpwright.emulate.units.tma.reduce import bulk_peer, bulk_reduce
from warpwright.emulate.units.tma.replaced import map_copy, map_fence, map_replace
from warpwright.emulate.units.tma.tensors import tensor_load, tensor_store

UNIT = Unit(
    "tma",
    OPCODES,
    (
        bulk_commit, bulk_load, bulk_peer, bulk_prefetch, bulk_reduce, bulk_store, bulk_wait, map_copy,
        map_fence, map_replace, tensor_load, tensor_store,
    ),
    kinds={"tma": Kind("a tensor copy or bulk copy whose operands are illegal", "crash")},
    observes={
        "tma": "{parameter: {boxes, multicast, lanes, copies}}; a multicast counts once",
        "bulk": "{load, store, peer or reduce: {copies, bytes, multicast, lanes}}; a multicast counts once",
    },
    rules={
        READS: "what was read wants a proxy fence before a copy overwrites it; without, a barrier alone orders the two",
        TAIL: "a warp waits for its bulk stores before it ends; without, their CTA may end first",
    },
    at_exit=check_read,
)  # fmt: skip
