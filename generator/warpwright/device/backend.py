"""What validation needs of a device, and the CUDA device behind it; tests put a CPU double in its place."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from warpwright.device.call import CheckedKernel
from warpwright.device.cuda_streams import CudaStreams
from warpwright.device.cuda_timer import CudaTimer
from warpwright.device.gpu import current_gpu, misfit
from warpwright.device.launch import HostError, load_function, max_active_clusters
from warpwright.device.mapped import mapped
from warpwright.device.telemetry import clocks, describe_cuda, others
from warpwright.device.variant import Variant, load_variant
from warpwright.device.xp import Array, TorchXp, Xp
from warpwright.families import workload
from warpwright.families.running import Peer
from warpwright.plan.types import Plan

__all__ = ["CUDA", "Backend", "CudaBackend", "NoDeviceError", "Streams", "Timer", "make_backend", "open_kernel"]

#: The backend of a GPU host, as `module:callable`.
CUDA = "warpwright.device.backend:CudaBackend"


class Timer(Protocol):
    """Enqueues launches between events; `collect` waits for them."""

    def cold(self, launch: Callable[[], object], launches: int = 1) -> None: ...

    def sustained(self, launch: Callable[[], object], count: int) -> None: ...

    def collect(self, waiting: Callable[[int], None]) -> list[float]:
        """Return each one's microseconds, in order; `waiting(i)` is called ahead of every wait for a part of the i-th:
        one launch where launches are long."""


class Streams(Protocol):
    """Streams beside the current one, by number (device/cuda_streams.py)."""

    def fork(self) -> None: ...

    def launch(self, index: int, function: Callable[[], object]) -> Any: ...

    def wait(self, index: int, launched: Any) -> None: ...

    def join(self) -> None: ...


class Backend(Protocol):
    """A device with its arrays; `function` below is a loaded kernel, called with tensors and scalars in ABI order."""

    xp: Xp
    device_type: str  # that tensors must be on: cuda

    def describe(self) -> dict[str, Any]: ...

    def key(self) -> str:
        """What tells this device from every other for all processes of the machine, "" where nothing does."""

    def clocks(self) -> dict[str, float]:
        """Clocks, power and temperature now, by name; {} where they cannot be read."""

    def others(self) -> int:
        """How many other processes compute on the device, as far as one sees them."""

    def load(self, variant: Variant) -> Callable[..., Any]:
        """Load a variant's function. Raises any exception when it cannot be loaded."""

    def max_clusters(self, plan: Plan) -> int:
        """Return how many clusters of a plan's main kernel the device holds at once."""

    def tensor(self, bits: Array, dtype: str) -> Any:
        """Present bits as a tensor of `dtype` with the same strides."""

    def synchronize(self) -> None:
        """Wait for the device. Raises any exception when a kernel has failed."""

    def mapped(self, words: int, value: int) -> tuple[Any, Any]:
        """Return host memory of 64-bit words, filled with `value`: as a tensor that kernels write to, and as an array
        that the host reads meanwhile. Raises RuntimeError where there is none."""

    def words(self, count: int, value: int) -> Any:
        """Return a tensor of 64-bit words on the device, filled with `value`."""

    def ended(self) -> bool:
        """Whether all that was launched has ended. Raises any exception when a kernel has failed."""

    def free_bytes(self) -> int: ...

    def timer(self) -> Timer: ...

    def streams(self, count: int) -> Streams: ...

    def peers(self, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        """What the plan is timed beside, with the same tensors and scalars, by argument."""


class NoDeviceError(RuntimeError):
    """Why there is no device to run on, in a sentence that says what to do."""


class CudaBackend:
    """The current CUDA device, through torch. Raises NoDeviceError where there is none, or no torch."""

    device_type = "cuda"

    def __init__(self) -> None:
        try:
            self.torch: Any = importlib.import_module("torch")
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise NoDeviceError(
                f"{sys.executable} has no torch; run with a Python that has it, a build of torch for this GPU's CUDA"
            ) from None
        if not self.torch.cuda.is_available():
            raise NoDeviceError(
                "torch sees no CUDA device; run on a GPU host, with its driver and a CUDA build of torch"
            )
        self.torch.cuda.init()
        self.torch.zeros(1, device="cuda")  # makes the context current, for the driver API
        self.xp = TorchXp("cuda")
        self.gpu = current_gpu(self.torch)
        self.sms = int(self.torch.cuda.get_device_properties(self.torch.cuda.current_device()).multi_processor_count)
        self.described = describe_cuda(self.torch, self.gpu)
        self._clusters: dict[tuple[object, ...], int] = {}

    def describe(self) -> dict[str, Any]:
        return self.described

    def key(self) -> str:
        return self.gpu.uuid or self.gpu.bus

    def clocks(self) -> dict[str, float]:
        return clocks(self.gpu)

    def others(self) -> int:
        return others(self.gpu)

    def load(self, variant: Variant) -> Callable[..., Any]:
        why = misfit(variant.origin.arch, self.described)
        if why:
            raise HostError(f"{variant.name}: {why}")
        return load_function(variant.library, variant.plan.symbol)

    def max_clusters(self, plan: Plan) -> int:
        main = plan.main
        key = (plan.arch, main.cluster, main.threads, main.shared_bytes, main.entry_registers)
        if key not in self._clusters:
            self._clusters[key] = max_active_clusters(plan, self.sms)
        return self._clusters[key]

    def tensor(self, bits: Array, dtype: str) -> Any:
        return bits.view(self.xp.element(dtype))

    def synchronize(self) -> None:
        self.torch.cuda.synchronize()

    def mapped(self, words: int, value: int) -> tuple[Any, Any]:
        found = mapped(self.torch, words, value)
        return found.device, found.host

    def words(self, count: int, value: int) -> Any:
        return self.torch.full((count,), value, dtype=self.torch.int64, device="cuda")

    def ended(self) -> bool:
        return bool(self.torch.cuda.current_stream().query())

    def free_bytes(self) -> int:
        free = int(self.torch.cuda.mem_get_info()[0])
        return free + int(self.torch.cuda.memory_reserved() - self.torch.cuda.memory_allocated())

    def timer(self) -> Timer:
        return CudaTimer(self.torch)

    def streams(self, count: int) -> Streams:
        return CudaStreams(self.torch, count)

    def peers(self, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        return workload(plan.family).peers(self.torch, plan, tensors)


def open_kernel(folder: Path) -> CheckedKernel:
    """Load the variant in `folder` (out/<config>/<variant>) for calls with CUDA tensors of torch.

    Raises VariantError when the folder is not a built variant, LaunchError when its library cannot be loaded or was
    built for another GPU, RuntimeError when there is no CUDA device.
    """
    variant = load_variant(folder)
    backend = CudaBackend()
    return CheckedKernel(variant.plan, backend.load(variant), backend.max_clusters(variant.plan))


def make_backend(spec: str) -> Backend:
    """Make the backend named `module:callable`. Raises ImportError, AttributeError or what the callable raises."""
    module, _, name = spec.partition(":")
    backend: Backend = getattr(importlib.import_module(module), name)()
    return backend
