"""Runs an exported host function without a GPU and notes what it launches.

The dynamic shared memory of a kernel shows nowhere in its PTX or cubin, and the grid, the tensor maps and the other
parameter bytes exist only once the host code has computed them. So the object is linked with a stub of the few
launch functions that it imports (launch_stub.c) and called through ctypes: 4 ms to link, well under 1 ms a call.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpwright import scratch
from warpwright.build.kernels import pair
from warpwright.build.linking import LinkError, link_with_stub
from warpwright.build.ptx_census import kernel_parameters
from warpwright.dlpack import CUDA, DLTensor
from warpwright.dtypes import DTYPES, dtype
from warpwright.plan.types import Argument, Plan, extent_of

__all__ = [
    "CaptureError",
    "HostError",
    "HostFunction",
    "Launch",
    "NotLinkedError",
    "TensorValue",
    "capture",
    "default_values",
    "link",
]

_MAX_KERNELS, _MAX_LAUNCHES, _MAX_PARAMETERS, _PARAMETER_BYTES = 16, 16, 64, 4352  # as in launch_stub.c
_SHARED_LIMIT = 232_448


class CaptureError(RuntimeError):
    """The host function could not be linked or run."""


class NotLinkedError(CaptureError):
    """The machine could not link the host function or load it: that is nothing of the function's."""


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
    """One launch as the driver would get it.

    `shared_bytes` is dynamic, `params` one string per kernel parameter, `kernel` the compiled name, as in the PTX.
    `own_stream`: it goes to the caller's current stream, not to the default one.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    params: tuple[bytes, ...]
    kernel: str = ""
    own_stream: bool = True


class _Payload(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("real", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class _Any(ctypes.Structure):
    """TVMFFIAny; type indices: 1 integer, 3 real, 7 DLTensor pointer."""

    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("payload", _Payload)]


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("parameter_count", ctypes.c_int),
        ("parameter_bytes", ctypes.c_int * _MAX_PARAMETERS),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.POINTER(_Kernel)),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("parameters", ctypes.c_ubyte * _PARAMETER_BYTES),
        ("stream", ctypes.c_void_p),
    ]


def default_values(arguments: Sequence[Argument], extents: Mapping[str, int]) -> list[TensorValue | int | float]:
    """Return legal values for `arguments` at a problem's `extents` ({"M": 256, ...}): compact tensors, scalars 1.

    Each tensor, of a workspace too, gets an address of its own, 2^36 bytes apart. Leading strides are rounded up to 16
    bytes, or to the argument's alignment where that is more.
    """
    values: list[TensorValue | int | float] = []
    for index, argument in enumerate(arguments):
        element = dtype(argument.dtype)
        if argument.kind == "scalar":
            values.append(1 if element.integral else 1.0)
            continue
        shape = tuple(extent_of(mode, extents) for mode in argument.shape)
        order = [argument.shape.index(argument.contiguous)] if argument.contiguous else []
        order += [i for i in reversed(range(len(shape))) if i not in order]
        strides, step = [0] * len(shape), 1
        unit = max(1, 8 * max(16, argument.alignment) // element.bits)
        for mode in order:
            strides[mode] = step
            step = -(-step * max(shape[mode], 1) // unit) * unit
        values.append(TensorValue((index + 1) << 36, shape, tuple(strides), argument.dtype))
    return values


def link(object_path: Path, library: Path) -> None:
    """Link a host function with the stub into `library`, which HostFunction takes in place of the object."""
    try:
        link_with_stub(object_path, library)
    except (LinkError, OSError) as error:
        raise NotLinkedError(str(error)) from None


def _load(object_path: Path) -> ctypes.CDLL:
    if object_path.suffix != ".so":
        with _folder() as folder:
            library = Path(folder) / "capture.so"
            link(object_path, library)
            return _opened(library, object_path)
    return _opened(object_path, object_path)


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return scratch.folder("capture")
    except OSError as error:
        raise NotLinkedError(str(error)) from None


def _opened(library: Path, object_path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        if "undefined symbol" not in str(error):
            raise NotLinkedError(f"{object_path.name} could not be loaded: {error}") from None
        raise CaptureError(
            f"{object_path.name} imports a function that warpwright/build/launch_stub.c does not stand in for; "
            f"add it there: {error}"
        ) from None


def _pack(value: TensorValue | int | float, keep: list[object]) -> _Any:
    if isinstance(value, TensorValue):
        if value.dtype not in DTYPES:
            raise CaptureError(f"dtype {value.dtype!r} has no DLPack code here; known: {', '.join(DTYPES)}")
        code, bits = dtype(value.dtype).dlpack
        lanes = max(1, 8 // bits)  # elements that share a byte count as one, as in torch
        modes = ctypes.c_int64 * len(value.shape)
        shape = modes(*(n // lanes if step == 1 else n for n, step in zip(value.shape, value.strides, strict=True)))
        strides = modes(*(step // lanes if step > 1 else step for step in value.strides))
        tensor = DLTensor(value.address, CUDA, 0, len(value.shape), code, bits, lanes, shape, strides, 0)
        keep += [shape, strides, tensor]
        return _Any(7, 0, _Payload(pointer=ctypes.addressof(tensor)))
    if isinstance(value, float):
        return _Any(3, 0, _Payload(real=value))
    return _Any(1, 0, _Payload(integer=int(value)))


class HostFunction:
    """An exported host function, linked with the stub (see `link`) or to be; calls are not thread-safe.

    `parameters` are the sizes in bytes of each kernel's parameters, by its compiled name (see `kernel_parameters`).
    """

    def __init__(self, object_path: Path, symbol: str, parameters: Mapping[str, Sequence[int]]) -> None:
        if len(parameters) >= _MAX_KERNELS:
            raise CaptureError(f"{object_path.name} has {len(parameters)} kernels, at most {_MAX_KERNELS - 1} fit here")
        for name, sizes in parameters.items():
            if len(sizes) > _MAX_PARAMETERS or sum(sizes) > _PARAMETER_BYTES:
                raise CaptureError(f"{name}: {len(sizes)} parameters of {sum(sizes)} bytes are too many")
        self._library = _load(object_path)
        try:
            self._entry = getattr(self._library, f"__tvm_ffi_{symbol}")
        except AttributeError:
            raise CaptureError(f"{object_path.name} exports no __tvm_ffi_{symbol}") from None
        self._kernels = (_Kernel * _MAX_KERNELS).in_dll(self._library, "capture_kernels")
        self._names = [name.encode() for name in parameters]  # the library keeps pointers to them
        for kernel, key, sizes in zip(self._kernels, self._names, parameters.values(), strict=False):
            kernel.name, kernel.parameter_count = key, len(sizes)
            kernel.parameter_bytes[: len(sizes)] = list(sizes)
        ctypes.c_int.in_dll(self._library, "capture_shared_limit").value = _SHARED_LIMIT

    def __call__(self, values: Sequence[TensorValue | int | float]) -> tuple[Launch, ...]:
        """Call with `values` in ABI order and return the launches made, in order (none for an empty problem).

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
        return tuple(_read(launches[i]) for i in range(count.value))


