"""What programs and the DSL ask of CUDA through cuda-python, answered without a driver.

Each function of `cuda.bindings.driver` and `.runtime` that is not answered here raises CheckError when it is called.
Launches run when they are made, so streams, events and synchronisation have nothing to do; nothing is timed, so times
are NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from warpwright.checking.errors import CheckError
from warpwright.checking.exchange import Exchanged

__all__ = ["answer", "attribute"]

_FUNCTION = re.compile(r"cu(da)?[A-Z]\w*$")
_VERSION = 13000
_HANDLE = 1  # of whatever is only handed back


def attribute(gpu: Any, number: int) -> int:
    """A device attribute by its number (CUdevice_attribute, cudaDeviceAttr). Raises CheckError for one not known."""
    known: dict[int, int] = {
        1: 1024,  # threads per block
        2: 1024, 3: 1024, 4: 64,  # block
        5: 2**31 - 1, 6: 65535, 7: 65535,  # grid
        8: 49_152,  # shared memory per block without asking
        10: 32,  # warp
        12: 65_536,  # registers per block
        16: gpu.limits.multiprocessors,
        38: 50 * 2**20,  # L2
        39: 2048,  # threads per multiprocessor
        75: gpu.limits.capability[0],
        76: gpu.limits.capability[1],
        81: gpu.limits.shared_bytes + 1024,  # per multiprocessor
        82: 65_536,  # registers per multiprocessor
        97: gpu.limits.shared_bytes,  # per block, for who asks
        106: 32,  # blocks per multiprocessor
        111: 1024,  # shared memory that the system keeps of each block
    }  # fmt: skip
    if int(number) not in known:
        raise CheckError(f"the program asks for device attribute {int(number)}, which is not known here")
    return known[int(number)]


def answer(exchanged: Exchanged, gpu: Any) -> None:
    """Put the answers in the place of both modules' functions."""
    from cuda.bindings import driver, runtime

    for module, own in ((driver, _driver(gpu, driver)), (runtime, _runtime(gpu, runtime))):
        for name in dir(module):
            if (
                _FUNCTION.match(name)
                and callable(getattr(module, name))
                and not isinstance(getattr(module, name), type)
            ):
                exchanged.attribute(module, name, own.get(name) or _missing(name))


def _missing(name: str) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise CheckError(f"the program calls {name}, for which there is no stand-in")

    return call


def _moves(gpu: Any) -> tuple[Callable[..., None], Callable[..., None]]:
    """The functions that copy and that fill."""

    def copy(target: Any, source: Any, size: Any, *_: Any) -> None:
        gpu.copy(int(target), int(source), int(size))

    def fill(target: Any, value: Any, count: Any, *_: Any) -> None:
        gpu.fill(int(target), int(value), int(count))

    return copy, fill


def _common(gpu: Any) -> dict[str, Callable[..., Any]]:
    """By name without its prefix; each returns what comes after the error code (None: nothing)."""
    return {
        "DriverGetVersion": lambda: _VERSION,
        "DeviceSynchronize": lambda: None,
        "StreamSynchronize": lambda _s: None,
        "StreamDestroy": lambda _s: None,
        "StreamWaitEvent": lambda *_: None,
        "EventRecord": lambda *_: None,
        "EventSynchronize": lambda _e: None,
        "EventDestroy": lambda _e: None,
        "EventElapsedTime": lambda *_: float("nan"),
        "ProfilerStart": lambda: None,
        "ProfilerStop": lambda: None,
        "LibraryUnload": lambda _l: None,
    }


