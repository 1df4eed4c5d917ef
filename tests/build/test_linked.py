"""Objects of two variants in one program: each exports its own function and nothing else."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from warpwright.build import BuildJob, build, linking
from warpwright.build.cache import Cache
from warpwright.plan import identified
from warpwright.plan.types import Argument, KernelPlan, Plan

SOURCE = """
import cutlass.cute as cute


@cute.kernel
def nothing_kernel(x: cute.Tensor):
    pass


@cute.jit
def nothing(x: cute.Tensor, stream):
    nothing_kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)
"""
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
int FIRST(void *, void *, int32_t, void *);
int SECOND(void *, void *, int32_t, void *);
extern char capture_error[];
int main(void) {
  int64_t result[2] = {0, 0};
  int (*functions[])(void *, void *, int32_t, void *) = {FIRST, SECOND};
  for (int i = 0; i < 2; ++i) printf("%d %s\\n", functions[i](NULL, NULL, 0, result), capture_error);
  return functions[0] == functions[1];
}
"""


def plan_of(design: str) -> Plan:
    return identified(
        Plan(
            "none",
            "sm_90a",
            design,
            {"dtype": "f32"},
            {"choice": design},
            entry="nothing",
            kernels=(KernelPlan("nothing_kernel", 32, (1, 1, 1), 0, 255),),
            arguments=(Argument("x", "vector", "f32", ("N",), "N"),),
        )
    )


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> list[BuildJob]:
    folder = tmp_path_factory.mktemp("variants")
    jobs = [BuildJob(SOURCE, plan_of(design), folder / design) for design in ("first", "second")]
    assert [a.status for a in build(jobs, 1, cache=Cache(folder / "cache"))] == [None, None]
    return jobs


def test_symbols_say_function_and_variant() -> None:
    first, second = plan_of("first"), plan_of("second")
    assert first.symbol == f"nothing_{first.identity[:8]}"
    assert first.symbol != second.symbol
    assert identified(dataclasses.replace(first, label="renamed")).symbol == first.symbol


def test_two_variants_link_into_one_program(variants: list[BuildJob], tmp_path: Path) -> None:
    objects = [str(job.out_dir / "kernel.o") for job in variants]
    (tmp_path / "main.c").write_text(PROGRAM)
    names = [f"__tvm_ffi_{job.plan.symbol}" for job in variants]
    defines = [f"-D{which}={name}" for which, name in zip(("FIRST", "SECOND"), names, strict=True)]
    stub = str(Path(linking.__file__).with_name("launch_stub.c"))
    command = ["gcc", *defines, "main.c", stub, *objects, "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:  # each was called, and refuses to be called without its argument
        assert line.startswith("-1 TypeError")
        assert "nothing(" in line


def test_two_variants_link_into_one_library(variants: list[BuildJob], tmp_path: Path) -> None:
    objects = [str(job.out_dir / "kernel.o") for job in variants]
    subprocess.run(["gcc", "-shared", *objects, "-o", "both.so"], cwd=tmp_path, check=True)
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", "both.so"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[-1] for line in listing.splitlines()} == {f"__tvm_ffi_{j.plan.symbol}" for j in variants}


def test_building_imports_nothing_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "trap"
    (trap / "warpwright").mkdir(parents=True)
    for name in ("warpwright/__init__.py", "numpy.py", "json.py", "cutlass.py", "kernel.py"):
        (trap / name).write_text("raise ImportError('imported from the current directory')\n")
    monkeypatch.chdir(trap)
    monkeypatch.setattr(sys, "path", [str(trap), *sys.path])  # as after `python -m`
    (artifact,) = build([BuildJob(SOURCE, plan_of("trap"), tmp_path / "v")], 1, cache=Cache(tmp_path / "cache"))
    assert (artifact.failure, artifact.status) == (None, None)
