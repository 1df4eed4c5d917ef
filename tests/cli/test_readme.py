"""What README shows of Python works: as far as that can be told without a GPU."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostTensor
from warpwright import pipeline
from warpwright.device import backend
from warpwright.device.call import CheckedKernel
from warpwright.device.launch import find_runtime
from warpwright.record import folders_in
from warpwright.resources import configs

ROOT = Path(__file__).resolve().parents[2]
UPDATE = os.environ.get("WARPWRIGHT_GOLDEN") == "update"  # read before any test changes the environment


class _Tensor(HostTensor):
    @property
    def T(self) -> HostTensor:  # noqa: N802 - as torch calls it
        return HostTensor(self.bits.T, self.short)


def test_the_checked_call_fits_the_quickstart(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "README.md").read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "open_kernel" in b)
    calls: list[tuple[Any, ...]] = []
    plan = pipeline.plan("quickstart", Path("out")).variants[0].plan

    def open_kernel(folder: Path) -> CheckedKernel:
        assert folder.parent == Path("out/quickstart")
        return CheckedKernel(plan, lambda *arguments: calls.append(arguments), 132, "host")

    def tensor(*shape: int, device: str, dtype: str) -> _Tensor:
        assert device == "cuda"
        return _Tensor(np.zeros(shape, np.uint16), dtype)

    monkeypatch.setattr(backend, "open_kernel", open_kernel)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(bfloat16="bf16", randn=tensor, empty=tensor))
    exec(block, {})
    ((a, b, d, clusters),) = calls
    assert (a.shape, b.shape, d.shape, clusters) == ((1, 4096, 1024), (1, 1024, 2048), (1, 4096, 2048), 132)


def test_a_kernel_is_loaded_without_this_project(built: Path) -> None:
    tvm_ffi: Any = importlib.import_module("tvm_ffi")
    ctypes.CDLL(str(find_runtime()), mode=ctypes.RTLD_GLOBAL)
    folder = folders_in(built / "out" / "small")[0]
    library, symbol = folder.path / "kernel.so", (folder.read("plan.json") or {})["symbol"]
    assert callable(tvm_ffi.load_module(str(library))[symbol])


def test_shipped_configurations_and_pages_are_all_named() -> None:
    text = (ROOT / "README.md").read_text()
    for path in (*configs().glob("*.yaml"), *(ROOT / "docs").glob("*.md")):
        assert path.name in text, path
    for name in ("gemm_sm90", "gemm_sm100"):
        points = len(pipeline.load(name)[0].points())
        assert f"`configs/{name}.yaml` | {points} variants" in text


def test_what_is_told_as_measured_is_what_the_ledger_has() -> None:
    """To renew the table: WARPWRIGHT_GOLDEN=update pytest tests/cli/test_readme.py"""
    measured: dict[tuple[str, ...], str] = {}
    for line in map(json.loads, (ROOT / "out" / "ledger" / "quickstart.jsonl").read_text().splitlines()):
        if line.get("method") == "benchmarked":
            _, _, tile, cluster, stages, consumers = line["label"].split("-")
            schedule = {"coop2": "cooperative", "ping2": "pingpong"}[consumers]
            cells = [f"{p['speed']:.0f} ({p['peer']['ratio']:.2f})" for p in line["figures"]["problems"]]
            measured[tile, cluster[1:], schedule, stages[1:]] = " | ".join(cells)
    readme = ROOT / "README.md"
    text = readme.read_text()
    rows = [tuple(row.split(" | ")) for row in re.findall(r"^\| (\d+x\d+x\d+ \| .*) \|$", text, re.MULTILINE)]
    assert {row[:4] for row in rows} == measured.keys()
    for row in rows:
        was, is_now = " | ".join(row), " | ".join([*row[:4], measured[row[:4]]])
        if UPDATE:
            text = text.replace(was, is_now)
        else:
            assert was == is_now
    if UPDATE:
        readme.write_text(text)
