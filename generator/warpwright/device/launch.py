"""From a variant's kernel.so to a function that can be called, and how many clusters the device holds at once."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from warpwright.archs import Arch, arch
from warpwright.cpu import unfit
from warpwright.plan.types import KernelPlan, Plan

__all__ = [
    "CLUSTER_DIMENSION", "MAX_DYNAMIC_SHARED", "RUNTIME", "RUNTIME_VARIABLE", "HostError", "LaunchAttribute",
    "LaunchConfig", "LaunchError", "find_runtime", "load_function", "max_active_clusters",
]  # fmt: skip

RUNTIME = "libcute_dsl_runtime.so"
#: Path of libcute_dsl_runtime.so; a bundle sets it.
RUNTIME_VARIABLE = "WARPWRIGHT_RUNTIME"

#: A kernel that does nothing: only its launch configuration matters to the occupancy query. The driver compiles it.
_PROBE = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry probe()\n{\n ret;\n}\n\0"
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class LaunchError(RuntimeError):
    """A variant cannot be loaded or the device cannot be asked; the message says which step failed and why."""


class HostError(LaunchError):
    """This host cannot load any variant, or not this one: that says nothing of the variant."""


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

    Raises LaunchError when the library or its symbol cannot be loaded, HostError when it needs another CPU, or what all
    of them need is missing.
    """
    why = unfit(library)
    if why:
        raise HostError(why)
    try:
        # Global: kernel.so resolves its symbols against the runtime without naming it.
        ctypes.CDLL(str(find_runtime()), mode=ctypes.RTLD_GLOBAL)
        tvm_ffi: Any = importlib.import_module("tvm_ffi")
    except (OSError, ImportError, LaunchError) as error:
        raise HostError(str(error)) from error
    try:
        function: Callable[..., Any] = tvm_ffi.load_module(str(library)).get_function(symbol)
    except (OSError, AttributeError, RuntimeError) as error:
        raise LaunchError(f"{library.name}: cannot load {symbol}: {error}") from error
    return function


def resident_ctas(kernel: KernelPlan, limits: Arch) -> int:
    """How many CTAs of a kernel share one SM: as many as its plan says, else as fit (at least 1)."""
    if kernel.ctas_per_sm:
        return kernel.ctas_per_sm
    # Registers are allocated per warp in units of 256.
    per_warp = -(-kernel.entry_registers * 32 // 256) * 256
    tensor = kernel.tensor_memory  # a CTA that starts where its columns are taken would wait for as long as others run
    return max(
        1,
        min(
            limits.shared_per_sm // (kernel.shared_bytes + limits.shared_reserved),
            limits.registers // max(1, per_warp * -(-kernel.threads // 32)),
            limits.threads_per_sm // kernel.threads,
            limits.ctas_per_sm,
            limits.tensor_columns // tensor.columns if tensor else limits.ctas_per_sm,
        ),
    )


def max_active_clusters(plan: Plan, sms: int) -> int:
    """Return how many clusters of a plan's main kernel the current device holds at once.

    Asks the driver (cuOccupancyMaxActiveClusters) for a probe kernel with the kernel's cluster, threads and a shared
    memory size that lets as many CTAs onto an SM as its registers and shared memory do. Where the driver cannot be
    asked, counts SMs: an upper bound, since a cluster stays within one GPC.
    """
    kernel, limits = plan.main, arch(plan.arch)
    ctas = resident_ctas(kernel, limits)
    try:
        shared_bytes = min(limits.shared_bytes, limits.shared_per_sm // ctas - limits.shared_reserved)
        return max(1, _ask_driver(kernel, shared_bytes))
    except (OSError, AttributeError, LaunchError):
        return max(1, sms * ctas // prod(kernel.cluster))


def _ask_driver(kernel: KernelPlan, shared_bytes: int) -> int:
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
        x, y, z = kernel.cluster
        attribute = LaunchAttribute(id=CLUSTER_DIMENSION, dims=(x, y, z))
        config = LaunchConfig(
            grid=(x * 1024, y, z),
            block=(kernel.threads, 1, 1),
            shared_bytes=shared_bytes,
            attributes=ctypes.pointer(attribute),
            attribute_count=1,
        )
        check("cuOccupancyMaxActiveClusters", ctypes.byref(clusters), function, ctypes.byref(config))
    finally:
        cuda.cuModuleUnload(module)
    return clusters.value
