"""torch without a GPU, for programs that ask for one: "cuda" means host memory, and every tensor says it is there.

Only what such programs ask torch for is answered: where tensors are made and moved, streams and events, and properties
of the device. No operation of torch computes anything else. Where torch is not imported, nothing of this is used.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from warpwright.checking.device_memory import fill_with_pattern
from warpwright.checking.exchange import Exchanged

__all__ = ["torch_on_host"]


@contextlib.contextmanager
def torch_on_host(exchanged: Exchanged, gpu: Any) -> Iterator[None]:
    """Treat torch so as soon as it is imported, now or later, until the context ends."""
    entered = contextlib.ExitStack()

    def pretend(torch: ModuleType) -> None:
        _cuda(exchanged, gpu, torch)
        entered.enter_context(_mode(gpu, torch))

    finder = _Afterwards("torch", pretend)
    if "torch" in sys.modules:
        pretend(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, finder)
    try:
        with entered:
            yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


class _Afterwards(importlib.abc.MetaPathFinder):
    """Calls a function when a module has been imported."""

    def __init__(self, name: str, then: Any) -> None:
        self.name, self.then = name, then

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                self.then(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _mode(gpu: Any, torch: Any) -> Any:
    """A context in which torch's functions take "cuda" for host memory."""
    from torch.overrides import TorchFunctionMode

    device, tensor = torch.device("cuda", 0), torch.Tensor
    says = {tensor.device.__get__: device, tensor.is_cuda.__get__: True, tensor.is_cpu.__get__: False,
            tensor.get_device: 0}  # fmt: skip
    fresh = {torch.empty, torch.empty_like, torch.empty_strided, tensor.new_empty, tensor.new_empty_strided}
    moves = {tensor.cuda, tensor.cpu, tensor.to}

    def host(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value

    def placed(kwargs: dict[str, Any]) -> dict[str, Any]:
        where = kwargs.get("device")
        kept = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory")}
        return kept if where is None else {**kept, "device": "cpu" if type(where) is int else host(where)}

    def moved(func: Any, args: Any, kwargs: Any) -> Any:
        """A copy wherever another device may be meant: the two must not share memory."""
        if func is not tensor.to:
            return args[0].clone()
        places = [*args[1:2], kwargs.get("device")]
        named = (torch.device, str, int)
        elsewhere = any(isinstance(p, named) and not isinstance(p, bool) for p in places)
        rest = tuple("cpu" if type(value) is int else host(value) for value in args[1:2]) + tuple(args[2:])
        result = func(args[0], *rest, **placed(kwargs))
        return result.clone() if elsewhere and result.data_ptr() == args[0].data_ptr() else result

    class OnHost(TorchFunctionMode):  # type: ignore[misc]  # torch is not there to be looked at
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in says:
                return says[func]
            if func is tensor.pin_memory:
                return args[0]
            if func in moves:
                return moved(func, args, dict(kwargs or {}))
            result = func(*map(host, args), **placed(dict(kwargs or {})))
            if func in fresh:
                storage = result.untyped_storage()
                fill_with_pattern(storage.data_ptr(), storage.nbytes())
            elif func is tensor.data_ptr:  # an address that is passed on bare
                storage = args[0].untyped_storage()
                gpu.memory.note(storage.data_ptr(), storage.nbytes(), owner=storage, keep=True)
            return result

    return OnHost()


class _Stream:
    """A stream or event, of which nothing needs to be done: launches run when they are made."""

    cuda_stream = cuda_event = 0
    device_index = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, _end: Any) -> float:
        return float("nan")

    def _nothing(self, *_: Any, **__: Any) -> None:
        pass

    synchronize = wait_stream = wait_event = record_event = record = wait = _nothing


def _graphs(gpu: Any) -> tuple[type, Any]:
    """CUDAGraph, and the context that captures one: launches alone are captured, and run when it is replayed."""

    class Graph:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.launches: list[Any] = []

        def replay(self) -> None:
            for launch in self.launches:
                launch()

        def reset(self) -> None:
            self.launches = []

    @contextlib.contextmanager
    def capture(graph: Graph, *_: Any, **__: Any) -> Iterator[None]:
        gpu.captured = graph.launches = []
        try:
            yield
        finally:
            gpu.captured = None

    return Graph, capture


def _cuda(exchanged: Exchanged, gpu: Any, torch: Any) -> None:
    """The functions of torch.cuda that programs call."""
    major, minor = gpu.limits.capability
    properties = SimpleNamespace(
        name=f"emulated {gpu.arch}", major=major, minor=minor, multi_processor_count=gpu.limits.multiprocessors,
        total_memory=1 << 34, L2_cache_size=50 * 2**20, warp_size=32,
        shared_memory_per_block_optin=gpu.limits.shared_bytes, shared_memory_per_multiprocessor=gpu.limits.shared_bytes,
    )  # fmt: skip
    stream = _Stream()
    graph, capture = _graphs(gpu)
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda _device: None,
        "device": lambda _device: contextlib.nullcontext(),
        "synchronize": lambda *_, **__: None,
        "empty_cache": lambda: None,
        "current_stream": lambda *_: stream,
        "default_stream": lambda *_: stream,
        "stream": lambda _stream: contextlib.nullcontext(),
        "is_current_stream_capturing": lambda: gpu.captured is not None,
        "CUDAGraph": graph,
        "graph": capture,
        "get_device_name": lambda *_: properties.name,
        "get_device_capability": lambda *_: gpu.limits.capability,
        "get_device_properties": lambda *_: properties,
        "mem_get_info": lambda *_: (1 << 34, 1 << 34),
        "manual_seed": lambda _seed: None,  # torch.manual_seed seeds the host's generator itself
        "manual_seed_all": lambda _seed: None,
        "Stream": _Stream,
        "Event": _Stream,
    }
    for name, answer in answers.items():
        if hasattr(torch.cuda, name):
            exchanged.attribute(torch.cuda, name, answer)
