"""Built loops read from both banks of registers in turn: what the order of products, and copies, are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.families.sgemm.banks import Loop, loop
from warpwright import pipeline
from warpwright.build.resources import disassemble

#: One kernel of each way to read operands, and one without an epilogue, of the largest threads.
DESIGNS = """\
version: 1
name: banks
purpose: Loops of large threads.
kernel:
  family: sgemm
  arch: sm_90a
  a: {major: m}
  b: {major: n}
design:
  warps: {m: 2, n: 2}
sweep:
  - kernel.bias: [false]
    kernel.activation: [identity]
  - kernel.a.major: [k]
    design.thread: [{m: 8, n: 16}]
  - kernel.a.major: [k]
    kernel.b.major: [k]
"""


def plain(first: str, second: str) -> str:
    """A listing of a loop of these two FFMAs, eight times over."""
    lines = [text for _ in range(8) for text in (first, second)]
    lines.append("BRA 0x0")
    return "".join(f"        /*{16 * at:04x}*/                   {text} ;\n" for at, text in enumerate(lines))


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("FFMA R0, R8.reuse, R5, R0", "FFMA R1, R8.reuse, R6, R1", 0),  # one of each bank
        ("FFMA R0, R8.reuse, R4, R0", "FFMA R1, R8.reuse, R5, R1", 0),  # two of one bank, two of the other: late
        ("FFMA R0, R8.reuse, R4, R0", "FFMA R1, R8.reuse, R6, R1", 0.5),  # three even ones of four
        ("FFMA R0, R8.reuse, R4, R0", "FFMA R2, R8.reuse, R6, R2", 1),  # all four even
        ("FFMA R0, R8, R5, R0", "FFMA R1, R7, R6, R1", 0.5),  # three each, three of each bank
        ("FFMA R0, R8, R5, R0", "FFMA R1, R8, R6, R1", 1),  # nothing is kept: four even ones
        ("FFMA R0, R8.reuse, R5, R0", "FFMA R1, R6, R8.reuse, R1", 1),  # kept, but in another place
    ],
)
def test_two_reads_of_one_bank_take_two_clocks(first: str, second: str, waits: float) -> None:
    found = loop(plain(first, second))
    assert (found.instructions, found.ffmas) == (17, 16)
    assert found.waits == pytest.approx(waits, abs=0.13)  # the branch is time to catch up


@pytest.mark.slow
def test_the_loops_of_large_threads_hardly_wait_for_registers(tmp_path: Path) -> None:
    (tmp_path / "banks.yaml").write_text(DESIGNS)
    exploration = pipeline.plan(str(tmp_path / "banks.yaml"), tmp_path / "out")
    pipeline.advance(exploration, ("render", "build"))
    cubins = [Path(variant.folder.path, "kernel.cubin").read_bytes() for variant in exploration.variants]
    bare, one, both = (_only(texts) for texts in disassemble(cubins, "sm_90a"))
    # It was 0.45 where the sums were stored as they lay, 0.38 where A was walked along M, 0.5 where no B was moved.
    assert bare.ffmas == one.ffmas == 8 * 128
    assert both.ffmas == 4 * 128
    assert bare.waits < 0.02
    assert one.waits < 0.04
    assert both.waits < 0.09


def _only(texts: dict[str, str]) -> Loop:
    (sass,) = texts.values()
    return loop(sass)
