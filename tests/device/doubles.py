"""A device without a GPU: numpy arrays, tensors that know their strides, and kernels that can go wrong on purpose."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warpwright.device import contest
from warpwright.device.backend import CudaBackend
from warpwright.device.launch import HostError
from warpwright.device.marks import is_twin
from warpwright.device.variant import Variant
from warpwright.device.xp import NumpyXp, TorchXp, Xp
from warpwright.dtypes import DTYPES, dtype
from warpwright.epilogue.reference import Chain
from warpwright.families.running import Peer
from warpwright.plan.types import Plan

#: Where a child process finds this module.
ROOT = Path(__file__).resolve().parents[2]


class HostTensor:
    """Bits with the tensor interface that the checked call reads."""

    device = "host:0"

    def __init__(self, bits: Any, name: str) -> None:
        self.bits, self.short = bits, name
        self.shape, self.dtype = tuple(bits.shape), DTYPES[name].torch if name in DTYPES else name

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.bits.itemsize for s in self.bits.strides)

    def data_ptr(self) -> int:
        return int(self.bits.ctypes.data)

    def as_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> HostTensor:
        byte_strides = tuple(s * self.bits.itemsize for s in strides)
        return HostTensor(np.lib.stride_tricks.as_strided(self.bits, shape, byte_strides), self.short)


class HostBackend:
    """Computes in float64 what the plan says, then misbehaves as kernel.so (JSON) says: {"fault": ...}."""

    device_type = "host"

    def __init__(self) -> None:
        self.xp: Xp = NumpyXp()
        self.launches = 0
        self.asked = 0

    def describe(self) -> dict[str, Any]:
        software = {"driver": "none", "torch": "none", "cuda": "none", "tvm_ffi": "", "python": "3.12.3"}
        return {
            "gpu": "double",
            "compute_capability": os.environ.get("DOUBLE_CAPABILITY", "9.0"),
            "sms": 6,
            "memory_bytes": 2**30,
            "uuid": self.key(),
            **software,
        }

    def key(self) -> str:
        return os.environ.get("DOUBLE_KEY", "")

    def clocks(self) -> dict[str, float]:
        return {"clocks_sm": 1980.0}

    def others(self) -> int:
        """As many as the environment says, in the order in which they are asked for."""
        told = os.environ.get("DOUBLE_OTHERS", "0").split(",")
        self.asked += 1
        return int(told[min(self.asked, len(told)) - 1])

    def load(self, variant: Variant) -> Callable[..., None]:
        misbehaviour = json.loads(variant.library.read_bytes())
        if misbehaviour.get("fault") == "load":
            raise OSError("kernel.so: undefined symbol")
        if misbehaviour.get("fault") == "host":
            raise HostError("libcute_dsl_runtime.so not found")
        return HostKernel(variant.plan, self, misbehaviour)

    def max_clusters(self, plan: Plan) -> int:
        return 6

    def tensor(self, bits: Any, dtype: str) -> HostTensor:
        return HostTensor(bits, dtype)

    def synchronize(self) -> None:
        if getattr(self, "sticky", False):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def free_bytes(self) -> int:
        return 1 << 30

    def timer(self) -> HostTimer:
        return HostTimer()

    def streams(self, count: int) -> HostStreams:
        return HostStreams(count)

    def peers(self, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        """The vendor's, and behind it a copy; without the first where the environment says so (DOUBLE_VENDOR)."""
        held = [tensor for tensor in tensors.values() if hasattr(tensor, "bits")]
        copy = Peer("double copy", lambda: [tensor.bits.copy() for tensor in held], same=False)
        vendor = Peer("double", lambda: [self.xp.decode(tensor.bits, tensor.short) for tensor in held])
        return [copy, vendor] if os.environ.get("DOUBLE_VENDOR", "1") == "1" else [copy]


class HostTimer:
    """Wall-clock time, with no kernel shorter than 100 us: those are not launched back to back.

    As on a GPU, time passes where launches are waited for, not where they are enqueued."""

    def __init__(self) -> None:
        self.pending: list[tuple[Callable[[], object], int]] = []

    def cold(self, launch: Callable[[], object], launches: int = 1) -> None:
        self.sustained(launch, 1)

    def sustained(self, launch: Callable[[], object], count: int) -> None:
        self.pending.append((launch, count))

    def collect(self, waiting: Callable[[int], None]) -> list[float]:
        pending, self.pending = self.pending, []
        times = []
        for index, (launch, count) in enumerate(pending):
            started = time.perf_counter()
            for _ in range(count):
                waiting(index)
                launch()
            times.append(100 + (time.perf_counter() - started) * 1e6 / count)
        return times


