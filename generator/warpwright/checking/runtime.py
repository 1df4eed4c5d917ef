"""The CUDA runtime that compiled host code finds: runtime_stub.c, whose functions end here.

An exception cannot pass through compiled code. A hook that fails keeps it, returns an error code as CUDA would, and
whoever called the compiled function raises it (`Runtime.reraise`).
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from warpwright import scratch
from warpwright.build.toolchain import tool

__all__ = ["Device", "LaunchConfig", "Runtime", "stub_library"]

_STUB = Path(__file__).with_name("runtime_stub.c")
_FAILURE = 719  # cudaErrorLaunchFailure
_CLUSTER = 4  # cudaLaunchAttributeClusterDimension
_MAX_BYTES = 1 << 62


class _Config(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
    ]


class _Attribute(ctypes.Structure):
    """cudaLaunchAttribute."""

    _fields_ = [("id", ctypes.c_uint32), ("padding", ctypes.c_uint32), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig:
    """Grid, block and cluster (x, y, z), and bytes of dynamic shared memory, as a launch gives them."""

    def __init__(self, address: int) -> None:
        config = _Config.from_address(address)
        self.grid: tuple[int, int, int] = tuple(config.grid)
        self.block: tuple[int, int, int] = tuple(config.block)
        self.cluster: tuple[int, int, int] = (1, 1, 1)
        self.shared_bytes = int(config.shared_bytes)
        for index in range(config.count):
            attribute = _Attribute.from_address(config.attributes + index * ctypes.sizeof(_Attribute))
            if attribute.id == _CLUSTER:
                x, y, z = attribute.value[:3]
                self.cluster = (x or 1, y or 1, z or 1)


class Device(Protocol):
    """What stands behind the runtime."""

    def load(self, code: int) -> int: ...
    def kernel(self, library: int, name: str) -> int: ...
    def launch(self, kernel: int, config: LaunchConfig, arguments: int) -> None: ...
    def attribute(self, number: int) -> int: ...
    def allocate(self, size: int) -> int: ...
    def release(self, address: int) -> bool: ...
    def copy(self, target: int, source: int, size: int) -> None: ...
    def fill(self, target: int, value: int, size: int) -> None: ...


_P, _I, _S = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_HOOKS: dict[str, tuple[Any, ...]] = {
    "load": (_P, _P),
    "kernel": (_P, _P, ctypes.c_char_p),
    "launch": (_P, _P, _P),
    "attribute": (_P, _I),
    "allocate": (_P, _S),
    "release": (_P,),
    "copy": (_P, _P, _S),
    "set": (_P, _I, _S),
    "missing": (ctypes.c_char_p,),
}


class _Hooks(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in _HOOKS]


@functools.cache
def stub_library() -> Path:
    """Compile runtime_stub.c, once per process (80 ms); raises ToolchainError where there is no C compiler."""
    folder = scratch.folder("check")
    _FOLDERS.append(folder)
    path = Path(folder.name) / "libwarpwright_runtime.so"
    command = (tool("gcc"), "-shared", "-fPIC", "-O1", str(_STUB), "-o", str(path))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return path


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


class Runtime:
    """The hooks of the stub, for one device at a time."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.error: BaseException | None = None
        library = ctypes.CDLL(str(stub_library()))
        self._table = _Hooks.in_dll(library, "check_hooks")
        self._before: dict[str, int | None] = {name: getattr(self._table, name) for name in _HOOKS}
        self._functions = {
            name: ctypes.CFUNCTYPE(_I, *types)(self._guarded(getattr(self, f"_{name}")))
            for name, types in _HOOKS.items()
        }
        for name, function in self._functions.items():
            setattr(self._table, name, ctypes.cast(function, _P).value)

    def close(self) -> None:
        """Give the hooks back to who had them."""
        for name, before in self._before.items():
            setattr(self._table, name, before)

    def reraise(self) -> None:
        """Raise what a hook has kept."""
        error, self.error = self.error, None
        if error is not None:
            raise error from None

    def _guarded(self, hook: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            if self.error is not None:
                return _FAILURE
            try:
                return hook(*arguments) or 0
            except BaseException as error:
                self.error = error
                return _FAILURE

        return call

    # -- hooks: each gets addresses as integers, and returns an error code or None

    def _load(self, library: int, code: int) -> None:
        _P.from_address(library).value = self.device.load(code)

    def _kernel(self, kernel: int, library: int, name: bytes) -> None:
        _P.from_address(kernel).value = self.device.kernel(library, name.decode())

    def _launch(self, config: int, kernel: int, arguments: int) -> None:
        self.device.launch(kernel, LaunchConfig(config), arguments)

    def _attribute(self, value: int, number: int) -> None:
        _I.from_address(value).value = self.device.attribute(number)

    def _allocate(self, address: int, size: int) -> None:
        _P.from_address(address).value = self.device.allocate(size)

    def _release(self, address: int | None) -> int:
        return 0 if self.device.release(address or 0) else 1

    def _copy(self, target: int, source: int, size: int) -> None:
        self.device.copy(target, source, size)

    def _set(self, target: int, value: int, size: int) -> None:
        self.device.fill(target, value, size)

    def _missing(self, name: bytes) -> None:
        from warpwright.checking.errors import CheckError

        raise CheckError(f"the host code calls {name.decode().lstrip('_')}, for which there is no stand-in")
