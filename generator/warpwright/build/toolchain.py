"""The versions and tools that decide what a build yields, as one frozen value.

A cached build or a piece of evidence counts only for the toolchain that made it, so everything that can change
a byte of the PTX, cubin or library is listed here. Nothing in this module imports the DSL: a run that finds all
its work done must not pay for that.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Toolchain", "ToolchainError", "current", "tool"]

_DSL = "nvidia-cutlass-dsl"
#: Distribution of each disassembler; both ship their program under nvidia/cu*/bin.
_TOOL_PACKAGES = {"cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"}


class ToolchainError(RuntimeError):
    """Something that every build needs is missing; the text says what and how to get it."""


@dataclass(frozen=True)
class Toolchain:
    """What a build depends on besides source, arch and options.

    `dsl_libs` names the compiler libraries that are installed ("cu12 4.8.1"): each flavour brings its own
    ptxas. `host` is the kind of machine (x86_64): host code is generated for every CPU of it.
    """

    python: str
    cutlass_dsl: str
    dsl_libs: str
    tvm_ffi: str
    cuobjdump: str
    nvdisasm: str
    gcc: str
    ld: str
    host: str


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise ToolchainError(
            f"{distribution} is not installed in {sys.prefix}, and building needs it: pip install {distribution}"
        ) from None


def _dsl_libs() -> str:
    found = []
    for flavour in ("cu12", "cu13"):
        try:
            found.append(f"{flavour} {importlib.metadata.version(f'{_DSL}-libs-{flavour}')}")
        except importlib.metadata.PackageNotFoundError:
            continue
    if not found:
        raise ToolchainError(f"{_DSL} has no compiler libraries here: pip install {_DSL}-libs-cu12")
    return ", ".join(found)


@functools.cache
def tool(name: str) -> str:
    """Return the path of `cuobjdump`, `nvdisasm`, `gcc`, `ld` or `objdump`.

    Raises ToolchainError where it cannot be found.
    """
    if name in _TOOL_PACKAGES:
        spec = importlib.util.find_spec("nvidia")
        for root in (spec.submodule_search_locations or []) if spec else []:
            for path in sorted(Path(root).glob(f"cu*/bin/{name}"), reverse=True):
                return str(path)
    path_found = shutil.which(name)
    if path_found is None:
        package = _TOOL_PACKAGES.get(name)
        remedy = f"pip install {package}" if package else f"install {'gcc' if name == 'gcc' else 'binutils'}"
        raise ToolchainError(f"{name} was found neither among the installed packages nor in PATH: {remedy}")
    return path_found


def _reported(name: str, option: str) -> str:
    """The version that a tool of the system reports, on its first line."""
    path = tool(name)
    try:
        done = subprocess.run([path, option], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{path} does not run ({error}): install a working {name}") from None
    return (done.stdout.splitlines() or [""])[0].strip()


@functools.cache
def current() -> Toolchain:
    """Return the toolchain of this interpreter (about 10 ms the first time).

    Raises ToolchainError naming the first thing that is missing.
    """
    for name in (*_TOOL_PACKAGES, "objdump"):
        tool(name)
    return Toolchain(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        cutlass_dsl=_version(_DSL),
        dsl_libs=_dsl_libs(),
        tvm_ffi=_version("apache-tvm-ffi"),
        cuobjdump=_version(_TOOL_PACKAGES["cuobjdump"]),
        nvdisasm=_version(_TOOL_PACKAGES["nvdisasm"]),
        gcc=_reported("gcc", "-dumpfullversion"),
        ld=_reported("ld", "--version"),
        host=platform.machine(),
    )