class HostStreams:
    """Runs what streams were given as late as it must: at the join, one stream as far as it comes, then the next.

    STREAM_ORDER says which goes first: what nobody waits for, and must be, is seen one way or the other.
    """

    def __init__(self, count: int) -> None:
        self.queues: list[list[tuple[Callable[[], object], object] | object]] = [[] for _ in range(count)]
        self.done: set[object] = set()

    def fork(self) -> None:
        pass

    def launch(self, index: int, function: Callable[[], object]) -> object:
        launched = object()
        self.queues[index].append((function, launched))
        return launched

    def wait(self, index: int, launched: object) -> None:
        self.queues[index].append(launched)

    def join(self) -> None:
        order = list(range(len(self.queues)))
        if os.environ.get("STREAM_ORDER") == "last":
            order.reverse()
        while any(self.queues):
            assert any(self._advance(self.queues[index]) for index in order), "each waits for another"

    def _advance(self, queue: list[Any]) -> bool:
        moved = False
        while queue and (isinstance(queue[0], tuple) or queue[0] in self.done):
            if isinstance(entry := queue.pop(0), tuple):
                entry[0]()
                self.done.add(entry[1])
            moved = True
        return moved


class HostKernel:
    """The double of one variant's function."""

    def __init__(self, plan: Plan, backend: Any, misbehaviour: dict[str, Any]) -> None:
        self.plan, self.backend, self.fault = plan, backend, misbehaviour.get("fault", "")
        self.dtypes = {a.name: a.dtype for a in plan.arguments}
        self.calls = 0

    def host(self, tensor: Any, name: str) -> HostTensor:
        """A tensor as bits, whichever library it is of."""
        if isinstance(tensor, HostTensor):
            return tensor
        integer = f"int{dtype(self.dtypes[name]).bits}"
        return HostTensor(tensor.view(getattr(self.backend.xp.torch, integer)), self.dtypes[name])  # type: ignore[union-attr]

    def __call__(self, *arguments: Any) -> None:
        self.calls += 1
        xp = self.backend.xp
        given = dict(zip((a.name for a in self.plan.arguments), arguments, strict=True))
        a, b, d = (self.host(given[name], name) for name in "abd")
        if self.fault == "hang":
            time.sleep(600)
        if self.fault == "slow":
            time.sleep(0.3)
        if self.fault == "hang_late" and self.calls > 4:  # past the warm-up, in a round
            time.sleep(600)
        if self.fault == "abort":
            os.abort()
        if self.fault == "killed":  # by the system, where memory is short
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "memory":
            raise RuntimeError("CUDA error: out of memory")
        if self.fault == "image":
            raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
        if self.fault == "refuse":
            raise RuntimeError("invalid configuration argument")
        if self.fault == "sticky":
            self.backend.sticky = True  # type: ignore[attr-defined]
            return
        if self.fault == "late":  # what it reads of an input that is the output
            d.bits[...] = 0
        values = xp.matmul(xp.decode(a.bits, a.short), xp.decode(b.bits, b.short))
        if self.fault == "drop" and a.shape[2]:  # the last k is lost
            values = values - xp.decode(a.bits, a.short)[..., -1:] * xp.decode(b.bits, b.short)[:, -1:]
        chain = Chain(self.plan)
        scalars = {x.name: given[x.name] for x in self.plan.arguments if x.kind == "scalar"}
        if self.fault == "read_c":
            scalars["beta"] = scalars["beta"] or 1e-30
        stored = lambda name: xp.decode(self.host(given[name], name).bits, self.dtypes[name])  # noqa: E731
        exact = xp.zeros(tuple(values.shape))
        out = xp.encode(chain.apply(xp, values, exact, False, scalars, stored)[0], d.short)
        if xp.size(out) == 0:
            return
        if self.fault == "unwritten":
            out[..., -1, -1] = d.bits[..., -1, -1]
        if self.fault == "random" and self.calls % 2:
            out[..., 0, 0] ^= 1
        d.bits[...] = out
        whole = np.lib.stride_tricks.as_strided
        if self.fault == "guard":
            whole(d.bits, (d.stride()[-2] * d.shape[-2] + 1,), (d.bits.itemsize,))[-1] = 0
        if self.fault == "input":
            a.bits[..., 0, 0] ^= 1


class RightBackend(HostBackend):
    """A GPU on which every kernel is right, whatever its library holds."""

    def load(self, variant: Variant) -> Callable[..., None]:
        return HostKernel(variant.plan, self, {})


class PairBackend(HostBackend):
    """Also loads kernels that cast a vector: with {"fault": "last"} they lose the last element."""

    def load(self, variant: Variant) -> Callable[..., None]:
        kernel = variant.plan.kernel
        if "x" not in kernel:
            return super().load(variant)
        fault = json.loads(variant.library.read_bytes()).get("fault")

        def cast(x: Any, y: Any, alpha: float, _: int) -> None:
            y.bits[...] = self.xp.encode(self.xp.decode(x.bits, kernel["x"]["dtype"]) * alpha, kernel["y"]["dtype"])
            if fault == "last":
                y.bits[-1] = 0

        return cast