def _read(launch: _Launch) -> Launch:
    kernel = launch.kernel.contents
    raw, params, start = bytes(launch.parameters), [], 0
    for size in kernel.parameter_bytes[: kernel.parameter_count]:
        params.append(raw[start : start + size])
        start += size
    x, y, z = launch.grid
    bx, by, bz = launch.block
    cx, cy, cz = launch.cluster
    return Launch((x, y, z), (bx, by, bz), (cx, cy, cz), launch.shared_bytes, tuple(params), kernel.name.decode(),
                  bool(launch.stream))  # fmt: skip


def capture(
    object_path: Path, plan: Plan, values: Sequence[TensorValue | int | float], ptx: str | None = None
) -> tuple[Launch, ...]:
    """Return the launches that the object's host function makes for `values` (ABI order): one per kernel of the plan,
    in its order, or none at all (an empty problem).

    `object_path` is a build's kernel.o; the parameter sizes come from `ptx`, or kernel.ptx beside it. For many calls
    of one object keep a HostFunction. Raises HostError where the host code refuses the arguments, CaptureError where
    it cannot be run or launches other kernels than those of the plan.
    """
    parameters = kernel_parameters(ptx if ptx is not None else object_path.with_name("kernel.ptx").read_text())
    launches = HostFunction(object_path, plan.symbol, parameters)(values)
    planned = pair([kernel.name for kernel in plan.kernels], list(parameters))
    launched = [launch.kernel for launch in launches]
    if launched and launched != planned:
        names = ", ".join(kernel.name for kernel in plan.kernels)
        raise CaptureError(f"{object_path.name} launches {', '.join(launched)} where the plan has {names}")
    return launches
