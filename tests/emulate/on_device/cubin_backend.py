"""A backend for validation that launches cubins through the driver API, without torch and the DSL.

A mutant has a cubin of its own and its kernel's host code, linked with the capture stub: called with the device's
real addresses it yields the parameters, which are then launched with the mutant. Arrays live on the CPU, and each
launch copies whole allocations there and back, guard bands included: so that a process starts in a second instead of
the several that torch takes, and most mutants cost one.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from warpwright.build.launch_capture import HostFunction, TensorValue
from warpwright.device.launch import (
    CLUSTER_DIMENSION,
    MAX_DYNAMIC_SHARED,
    LaunchAttribute,
    LaunchConfig,
    max_active_clusters,
)
from warpwright.device.variant import Variant
from warpwright.device.xp import Array, NumpyXp
from warpwright.dtypes import dtype
from warpwright.plan.types import Plan

_SMS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT


class Driver:
    """The few functions of the CUDA driver that are needed, on device 0; each raises RuntimeError when it fails."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self("cuCtxSetCurrent", self._context)
        name, sms, version = ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int()
        self("cuDeviceGetName", name, 256, device)
        self("cuDeviceGetAttribute", ctypes.byref(sms), _SMS, device)
        self("cuDriverGetVersion", ctypes.byref(version))
        self.name, self.sms, self.version = name.value.decode(), sms.value, version.value

    def __call__(self, function: str, *arguments: Any) -> None:
        code = getattr(self._cuda, function)(*arguments)
        if code:
            raise RuntimeError(f"CUDA error {code} from {function}")

    def allocate(self, size: int) -> int:
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        self("cuMemFree_v2", ctypes.c_uint64(address))

    def to_device(self, device: int, host: int, size: int) -> None:
        self("cuMemcpyHtoD_v2", ctypes.c_uint64(device), ctypes.c_void_p(host), ctypes.c_size_t(size))

    def to_host(self, host: int, device: int, size: int) -> None:
        self("cuMemcpyDtoH_v2", ctypes.c_void_p(host), ctypes.c_uint64(device), ctypes.c_size_t(size))


class HostTensor:
    """Bits with the tensor interface that the checked call reads."""

    device = "host"

    def __init__(self, bits: Array, name: str) -> None:
        self.bits, self.short, self.dtype, self.shape = bits, name, dtype(name).torch, tuple(bits.shape)

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.bits.itemsize for stride in self.bits.strides)

    def data_ptr(self) -> int:
        return int(self.bits.ctypes.data)

    def as_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> HostTensor:
        byte_strides = tuple(stride * self.bits.itemsize for stride in strides)
        return HostTensor(np.lib.stride_tricks.as_strided(self.bits, shape, byte_strides), self.short)


class RememberingXp(NumpyXp):
    """numpy that knows which allocation an address lies in."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[int, int] = {}

    def allocate(self, elements: int, size: int) -> Array:
        raw = super().allocate(elements, size)
        first, last = raw.ctypes.data, raw.ctypes.data + raw.nbytes
        gone = [base for base, length in self._sizes.items() if base < last and first < base + length]
        for base in gone:
            del self._sizes[base]
        self._sizes[first] = raw.nbytes
        return raw

    def allocation(self, address: int) -> tuple[int, int]:
        """Base and size in bytes."""
        return next((base, size) for base, size in self._sizes.items() if base <= address < base + size)


class CubinBackend:
    """Device 0, through its driver."""

    device_type = "host"

    def __init__(self) -> None:
        self.driver, self.xp = Driver(), RememberingXp()
        self.copies: list[tuple[int, int, int]] = []  # host base, device base and bytes, of the launch in flight

    def describe(self) -> dict[str, Any]:
        return {"gpu": self.driver.name, "sms": self.driver.sms, "cuda": self.driver.version}

    def key(self) -> str:
        return ""  # nobody is timed here, and so nobody is kept waiting

    def load(self, variant: Variant) -> Callable[..., None]:
        return Kernel(self, variant)

    def max_clusters(self, plan: Plan) -> int:
        return max_active_clusters(plan, self.driver.sms)

    def tensor(self, bits: Array, name: str) -> HostTensor:
        return HostTensor(bits, name)

    def synchronize(self) -> None:
        self.driver("cuCtxSynchronize")
        for host, device, size in self.copies:
            self.driver.to_host(host, device, size)
            self.driver.free(device)
        self.copies.clear()

    def free_bytes(self) -> int:
        return 4 << 30  # of the CPU's memory: the arrays are there


class Kernel:
    """One mutant, ready to be launched."""

    def __init__(self, backend: CubinBackend, variant: Variant) -> None:
        self.backend, self.driver = backend, backend.driver
        parameters = json.loads((variant.folder / "launch.json").read_text())
        self.host = HostFunction(variant.library, variant.plan.symbol, parameters)
        module, self.functions = ctypes.c_void_p(), {name: ctypes.c_void_p() for name in parameters}
        self.driver("cuModuleLoadData", ctypes.byref(module), (variant.folder / "kernel.cubin").read_bytes())
        for name, function in self.functions.items():
            self.driver("cuModuleGetFunction", ctypes.byref(function), module, name.encode())

    def __call__(self, *arguments: Any) -> None:
        launches = self.host([self._place(a) if isinstance(a, HostTensor) else a for a in arguments])
        for launch in launches:
            function = self.functions[launch.kernel]
            self.driver("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, ctypes.c_int(launch.shared_bytes))
            attribute = LaunchAttribute(id=CLUSTER_DIMENSION, dims=launch.cluster)
            config = LaunchConfig(
                grid=launch.grid,
                block=launch.block,
                shared_bytes=launch.shared_bytes,
                attributes=ctypes.pointer(attribute),
                attribute_count=1,
            )
            held = [ctypes.create_string_buffer(value, len(value)) for value in launch.params]
            pointers = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
            self.driver("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)

    def _place(self, tensor: HostTensor) -> TensorValue:
        """Copy the allocation that holds a tensor to the device; the tensor lies there as it lies here."""
        base, size = self.backend.xp.allocation(tensor.data_ptr())
        device = self.driver.allocate(size)
        self.driver.to_device(device, base, size)
        self.backend.copies.append((base, device, size))
        return TensorValue(device + tensor.data_ptr() - base, tensor.shape, tensor.stride(), tensor.short)
