"""What this machine can do, what is missing for the rest, and how to get it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from warpwright.cli.app import AnyOutOption, JsonOption, app
from warpwright.cli.terminal import print_json, print_table, say

__all__ = ["Finding", "examine"]

#: Distributions with what each is needed for, and how to get it.
_PACKAGES = {
    "pydantic": ("plan", "pip install pydantic"),
    "PyYAML": ("plan", "pip install PyYAML"),
    "Jinja2": ("generate", "pip install Jinja2"),
    "nvidia-cutlass-dsl": ("build", "pip install nvidia-cutlass-dsl"),
    "apache-tvm-ffi": ("build", "pip install apache-tvm-ffi"),
    "nvidia-cuda-cuobjdump": ("build", "pip install nvidia-cuda-cuobjdump"),
    "nvidia-cuda-nvdisasm": ("build", "pip install nvidia-cuda-nvdisasm"),
    "numpy": ("emulate", "pip install numpy"),
    "cuda-python": ("validate", "pip install cuda-python"),
    "torch": ("validate", "pip install 'warpwright[gpu]'"),
}
#: In the order of the way through: each needs what those before it need.
_STEPS = ("plan", "generate", "build", "emulate", "validate", "bench")


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what was found, whether it will do, which step needs it, and what to do if not."""

    name: str
    found: str
    good: bool
    needed_for: str
    remedy: str


def examine(out: Path) -> list[Finding]:
    """Look at everything that some step needs. Imports torch only where there is a GPU to use it on."""
    from warpwright import resources
    from warpwright.resources import cache_root

    version = ".".join(map(str, sys.version_info[:3]))
    supported = (3, 10) <= sys.version_info[:2] <= (3, 13)
    where = resources.checkout() or "installed package"
    data = resources.templates().is_dir() and resources.configs().is_dir()
    return [
        Finding("Python", f"{version} ({sys.executable})", supported, "plan", "use Python 3.10 to 3.13"),
        Finding("templates and configs", str(where), data, "plan", "install warpwright again"),
        *(_package(name, *needed) for name, needed in _PACKAGES.items()),
        _gcc(),
        _folder("output folder", out, "plan", "choose another with --out or WARPWRIGHT_OUT"),
        _cache(cache_root()),
        *_gpu(),
    ]


def _package(name: str, needed_for: str, remedy: str) -> Finding:
    import importlib.metadata

    from warpwright import resources

    if resources.checkout():
        remedy = remedy.replace("'warpwright[gpu]'", "-e '.[gpu]'")
    try:
        return Finding(name, importlib.metadata.version(name), True, needed_for, remedy)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", False, needed_for, remedy)


def _gcc() -> Finding:
    from warpwright.build.toolchain import ToolchainError, tool

    try:
        return Finding("gcc", tool("gcc"), True, "build", "")
    except ToolchainError as error:
        return Finding("gcc", "not usable", False, "build", str(error))


def _folder(name: str, path: Path, needed_for: str, remedy: str) -> Finding:
    """Say whether a folder can be written, without making it: the nearest one that exists decides."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    good = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    return Finding(name, f"{path.absolute()}{'' if good else ' (cannot be written)'}", good, needed_for, remedy)


def _cache(path: Path) -> Finding:
    """A cache that cannot be used only costs time."""
    found = _folder("build cache", path, "build", "")
    words = found.found.replace("(cannot be written)", "(cannot be written: every kernel is compiled again)")
    if path.name.startswith("warpwright-cache-"):
        words += " (there is no home folder; WARPWRIGHT_CACHE chooses another)"
    return replace(found, found=words, good=True)


def _gpu() -> list[Finding]:
    """Ask the driver, then torch; each failure is a finding of its own."""
    import importlib.util

    device = "run a bundle on a GPU host instead: warpwright bundle CONFIG --to DIR"
    driver, count = _ask(_driver)
    found = [Finding("NVIDIA driver", driver, bool(count), "validate", device)]
    if count and importlib.util.find_spec("torch"):
        name, usable = _ask(_torch_device)
        found.append(Finding("GPU through torch", name, bool(usable), "validate", "install a CUDA build of torch"))
    return found


def _ask(question: Callable[[], tuple[str, Any]]) -> tuple[str, Any]:
    try:
        return question()
    except Exception as error:  # whatever a broken driver or package raises is the answer
        return (str(error).splitlines() or [type(error).__name__])[0], None


def _driver() -> tuple[str, int]:
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "none on this machine", 0
    from cuda.bindings import driver

    (code,) = driver.cuInit(0)
    if code != driver.CUresult.CUDA_SUCCESS:
        return f"no usable device ({code.name})", 0
    _, version = driver.cuDriverGetVersion()
    _, count = driver.cuDeviceGetCount()
    return f"CUDA {version // 1000}.{version % 1000 // 10}, {count} device{'s' * (count != 1)}", count


def _torch_device() -> tuple[str, bool]:
    import torch

    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees none", False
    from warpwright.archs import TARGETS
    from warpwright.device.gpu import misfit

    major, minor = torch.cuda.get_device_capability(0)
    runs = [target for target in TARGETS if not misfit(target, {"compute_capability": f"{major}.{minor}"})]
    what = f"runs kernels for {', '.join(runs)} alone" if runs else f"runs kernels for none of {', '.join(TARGETS)}"
    return f"{torch.cuda.get_device_name(0)} (sm_{major}{minor}): {what}", True


@app.command()
def doctor(out: AnyOutOption = Path("out"), as_json: JsonOption = False) -> None:
    """Say what this machine can do, and what is missing.

    Exit code: 0 it can plan, generate, build and emulate; 1 something for that is missing. A GPU is not asked for.
    """
    from warpwright import __version__

    findings = examine(out)
    blocked = {
        step: [f for f in findings if not f.good and _STEPS.index(f.needed_for) <= i] for i, step in enumerate(_STEPS)
    }
    can = [step for step in _STEPS if not blocked[step]]
    if as_json:
        print_json({"version": __version__, "can": can, "findings": findings})
    else:
        rows = [[f.name, f.found, "ok" if f.good else f"missing for {f.needed_for}"] for f in findings]
        print_table(["what", "found", "state"], rows, fold="found")
        for finding in findings:
            if not finding.good:
                say(f"{finding.name}: {finding.remedy}")
        cannot = [step for step in _STEPS if blocked[step]]
        lacking = f"; it cannot: {', '.join(cannot)}" if cannot else ""
        typer.echo(f"this machine can: {', '.join(can) or 'nothing'}{lacking}")
    raise typer.Exit(0 if "emulate" in can else 1)
