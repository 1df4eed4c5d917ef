"""Runs an exported host function without a GPU and notes what it launches.

The dynamic shared memory of a kernel shows nowhere in its PTX or cubin, and the grid, the tensor maps and the other
parameter bytes exist only once the host code has computed them. So the object is linked with a stub of the few
launch functions that it imports (launch_stub.c) and called through ctypes: 30 ms to link, well under 1 ms a call.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpwright.build.ptx_census import kernel_parameters
from warpwright.build.toolchain import tool
from warpwright.plan.types import Argument, Plan

__all__ = ["CaptureError", "HostError", "HostFunction", "Launch", "TensorValue", "capture", "default_values", "link"]

_STUB = Path(__file__).with_name("launch_stub.c")
#: DLPack type code and bits of each dtype name.
_DLPACK = {"f16": (2, 16), "bf16": (4, 16), "f32": (2, 32), "i32": (0, 32)}
_CUDA = 2  # DLPack device type
_MAX_LAUNCHES, _MAX_PARAMETERS, _PARAMETER_BYTES = 8, 64, 4352  # as in launch_stub.c
_SHARED_LIMIT = 232_448


class CaptureError(RuntimeError):
    """The host function could not be linked or run."""


class HostError(RuntimeError):
    """The host function refused its arguments; the text is its own message."""


@dataclass(frozen=True)
class TensorValue:
    """A tensor argument: device address, extents and strides in elements. Nothing is read from the address."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Launch:
    """One launch as the driver would get it; `shared_bytes` is dynamic, `params` one string per kernel parameter."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    params: tuple[bytes, ...]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Payload(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("real", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class _Any(ctypes.Structure):
    """TVMFFIAny; type indices: 1 integer, 3 real, 7 DLTensor pointer."""

    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("payload", _Payload)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("parameters", ctypes.c_ubyte * _PARAMETER_BYTES),
    ]


def default_values(arguments: Sequence[Argument], extents: Mapping[str, int]) -> list[TensorValue | int | float]:
    """Return legal values for `arguments` at a problem's `extents` ({"M": 256, ...}): compact tensors, scalars 1.

    Each tensor gets an address of its own, 2^36 bytes apart. Leading strides are rounded up to 16 bytes.
    """
    values: list[TensorValue | int | float] = []
    for index, argument in enumerate(arguments):
        if argument.kind == "scalar":
            values.append(1.0 if argument.dtype == "f32" else 1)
            continue
        shape = tuple(extents[name] for name in argument.shape)
        order = [argument.shape.index(argument.contiguous)] if argument.contiguous else []
        order += [i for i in reversed(range(len(shape))) if i not in order]
        strides, step = [0] * len(shape), 1
        for mode in order:
            strides[mode] = step
            step = -(-step * max(shape[mode], 1) // 8) * 8  # 8 elements are 16 bytes or a multiple, for every dtype
        values.append(TensorValue((index + 1) << 36, shape, tuple(strides), argument.dtype))
    return values


def _gcc(*arguments: str) -> None:
    done = subprocess.run([tool("gcc"), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CaptureError(f"gcc {' '.join(arguments)} failed: {done.stderr.strip()}")


def link(object_path: Path, library: Path) -> None:
    """Link a host function with the stub into `library`, which HostFunction takes in place of the object."""
    _gcc("-shared", "-fPIC", "-Wl,-Bsymbolic", str(object_path), str(_STUB), "-o", str(library))


def _load(object_path: Path) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="warpwright-") as folder:
        library = object_path
        if object_path.suffix != ".so":
            library = Path(folder) / "capture.so"
            link(object_path, library)
        try:
            return ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise CaptureError(
                f"{object_path.name} imports a function that warpwright/build/launch_stub.c does not stand in for; "
                f"add it there: {error}"
            ) from None


def _pack(value: TensorValue | int | float, keep: list[object]) -> _Any:
    if isinstance(value, TensorValue):
        if value.dtype not in _DLPACK:
            raise CaptureError(f"dtype {value.dtype!r} has no DLPack code here; known: {', '.join(_DLPACK)}")
        code, bits = _DLPACK[value.dtype]
        extents = ctypes.c_int64 * len(value.shape)
        shape, strides = extents(*value.shape), extents(*value.strides)
        tensor = _DLTensor(value.address, _CUDA, 0, len(value.shape), code, bits, 1, shape, strides, 0)
        keep += [shape, strides, tensor]
        return _Any(7, 0, _Payload(pointer=ctypes.addressof(tensor)))
    if isinstance(value, float):
        return _Any(3, 0, _Payload(real=value))
    return _Any(1, 0, _Payload(integer=int(value)))


class HostFunction:
    """An exported host function, linked with the stub (see `link`) or to be; calls are not thread-safe."""

    def __init__(self, object_path: Path, symbol: str, parameter_bytes: Sequence[int]) -> None:
        if len(parameter_bytes) > _MAX_PARAMETERS or sum(parameter_bytes) > _PARAMETER_BYTES:
            raise CaptureError(f"{len(parameter_bytes)} parameters of {sum(parameter_bytes)} bytes are too many")
        self._library = _load(object_path)
        try:
            self._entry = getattr(self._library, f"__tvm_ffi_{symbol}")
        except AttributeError:
            raise CaptureError(f"{object_path.name} exports no __tvm_ffi_{symbol}") from None
        self._sizes = tuple(parameter_bytes)
        sizes = (ctypes.c_int * _MAX_PARAMETERS).in_dll(self._library, "capture_parameter_bytes")
        for index, size in enumerate(self._sizes):
            sizes[index] = size
        ctypes.c_int.in_dll(self._library, "capture_parameter_count").value = len(self._sizes)
        ctypes.c_int.in_dll(self._library, "capture_shared_limit").value = _SHARED_LIMIT

    def __call__(self, values: Sequence[TensorValue | int | float]) -> tuple[Launch, ...]:
        """Call with `values` in ABI order and return the launches made (none for an empty problem).

        Raises HostError where the host code raises.
        """
        keep: list[object] = []
        packed = (_Any * len(values))(*(_pack(v, keep) for v in values))
        count = ctypes.c_int.in_dll(self._library, "capture_count")
        error = (ctypes.c_char * 4096).in_dll(self._library, "capture_error")
        count.value, error.value = 0, b""
        result = _Any()
        status = self._entry(None, packed, ctypes.c_int32(len(values)), ctypes.byref(result))
        if status or error.value:
            raise HostError(error.value.decode(errors="replace") or f"the host function returned {status}")
        launches = (_Launch * _MAX_LAUNCHES).in_dll(self._library, "capture_launches")
        return tuple(self._read(launches[i]) for i in range(count.value))

    def _read(self, launch: _Launch) -> Launch:
        raw, params, start = bytes(launch.parameters), [], 0
        for size in self._sizes:
            params.append(raw[start : start + size])
            start += size
        x, y, z = launch.grid
        bx, by, bz = launch.block
        cx, cy, cz = launch.cluster
        return Launch((x, y, z), (bx, by, bz), (cx, cy, cz), launch.shared_bytes, tuple(params))


def capture(
    object_path: Path, plan: Plan, values: Sequence[TensorValue | int | float], ptx: str | None = None
) -> Launch | None:
    """Return the launch that the object's host function makes for `values` (ABI order), None where it makes none.

    `object_path` is a build's kernel.o; the parameter sizes come from `ptx`, or kernel.ptx beside it. For many calls
    of one object keep a HostFunction. Raises HostError where the host code refuses the arguments, CaptureError where
    it cannot be run or launches more than one kernel.
    """
    return capture_symbol(object_path, plan.symbol, values, ptx)


def capture_symbol(
    object_path: Path, symbol: str, values: Sequence[TensorValue | int | float], ptx: str | None = None
) -> Launch | None:
    """As `capture`, for a function known by its exported name alone."""
    text = ptx if ptx is not None else object_path.with_name("kernel.ptx").read_text()
    launches = HostFunction(object_path, symbol, kernel_parameters(text))(values)
    if len(launches) > 1:
        raise CaptureError(f"{object_path.name} made {len(launches)} launches where one is expected")
    return launches[0] if launches else None
