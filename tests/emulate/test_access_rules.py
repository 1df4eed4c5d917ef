"""Inputs are not written, outputs are written once and not read: by whichever instruction it is done."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from warpwright.emulate import GlobalMemory, Launch, run

from .ptx_kit import module

BULK = """
 st.shared.v4.b32 [%r1], {1, 2, 3, 4};
 fence.proxy.async.shared::cta;
 cp.WHAT.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
"""
REDUCE = BULK.replace("cp.WHAT", "cp.reduce.async").replace("bulk_group [", "bulk_group.add.u32 [")
WRITES = {
    "st": " st.global.b32 [%rd0], 1;\n",
    "generic st": " st.b32 [%rd0], 1;\n",
    "strong st": " st.relaxed.gpu.global.b32 [%rd0], 1;\n",
    "bulk": BULK.replace("WHAT", "async"),
}
ADDITIONS = {
    "red": " red.global.add.u32 [%rd0], 1;\n",
    "atom": " atom.global.add.u32 %r9, [%rd0], 1;\n",
    "bulk reduction": REDUCE,
}
READS = {
    "ld": " ld.global.b32 %r9, [%rd0];\n",
    "ld.nc": " ld.global.nc.b32 %r9, [%rd0];\n",
    "strong ld": " ld.relaxed.gpu.global.b32 %r9, [%rd0];\n",
    **ADDITIONS,
}


def kinds(body: str, access: str) -> list[str]:
    """What one thread finds that does this with a buffer of 16 bytes."""
    memory = GlobalMemory()
    address = memory.add("x", np.zeros(4, np.uint32), access)  # type: ignore[arg-type]
    launch = Launch((1, 1, 1), (32, 1, 1), (1, 1, 1), 1024, (struct.pack("<Q", address),))
    alone = f" setp.ne.u32 %p1, %r0, 0;\n @%p1 bra END;\n{body}END:\n"
    return [finding.kind for finding in run(module(alone, 1), launch, {}, memory).findings]


@pytest.mark.parametrize("way", [*WRITES, *ADDITIONS])
def test_an_input_is_not_written(way: str) -> None:
    body = {**WRITES, **ADDITIONS}[way]
    assert kinds(body, "in") == ["global-bounds"]
    assert kinds(body, "inout") == []


@pytest.mark.parametrize("way", WRITES)
def test_an_output_is_written_once(way: str) -> None:
    assert kinds(WRITES[way], "out") == []
    assert kinds(WRITES[way] + WRITES["st"], "out") == ["written-twice"]
    assert kinds(WRITES["st"] + WRITES[way], "out") == ["written-twice"]


@pytest.mark.parametrize("way", READS)
def test_an_output_is_not_read(way: str) -> None:
    """Nor added to: nobody has said what was there."""
    assert "global-bounds" in kinds(READS[way], "out")
    assert kinds(READS[way], "inout") == []
