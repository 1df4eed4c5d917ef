"""Mutants for a GPU: what is chosen and packed, and the whole way there on a driver without a GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.emulate.on_device import mutants
from tests.emulate.on_device.mutants import CONTROL, HARMLESS, report
from tests.emulate.on_device.prepare import HANGS, Chosen, choose, emulated, harmless, pack
from warpwright.emulate.mutants.edits import Mutant

HERE = Path(__file__).parent / "on_device"
PTX = """\
\tfence.proxy.async.shared::cta;
\twgmma.wait_group.sync.aligned \t1;
\twgmma.wait_group.sync.aligned \t0;
\tcp.async.bulk.wait_group.read \t3;
\tcp.async.bulk.wait_group.read \t1;
"""


def test_what_is_harmless_is_stricter_than_need_be() -> None:
    found = {mutant.name: mutant.edits[0] for mutant in harmless(PTX)}
    assert found == {
        "twice fence.proxy.async.shared::cta": (1, "\tfence.proxy.async.shared::cta; fence.proxy.async.shared::cta;"),
        "wait for all in wgmma.wait_group.sync.aligned": (2, "wgmma.wait_group.sync.aligned 0;"),
        "wait for all in cp.async.bulk.wait_group.read": (4, "cp.async.bulk.wait_group.read 0;"),
    }


def some(name: str, verdict: str) -> Chosen:
    return Chosen(Path("kernel"), Mutant(name, 1, "", ()), verdict)


def test_a_sample_has_every_harmless_one_every_kind_and_few_hangs() -> None:
    found = [some(CONTROL, CONTROL), some("delete a #1", HARMLESS)]
    found += [some(f"delete bar.sync #{i}", "deadlock") for i in range(9)]
    found += [some(f"{kind} #{i}", "race") for kind in ("delete fence.x", "swap shl.b32") for i in range(9)]
    found += [some("delete fence.x #99", "uninitialised-read")]
    taken = choose(found, Counter(), 6, 2)
    assert [each.verdict for each in taken[:2]] == [CONTROL, HARMLESS]
    assert sum(each.verdict in HANGS for each in taken) == 2
    assert {(each.mutant.name.split()[0], each.verdict) for each in taken[4:]} == {
        ("delete", "race"),
        ("swap", "race"),
        ("delete", "uninitialised-read"),
    }
    assert len(taken) == 8


def outcome(verdict: str, status: str) -> dict[str, Any]:
    return {"verdict": verdict, "status": status, "kernel": "k", "mutant": "m", "diagnosis": "d"}


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([outcome(CONTROL, "correct"), outcome(HARMLESS, "correct"), outcome("race", "correct")], 0),
        ([outcome(CONTROL, "correct"), outcome("deadlock", "hang"), outcome("race", "incorrect")], 0),
        ([outcome(CONTROL, "correct"), outcome(HARMLESS, "hang")], 1),
        ([outcome(CONTROL, "correct"), outcome(HARMLESS, "incorrect")], 1),
        ([outcome(CONTROL, "launch_failed"), outcome(HARMLESS, "correct")], 2),
        ([], 2),
    ],
)
def test_only_what_is_called_harmless_can_be_contradicted(results: list[dict[str, Any]], code: int) -> None:
    assert report(results) == code


def test_emulated_kernels_are_packed_and_watched(cooperative: Path, tmp_path: Path) -> None:
    """Through host code, parameters and launch to each outcome; the "device" runs nothing and leaves d unwritten."""
    found: list[Chosen] = []
    for each in emulated(cooperative):  # the kernel, what is harmless, and some mutants
        found.append(each)
        if sum(each.verdict == "deadlock" for each in found) == 2:
            break
    assert Counter(each.verdict for each in found)[CONTROL] == 1
    assert sum(each.verdict == HARMLESS for each in found) >= 2
    caught = [each for each in found if each.verdict == "deadlock"]
    # An assembler that writes what the fake driver does.
    ptxas = tmp_path / "ptxas"
    ptxas.write_text('#!/bin/sh\ntest -s "$2" && printf hang > "$4"\n')
    ptxas.chmod(0o755)
    target = tmp_path / "mutants"
    pack([found[0], *caught], target, str(ptxas))
    listed = json.loads((target / "mutants.json").read_text())
    assert [each["verdict"] for each in listed] == [CONTROL, "deadlock", "deadlock"]
    (target / "variants" / "000" / "kernel.cubin").write_text("nothing")
    (target / "variants" / "002" / "kernel.cubin").write_text("crash")

    command = ["gcc", "-shared", "-fPIC", str(HERE / "fake_cuda.c"), "-o", str(tmp_path / "libcuda.so.1")]
    subprocess.run(command, check=True)
    log = tmp_path / "log"
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FAKE_CUDA_LOG": str(log), "PYTHONPATH": ""}
    run = [sys.executable, str(target / "mutants.py"), "--out", str(tmp_path / "r"), "--silence", "3"]
    done = subprocess.run(run, capture_output=True, text=True, env=env, cwd="/", check=False)
    assert done.returncode == 2, done.stderr  # the kernel itself is not correct
    results = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert [result["status"] for result in results] == ["incorrect", "hang", "crash"], results
    assert "never written, the first at [0, 0, 0]" in results[0]["diagnosis"]
    assert "CUDA error 700 from cuCtxSynchronize" in results[2]["diagnosis"]
    launches = {tuple(map(int, line.split())) for line in log.read_text().splitlines()}
    plan = json.loads((cooperative / "plan.json").read_text())["kernels"][0]
    for grid_x, grid_y, threads, attribute, x, y, shared in launches:
        assert (threads, attribute, [x, y, 1], shared) == (plan["threads"], 4, plan["cluster"], plan["shared_bytes"])
        assert (grid_x % x, grid_y) == (0, 1)
    assert mutants.main(["--table", str(tmp_path / "r")]) == 2


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    with pytest.raises(SystemExit, match="holds no mutants"):
        pack([], tmp_path, "ptxas")


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas")
def test_every_mutant_of_a_kernel_is_a_program(cooperative: Path, tmp_path: Path) -> None:
    chosen = [Chosen(cooperative, mutant, "race") for mutant in harmless((cooperative / "kernel.ptx").read_text())]
    pack(chosen, tmp_path / "mutants", "ptxas")
    listed = json.loads((tmp_path / "mutants" / "mutants.json").read_text())
    assert len(listed) == len(chosen) >= 2
