"""Kernels that others wrote, where they are found: nothing is wrong with them, and faults planted in them are found.

WARPWRIGHT_CUTLASS_EXAMPLES names `examples/python/CuTeDSL` of a checkout of NVIDIA's CUTLASS; torch must be there.
Nothing is fetched.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.checking.foreign import EXAMPLES, MISSING
from tests.checking.nvidia import CASES, Case
from tests.checking.nvidia import check as compared

SMALL = ["--warmup_iterations", "0", "--iterations", "1"]
PERSISTENT = "hopper/kernel/dense_gemm/dense_gemm_persistent.py"
PERSISTENT_ARGUMENTS = ["--mnkl", "640,512,320,1", "--tile_shape_mn", "128,128", "--cluster_shape_mn", "1,1", *SMALL]
ADD, ADD_ARGUMENTS = "ampere/kernel/elementwise/elementwise_add.py", ["--M", "66", "--N", "130"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]

#: program and its arguments -> kinds of note
RIGHT = {
    (ADD, *ADD_ARGUMENTS): set(),
    ("hopper/kernel/dense_gemm/dense_gemm.py", "--mnkl", "512,384,520,2", "--tile_shape_mn", "128,128",
     "--cluster_shape_mn", "2,1", *SMALL): set(),
    (PERSISTENT, *PERSISTENT_ARGUMENTS): {"wgmma-registers"},
    ("hopper/kernel/cta_norm/cta_norm.py", "--M", "8", "--N", "1024"): set(),
    ("hopper/kernel/attention/fmha.py", "--q_shape", "1,256,2,64", "--k_shape", "1,256,2,64",
     "--mma_tile_shape_mn", "64,128"): {"exit"},
}  # fmt: skip


def check(program: Path, arguments: list[str], seeds: int = 2) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "warpwright", "check", "--json", "--seeds", seeds, program, *arguments]
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=900)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


@pytest.mark.parametrize("program", RIGHT, ids=lambda program: Path(program[0]).stem)
def test_a_right_kernel_has_no_findings(program: tuple[str, ...]) -> None:
    code, found = check(EXAMPLES / "cute" / program[0], list(program[1:]))
    assert (code, found["ended"], found["status"]) == (0, "returned", "correct"), found
    assert {note["kind"] for launch in found["launches"] for note in launch["notes"]} <= RIGHT[program]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_blackwell_example_agrees_with_numpy(case: Case) -> None:
    seen = compared(case)
    assert (seen["wrong"], seen["said"]) == (0, ""), seen
    assert seen["findings"] == sorted(case.findings), seen
    assert set(seen["notes"]) <= {"race", "tcgen05-registers", "exit"}, seen


FENCE = 'cute.arch.fence_proxy(\n                        "async.shared",\n                        space="cta",\n'

#: fault -> program, its arguments, old text, new text, kind of finding, text of one of its lines
PLANTED = {
    "no fence before the store": (
        PERSISTENT, PERSISTENT_ARGUMENTS, FENCE, "print(\n", "race", "cute.copy(",
    ),
    "one arrival too many": (
        PERSISTENT, PERSISTENT_ARGUMENTS, "num_mma_warp_groups * self.num_warps_per_warp_group\n",
        "num_mma_warp_groups * self.num_warps_per_warp_group + 1\n", "deadlock", "producer_acquire",
    ),
    "released too early": (
        PERSISTENT, PERSISTENT_ARGUMENTS, "wait_group(k_pipe_mmas)", "wait_group(k_pipe_mmas + 1)", "race",
        "cute.copy(",
    ),
    "half the bytes": (
        PERSISTENT, PERSISTENT_ARGUMENTS, "tx_count=tma_copy_bytes", "tx_count=tma_copy_bytes // 2", "race",
        "cute.copy(",
    ),
    "a bound too large": (
        ADD, ADD_ARGUMENTS, "cute.elem_less(thrCrd[i], shape)", "cute.elem_less(thrCrd[i], (shape[0] + 1, shape[1]))",
        "global-bounds", "cute.copy(copy_atom_load",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_at_its_line(fault: str, tmp_path: Path) -> None:
    name, arguments, old, new, kind, text = PLANTED[fault]
    source = (EXAMPLES / "cute" / name).read_text()
    assert old in source
    program = tmp_path / "planted.py"
    program.write_text(source.replace(old, new, 1))
    code, found = check(program, arguments, seeds=1)
    assert code == 1
    lines = program.read_text().splitlines()
    findings = [finding for launch in found["launches"] for finding in launch["findings"] if finding["kind"] == kind]
    named = [lines[int(line.partition(":")[2]) - 1] for finding in findings for line in finding["lines"]]
    assert any(text in line for line in named), findings


#: fault -> words of a title, old text, new text, kinds of finding of which one must be told (none: numbers)
PLANTED_BLACKWELL = {
    "half the bytes": (
        "dense_gemm_persistent 640,1032", "(a_copy_size + b_copy_size) *", "(a_copy_size + b_copy_size) // 2 *",
        {"mbarrier", "race"},
    ),
    "an accumulator that is not cleared": (
        "dense_gemm_persistent 640,1032", "tiled_mma.set(tcgen05.Field.ACCUMULATE, False)",
        "tiled_mma.set(tcgen05.Field.ACCUMULATE, True)", set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED_BLACKWELL)
def test_a_fault_in_a_blackwell_example_shows(fault: str, tmp_path: Path) -> None:
    words, old, new, kinds = PLANTED_BLACKWELL[fault]
    case = next(each for each in CASES if all(word in each.title for word in words.split()))
    source = (EXAMPLES / "cute" / case.program).read_text()
    assert old in source
    program = tmp_path / Path(case.program).name
    program.write_text(source.replace(old, new))
    seen = compared(case, program, seeds=1)
    assert (kinds & set(seen["findings"])) if kinds else seen["wrong"]