def _driver(gpu: Any, module: Any) -> dict[str, Callable[..., Any]]:
    def load(code: Any, *_: Any) -> Any:
        return module.CUlibrary(gpu.kernels.load(bytes(code)))

    def kernels(count: int, library: Any) -> Any:
        names = list(gpu.kernels.library(int(library)).module.kernels)
        return [module.CUkernel(gpu.kernels.kernel(int(library), name)) for name in names[:count]]

    def clusters(_kernel: Any, config: Any) -> int:
        size = next((a.value.clusterDim for a in config.attrs if a.id == module.CUlaunchAttributeID(4)), None)
        return int(gpu.limits.clusters(size.x * size.y * size.z if size else 1))

    def release(address: Any, *_: Any) -> None:
        gpu.release(int(address))

    copy, fill = _moves(gpu)
    found: dict[str, Callable[..., Any]] = {
        **_common(gpu),
        "Init": lambda _flags: None,
        "DeviceGetCount": lambda: 1,
        "DeviceGet": lambda _number: module.CUdevice(0),
        "DeviceGetName": lambda length, _device: f"emulated {gpu.arch}".encode()[:length],
        "DeviceTotalMem": lambda _device: 1 << 34,
        "DeviceGetAttribute": lambda which, _device: attribute(gpu, which),
        "DevicePrimaryCtxRetain": lambda _device: module.CUcontext(_HANDLE),
        "DevicePrimaryCtxRelease": lambda _device: None,
        "CtxCreate": lambda *_: module.CUcontext(_HANDLE),
        "CtxDestroy": lambda _context: None,
        "CtxGetCurrent": lambda: module.CUcontext(_HANDLE),
        "CtxSetCurrent": lambda _context: None,
        "CtxGetDevice": lambda: module.CUdevice(0),
        "CtxSynchronize": lambda: None,
        "StreamCreate": lambda *_: module.CUstream(0),
        "EventCreate": lambda *_: module.CUevent(0),
        "MemAlloc": lambda size: module.CUdeviceptr(gpu.allocate(int(size))),
        "MemAllocAsync": lambda size, *_: module.CUdeviceptr(gpu.allocate(int(size))),
        "MemFree": release,
        "MemFreeAsync": release,
        "MemsetD8": fill,
        "MemsetD8Async": fill,
        **{f"Memcpy{way}{kind}": copy for way in ("HtoD", "DtoH", "DtoD", "") for kind in ("", "Async")},
        "LibraryLoadData": load,
        "LibraryEnumerateKernels": kernels,
        "LibraryGetKernel": lambda library, name: module.CUkernel(gpu.kernels.kernel(int(library), name.decode())),
        "KernelGetFunction": lambda kernel: module.CUfunction(int(kernel)),
        "KernelSetAttribute": lambda *_: None,
        "FuncSetAttribute": lambda *_: None,
        "OccupancyAvailableDynamicSMemPerBlock": lambda *_: gpu.limits.shared_bytes,
        "OccupancyMaxActiveBlocksPerMultiprocessor": lambda *_: 1,
        "OccupancyMaxActiveClusters": clusters,
        "GetErrorName": lambda error: str(error.name).encode(),
        "GetErrorString": lambda error: str(error.name).encode(),
    }  # fmt: skip
    return _coded("cu", found, module.CUresult.CUDA_SUCCESS)


def _runtime(gpu: Any, module: Any) -> dict[str, Callable[..., Any]]:
    def release(address: Any, *_: Any) -> None:
        gpu.release(int(address))

    copy, fill = _moves(gpu)
    found: dict[str, Callable[..., Any]] = {
        **_common(gpu),
        "GetDeviceCount": lambda: 1,
        "GetDevice": lambda: 0,
        "SetDevice": lambda _device: None,
        "DeviceGetAttribute": lambda which, _device: attribute(gpu, which),
        "RuntimeGetVersion": lambda: _VERSION,
        "GetLastError": lambda: None,
        "PeekAtLastError": lambda: None,
        "StreamCreate": lambda *_: module.cudaStream_t(0),
        "StreamCreateWithFlags": lambda *_: module.cudaStream_t(0),
        "EventCreate": lambda *_: module.cudaEvent_t(0),
        "Malloc": lambda size: gpu.allocate(int(size)),
        "MallocAsync": lambda size, _stream: gpu.allocate(int(size)),
        "Free": release,
        "FreeAsync": release,
        "Memcpy": copy,
        "MemcpyAsync": copy,
        "Memset": fill,
        "MemsetAsync": fill,
        "GetErrorName": lambda error: str(error.name).encode(),
        "GetErrorString": lambda error: str(error.name).encode(),
    }
    return _coded("cuda", found, module.cudaError_t.cudaSuccess)


def _coded(prefix: str, functions: dict[str, Callable[..., Any]], success: Any) -> dict[str, Callable[..., Any]]:
    """The functions as cuda-python has them: a tuple of the error code and the result, if there is one."""

    def coded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> tuple[Any, ...]:
            result = function(*arguments)
            return (success,) if result is None else (success, result)

        return call

    return {f"{prefix}{name}": coded(function) for name, function in functions.items()}
