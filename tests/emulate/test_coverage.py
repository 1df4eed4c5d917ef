"""Which ways of branches and guards runs take, and what is told of those that none took."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from tests.emulate.ptx_kit import HEADER
from warpwright.emulate import GlobalMemory, Launch, parse, program, run
from warpwright.emulate.machine.program import Program
from warpwright.emulate.variant import coverage, harness

#: %r2 is a parameter. Of the branches on it one is far, one within; the stores are guarded.
BODY = """
 ld.param.b32 %r2, [p0];
 setp.lt.s32 %p1, %r2, 10;
 setp.lt.u32 %p2, %r0, %r2;
 @%p1 bra small;
 setp.lt.s32 %p3, %r2, 20;
 @!%p3 st.shared.b32 [%r1], %r2;
 @%p3 bra done;
 bra done;
small:
 @%p2 bra lane;
 bra done;
lane:
 @%p2 st.shared.b32 [%r1+8], %r2;
done:
"""


def runs(*values: int) -> Program:
    module = parse(HEADER.format(params=".param .u32 p0", threads=32, loads="", body=BODY))
    found = program(module)
    coverage.begin([found])
    for value in values:
        run(module, Launch((1, 1, 1), (32, 1, 1), (1, 1, 1), 256, (struct.pack("<I", value),)), {}, GlobalMemory())
    return found


def missed(*values: int) -> list[tuple[str, str, int]]:
    found = coverage.measure([runs(*values)])
    told = [(m.instruction, m.what.removeprefix("this "), m.behind) for m in found.missed]
    assert found.total == 10
    assert found.taken + len(told) + sum(behind for *_, behind in told) == found.total
    return told


def test_every_way_is_told_once_and_what_lies_behind_is_counted() -> None:
    assert missed(5, 15, 25) == [("@%p2 st.shared.b32 [%r1+8], %r2", "guard always holds", 0)]
    assert missed(15) == [
        ("@%p1 bra small", "branch is never taken", 4),
        ("@!%p3 st.shared.b32 [%r1], %r2", "guard never holds", 0),
        ("@%p3 bra done", "branch is always taken", 0),
    ]
    assert missed(5) == [
        ("@%p1 bra small", "branch is always taken", 4),
        ("@%p2 st.shared.b32 [%r1+8], %r2", "guard always holds", 0),
    ]


def test_lanes_that_part_go_both_ways_and_lanes_that_agree_go_one() -> None:
    branch = "@%p2 bra lane"
    assert not [m for m in missed(5, 15) if m[0] == branch]  # lanes 0 to 4
    assert [m[1:] for m in missed(0, 15) if m[0] == branch] == [("branch is never taken", 2)]


def test_what_ran_before_is_forgotten() -> None:
    found = runs(5, 15, 25)
    coverage.begin([found])
    assert coverage.measure([found]).taken == 0


def test_a_variant_s_verdict_tells_what_its_cases_reached(cooperative: Path) -> None:
    figures = harness.emulate(harness.load(cooperative)).figures["coverage"]
    assert 0.9 < figures["taken"] / figures["total"] <= 1
    assert figures["taken"] + sum(1 + m["behind"] for m in figures["missed"]) == figures["total"]
    ptx = (cooperative / "kernel.ptx").read_text().splitlines()
    assert figures["missed"]  # else the next line says nothing
    assert all("bra" in ptx[m["line"] - 1] for m in figures["missed"])


def test_waiting_is_no_fork(cooperative: Path) -> None:
    """A loop around try_wait is one suspended wait."""
    subject = harness.load(cooperative)
    translated = program(subject.module, subject.entries[0].name)
    spins = {block.index for block in translated.blocks if block.spin}
    assert spins
    assert not [block for _, block in translated.forks if block in spins and translated.blocks[block].branch]
    assert np.all(np.frombuffer(translated.ways, np.uint8) == 0)