class StuckPeerBackend(HostBackend):
    """The vendor's library is what never comes back."""

    def peers(self, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        return [Peer("stuck", lambda: time.sleep(600))]


class CompilingPeerBackend(HostBackend):
    """The vendor's way has to be compiled: so many seconds (DOUBLE_COMPILES), of at most so many (DOUBLE_MAY)."""

    def peers(self, plan: Plan, tensors: Mapping[str, Any]) -> Sequence[Peer]:
        time.sleep(float(os.environ["DOUBLE_COMPILES"]))
        return super().peers(plan, tensors)

    def load(self, variant: Variant) -> Callable[..., None]:
        contest.PREPARE_SECONDS, contest.NOTICE_SECONDS = float(os.environ["DOUBLE_MAY"]), 1.0
        return super().load(variant)


class SlowReferenceBackend(HostBackend):
    """Everything but the kernel takes too long from the first launch on."""

    def load(self, variant: Variant) -> Callable[..., None]:
        from warpwright.device import check

        check.compare = lambda *_: time.sleep(600)  # type: ignore[assignment]
        return super().load(variant)


class TorchHostBackend(HostBackend):
    """The same with torch on the CPU: torch's arrays and tensors as a GPU host uses them."""

    device_type = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self.xp = TorchXp("cpu")

    def tensor(self, bits: Any, dtype: str) -> Any:
        return bits.view(self.xp.element(dtype))  # type: ignore[union-attr]


class CudaDoubleBackend(CudaBackend):
    """A real GPU with kernels made of torch operations: for the parts of validation that only a GPU can show."""

    def load(self, variant: Variant) -> Callable[..., None]:
        return CudaDoubleKernel(variant.plan, self, json.loads(variant.library.read_bytes()))


class CudaDoubleKernel(HostKernel):
    def __call__(self, *arguments: Any) -> None:
        torch = self.backend.torch  # type: ignore[attr-defined]
        if self.fault == "spin":
            torch.cuda._sleep(1 << 50)  # about a week
        if self.fault == "device_assert":
            torch.zeros(1, device="cuda")[torch.tensor([5], device="cuda")]
        super().__call__(*arguments)


class OnceBackend(HostBackend):
    """A GPU that falls off its bus: only the first process finds it, as the folder DOUBLE_ONCE tells."""

    def __init__(self) -> None:
        super().__init__()
        try:
            Path(os.environ["DOUBLE_ONCE"]).mkdir()
        except FileExistsError:
            raise RuntimeError("the GPU is lost") from None


class OtherBackend(HostBackend):
    """One of several GPUs falls off its bus: every process but the first finds another."""

    def key(self) -> str:
        try:
            Path(os.environ["DOUBLE_ONCE"]).mkdir()
        except FileExistsError:
            return "the second"
        return "the first"


class NoMemoryBackend(HostBackend):
    """A GPU that is there, and does not answer."""

    def free_bytes(self) -> int:
        raise RuntimeError("CUDA error: unknown error")


class Words:
    """64-bit words of the double, as a tensor of torch and as one of a call."""

    device, dtype = "host:0", "int64"

    def __init__(self, count: int, value: int) -> None:
        self.array = np.full(count, value, np.int64)
        self.shape = (count,)

    def stride(self) -> tuple[int, ...]:
        return (1,)

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def as_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> Words:
        return self

    def fill_(self, value: int) -> None:
        self.array[...] = value

    def cpu(self) -> Words:
        return self

    def numpy(self) -> Any:
        return self.array


class MarkingBackend(HostBackend):
    """Twins write the marks of a file (DOUBLE_MARKS), and never end where that says `hangs`."""

    hung = False

    def load(self, variant: Variant) -> Callable[..., None]:
        return MarkingKernel(variant.plan, self, {}) if is_twin(variant.plan) else super().load(variant)

    def mapped(self, words: int, value: int) -> tuple[Any, Any]:
        found = Words(words, value)
        return found, found.array

    def words(self, count: int, value: int) -> Words:
        return Words(count, value)

    def ended(self) -> bool:
        return not self.hung


class MarkingKernel(HostKernel):
    def __call__(self, *arguments: Any) -> None:
        with np.load(os.environ["DOUBLE_MARKS"]) as marks:
            for name, argument in zip((a.name for a in self.plan.arguments), arguments, strict=True):
                if name in marks:
                    argument.array[...] = marks[name][: len(argument.array)]  # of few CTAs, where it is a quiet twin
            self.backend.hung = bool(marks["hangs"])
            wrong = bool(marks["wrong"])
        if not self.backend.hung and not wrong:
            super().__call__(*arguments)
