"""What a device would not start, and that what is just allowed does start."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tests.emulate.ptx_kit import HEADER
from warpwright.archs import SM90A, launch_limits
from warpwright.emulate import KINDS, EmulatorError, GlobalMemory, Launch, Options, Result, parse, run
from warpwright.emulate.variant.verdict import STATUS_OF


def start(
    target: str = "sm_90a",
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    cluster: tuple[int, int, int] = (1, 1, 1),
    shared: int = 0,
    static: int = 0,
    directives: str = "",
    parameters: tuple[int, ...] = (8,),
    version: str = "8.8",
    **options: Any,
) -> Result:
    params = ", ".join(f".param .align 8 .b8 p{n}[{size}]" for n, size in enumerate(parameters))
    text = HEADER.format(params=params, threads=0, loads="", body="").replace("sm_90a", target).replace("8.8", version)
    text = text.replace(".reqntid 0, 1, 1", directives)
    if static:
        text = text.replace(" .reg .pred", f" .shared .align 16 .b8 fixed[{static}];\n .reg .pred", 1)
    launch = Launch(grid, block, cluster, shared, tuple(struct.pack(f"{size}x") for size in parameters))
    return run(parse(text), launch, {}, GlobalMemory(), options=Options(**options))


ALLOWED: list[dict[str, Any]] = [
    {"shared": 232_448},
    {"shared": 232_448 - 1024, "static": 1024},
    {"static": 49_152},
    {"shared": 232_448, "target": "sm_100a"},
    {"shared": 101_376, "target": "sm_120a"},
    {"shared": 10**6, "target": "sm_999"},  # nobody knows
    {"block": (1024, 1, 1)},
    {"block": (16, 1, 64)},
    {"cluster": (16, 1, 1), "grid": (16, 1, 1)},
    {"block": (384, 1, 1), "entry_registers": 168},
    {"block": (256, 1, 1), "entry_registers": 255},
    {"directives": ".reqntid 32, 1, 1 .minnctapersm 1"},
    {"directives": ".maxntid 32, 1, 1"},
    {"directives": ".reqnctapercluster 2, 1, 1", "cluster": (2, 1, 1), "grid": (4, 1, 1)},
    {"parameters": (32_760,)},
    {"parameters": (4096,), "version": "8.0"},
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"shared": 232_449},
        "232449 bytes of shared memory per CTA (232449 dynamic, 0 static): sm_90a has at most 232448",
    ),
    ({"shared": 232_448, "static": 16}, "233472 bytes of shared memory per CTA (232448 dynamic, 1024 static)"),
    ({"static": 49_153}, "50176 bytes of static shared memory: ptxas takes at most 49152"),
    ({"static": 1 << 40}, "bytes of static shared memory"),
    ({"shared": 101_377, "target": "sm_120a"}, "sm_120a has at most 101376"),
    ({"shared": 166_913, "target": "sm_80"}, "sm_80 has at most 166912"),
    ({"block": (1025, 1, 1)}, "block.x is 1025: sm_90a takes at most 1024"),
    ({"block": (32, 33, 1)}, "1056 threads per block: sm_90a takes at most 1024"),
    ({"block": (1, 1, 65)}, "block.z is 65: sm_90a takes at most 64"),
    ({"block": (32, 0, 1)}, "block.y is 0"),
    ({"grid": (1, 65_536, 1)}, "grid.y is 65536: sm_90a takes at most 65535"),
    ({"grid": (1, 1, 65_536)}, "grid.z is 65536"),
    ({"grid": (1 << 31, 1, 1)}, "grid.x is 2147483648"),
    ({"grid": (3, 1, 1), "cluster": (2, 1, 1)}, "grid.x 3 is not a positive multiple of cluster.x 2"),
    ({"grid": (0, 1, 1)}, "grid.x 0 is not a positive multiple of cluster.x 1"),
    ({"grid": (32, 1, 1), "cluster": (32, 1, 1)}, "32 CTAs per cluster: sm_90a takes at most 16"),
    ({"grid": (2, 1, 1), "cluster": (2, 1, 1), "target": "sm_80"}, "2 CTAs per cluster: sm_80 takes at most 1"),
    ({"block": (384, 1, 1), "entry_registers": 169}, "384 threads of 169 registers take 67584: a CTA may have 65536"),
    ({"block": (1000, 1, 1), "entry_registers": 65}, "1000 threads of 65 registers take 73728"),
    ({"directives": ".reqntid 64, 1, 1"}, "the block is (32, 1, 1), the kernel is compiled for .reqntid (64, 1, 1)"),
    ({"directives": ".maxntid 16, 1, 1"}, "32 threads per block, the kernel is compiled for .maxntid 16"),
    ({"directives": ".reqnctapercluster 2, 1, 1"}, "the kernel is compiled for .reqnctapercluster (2, 1, 1)"),
    ({"parameters": (32_765,)}, "32765 bytes of kernel parameters: a kernel may have 32764"),
    ({"parameters": (4096, 512), "version": "8.0"}, "4608 bytes of kernel parameters: a kernel may have 4352"),
]


@pytest.mark.parametrize("case", ALLOWED, ids=str)
def test_what_is_just_allowed_starts(case: dict[str, Any]) -> None:
    result = start(**case)
    assert result.clean, result.findings
    assert result.complete


@pytest.mark.parametrize(("case", "text"), REFUSED, ids=str)
def test_what_is_too_much_is_a_launch_that_fails(case: dict[str, Any], text: str) -> None:
    result = start(**case)
    assert {finding.kind for finding in result.findings} == {"launch-refused"}
    assert text in " / ".join(finding.message for finding in result.findings)
    assert not result.complete
    assert result.statistics["warp_instructions"] == 0
    assert STATUS_OF["launch-refused"] == "launch_failed"


def test_a_grid_that_no_memory_holds_is_not_emulated_at_once() -> None:
    with pytest.raises(EmulatorError, match=r"make fewer clusters resident with Options\(clusters=...\)"):
        start(grid=(1 << 20, 1, 1), shared=200_000)
    assert start(grid=(64, 1, 1), shared=200_000, clusters=2).clean


def test_limits_of_plans_are_those_of_launches() -> None:
    limits = launch_limits(SM90A.name)
    assert limits is not None
    assert (limits.shared_bytes, limits.registers) == (SM90A.shared_bytes, SM90A.registers)


def test_no_kind_of_the_machine_is_given_another_status() -> None:
    assert {name: STATUS_OF[name] for name in KINDS} == {name: kind.status for name, kind in KINDS.items()}
