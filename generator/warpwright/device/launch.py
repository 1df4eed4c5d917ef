"""From a variant's kernel.so to a function that can be called, and how many clusters the device holds at once."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpwright.plan.types import Plan

__all__ = [
    "CLUSTER_DIMENSION", "MAX_DYNAMIC_SHARED", "RUNTIME", "RUNTIME_VARIABLE", "LaunchAttribute", "LaunchConfig",
    "LaunchError", "find_runtime", "load_function", "max_active_clusters",
]  # fmt: skip

RUNTIME = "libcute_dsl_runtime.so"
#: Path of libcute_dsl_runtime.so; a bundle sets it.
RUNTIME_VARIABLE = "WARPWRIGHT_RUNTIME"

#: A kernel that does nothing: only its launch configuration matters to the occupancy query. The driver compiles it.
_PROBE = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry probe()\n{\n ret;\n}\n\0"
_SHARED_PER_SM = 233472  # CUDA C++ Programming Guide, compute capability 9.0 and 10.0: 228 KiB
_SHARED_PER_CTA = 232448
_SHARED_RESERVED = 1024  # per CTA, by the driver
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class LaunchError(RuntimeError):
    """A variant cannot be loaded or the device cannot be asked; the message says which step failed and why."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute of the driver API, for a cluster's dimensions."""

    # CUlaunchAttribute: an id, padded to 8 bytes, and a union of 64 bytes, of which a cluster dimension takes 12.
    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("dims", ctypes.c_uint * 3),
        ("rest", ctypes.c_char * 52),
    )


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig of the driver API."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    )


def find_runtime() -> Path:
    """Return libcute_dsl_runtime.so: where WARPWRIGHT_RUNTIME says, else that of the installed nvidia-cutlass-dsl.

    Raises LaunchError when there is none.
    """
    named = os.environ.get(RUNTIME_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise LaunchError(f"{RUNTIME_VARIABLE}={named}: there is no such file")
        return Path(named)
    spec = importlib.util.find_spec("nvidia_cutlass_dsl")
    for root in spec.submodule_search_locations or () if spec else ():
        found = sorted(Path(root).glob(f"cu*/lib/{RUNTIME}")) or sorted(Path(root).glob(f"lib/{RUNTIME}"))
        if found:
            return found[-1]
    raise LaunchError(f"{RUNTIME} not found: install nvidia-cutlass-dsl, or set {RUNTIME_VARIABLE} to its path")


def load_function(library: Path, symbol: str) -> Callable[..., Any]:
    """Load kernel.so and return the function of the plan's symbol (TVM-FFI convention, the caller's current stream).

    Raises LaunchError when a library or the symbol cannot be loaded.
    """
    try:
        # Global: kernel.so resolves its symbols against the runtime without naming it.
        ctypes.CDLL(str(find_runtime()), mode=ctypes.RTLD_GLOBAL)
        tvm_ffi: Any = importlib.import_module("tvm_ffi")
        function: Callable[..., Any] = tvm_ffi.load_module(str(library)).get_function(symbol)
    except (OSError, ImportError, AttributeError, RuntimeError) as error:
        raise LaunchError(f"{library.name}: cannot load {symbol}: {error}") from error
    return function


def resident_ctas(plan: Plan) -> int:
    """How many CTAs of a plan fit on one SM by shared memory, registers and threads (at least 1)."""
    # Registers are allocated per warp in units of 256.
    per_warp = -(-plan.entry_registers * 32 // 256) * 256
    return max(
        1,
        min(
            _SHARED_PER_SM // (plan.shared_bytes + _SHARED_RESERVED),
            65536 // max(1, per_warp * (plan.threads // 32)),
            2048 // plan.threads,
        ),
    )


def max_active_clusters(plan: Plan, sms: int) -> int:
    """Return how many clusters of a plan the current device holds at once.

    Asks the driver (cuOccupancyMaxActiveClusters) for a probe kernel with the plan's cluster, threads and a shared
    memory size that lets as many CTAs onto an SM as the plan's registers and shared memory do. Where the driver
    cannot be asked, counts SMs: an upper bound, since a cluster stays within one GPC.
    """
    ctas = resident_ctas(plan)
    size = plan.cluster[0] * plan.cluster[1]
    try:
        return max(1, _ask_driver(plan, min(_SHARED_PER_CTA, _SHARED_PER_SM // ctas - _SHARED_RESERVED)))
    except (OSError, AttributeError, LaunchError):
        return max(1, sms * ctas // size)


def _ask_driver(plan: Plan, shared_bytes: int) -> int:
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(name: str, *arguments: Any) -> None:
        code = getattr(cuda, name)(*arguments)
        if code:
            raise LaunchError(f"{name} failed with CUDA error {code}")

    module, function, clusters = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    check("cuModuleLoadData", ctypes.byref(module), _PROBE)
    try:
        check("cuModuleGetFunction", ctypes.byref(function), module, b"probe")
        check("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, ctypes.c_int(shared_bytes))
        x, y = plan.cluster
        attribute = LaunchAttribute(id=CLUSTER_DIMENSION, dims=(x, y, 1))
        config = LaunchConfig(
            grid=(x * 1024, y, 1),
            block=(plan.threads, 1, 1),
            shared_bytes=shared_bytes,
            attributes=ctypes.pointer(attribute),
            attribute_count=1,
        )
        check("cuOccupancyMaxActiveClusters", ctypes.byref(clusters), function, ctypes.byref(config))
    finally:
        cuda.cuModuleUnload(module)
    return clusters.value
