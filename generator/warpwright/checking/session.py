"""An emulated GPU: what compiled functions are launched on while it is there, and what was found on it."""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from warpwright.checking.device_memory import DeviceMemory
from warpwright.checking.dlpack import OnDevice, is_array
from warpwright.checking.driver import attribute
from warpwright.checking.dsl import attached
from warpwright.checking.errors import CheckError, FindingsError
from warpwright.checking.kernels import Entry, Kernels, cubin_at
from warpwright.checking.launching import Settings, parameters, run_launch
from warpwright.checking.limits import Limits
from warpwright.checking.report import LaunchReport, Message, Summary
from warpwright.checking.runtime import LaunchConfig, Runtime

__all__ = ["CheckError", "FindingsError", "Gpu", "Limits", "emulated", "emulated_gpu"]


class Gpu:
    """The device, and all that was seen on it. Made by `emulated_gpu`."""

    def __init__(self, arch: str, settings: Settings) -> None:
        self.arch, self.settings, self.limits = arch, settings, settings.limits
        self.memory, self.kernels = DeviceMemory(), Kernels()
        self.summary = Summary(arch)
        self.called_functions: dict[int, Any] = {}  # compiled functions that the program has called, by id
        self.captured: list[Callable[[], None]] | None = None  # launches of a graph that is being captured
        self.timelines: list[list[dict[str, Any]]] = []
        self.runtime = Runtime(self)

    # -- what a test asks

    @property
    def launches(self) -> list[LaunchReport]:
        """All launches so far, in order."""
        return self.summary.launches

    @property
    def findings(self) -> list[Message]:
        """Everything that is wrong so far, launch by launch, the gravest of each first."""
        return self.summary.every_finding

    def raise_for_findings(self) -> None:
        """Raise FindingsError (an AssertionError) where anything was found."""
        if self.findings:
            raise FindingsError("\n".join(str(finding) for finding in self.findings))

    def take_findings(self) -> list[Message]:
        """Return what was found so far, and forget it: for tests of kernels that are meant to be wrong."""
        found = self.findings
        for launch in self.launches:
            launch.findings = []
        self.summary.findings = []
        return found

    def check(self, name: str, got: Any, expected: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
        """Compare an output with what it should be, element by element; a difference is a finding (`wrong-result`).

        `got` and `expected`: arrays of one shape. An element is right within atol + rtol * |expected|; NaN equals NaN.
        """
        from warpwright.checking.compare import compare

        self.summary.findings += compare(name, got, expected, rtol, atol)

    def empty(self, shape: Sequence[int], dtype: Any) -> Any:
        """A numpy array in the device's memory that nobody has written: a later `check` tells what stays unwritten."""
        import numpy as np

        from warpwright.checking.device_memory import bytes_at

        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return bytes_at(self.allocate(size), max(size, 1))[:size].view(dtype).reshape(shape)

    def tensor(self, array: Any) -> Any:
        """An array as the DSL takes it, with a dynamic layout; anything else as it is."""
        if not is_array(array):
            return array
        from cutlass.cute.runtime import from_dlpack

        tensor = from_dlpack(array)
        return tensor.mark_layout_dynamic() if 1 in tensor.stride else tensor

    def note(self, kind: str, text: str) -> None:
        """Add a note to the summary, once."""
        message = Message(kind, text)
        if message not in self.summary.notes:
            self.summary.notes.append(message)

    # -- what the runtime asks

    def load(self, code: int) -> int:
        return self.kernels.load(cubin_at(code))

    def kernel(self, library: int, name: str) -> int:
        return self.kernels.kernel(library, name)

    def launch(self, kernel: int, config: LaunchConfig, arguments: int) -> None:
        """Run a launch; raises FindingsError where a finding ended it: what follows would make no sense."""
        entry = self.kernels.entry(kernel)
        params = parameters(entry, arguments)
        if self.captured is not None:
            self.captured.append(partial(self._run, entry, config, params))
        else:
            self._run(entry, config, params)

    def _run(self, entry: Entry, config: LaunchConfig, params: tuple[bytes, ...]) -> None:
        with self.memory.mirrors.filled():
            report, timeline = run_launch(len(self.launches), entry, config, params, self.memory, self.settings)
        self.launches.append(report)
        self.timelines.append(timeline)
        if not report.complete:
            raise FindingsError("\n".join(map(str, report.findings)))

    def attribute(self, number: int) -> int:
        return attribute(self, number)

    def allocate(self, size: int) -> int:
        return self.memory.allocate(size)

    def release(self, address: int) -> bool:
        return self.memory.release(address)

    def copy(self, target: int, source: int, size: int) -> None:
        with self.memory.mirrors.filled():
            ctypes.memmove(target, source, size)

    def fill(self, target: int, value: int, size: int) -> None:
        with self.memory.mirrors.filled():
            ctypes.memset(target, value, size)

    # -- what calls of compiled functions tell

    def called(self, signature: inspect.Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """A compiled function is called: its arrays are known by its arguments' names."""
        names = list(signature.parameters)
        for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
            self._named(name, value)

    def _named(self, name: str, value: Any) -> None:
        if isinstance(value, (tuple, list)):
            for index, each in enumerate(value):
                self._named(f"{name}[{index}]", each)
        elif is_array(value):
            span = OnDevice(value, self.memory.moved).span
            self.memory.note(span.address, span.bytes, name, owner=value)
            self.memory.name(span.address, name)
        elif hasattr(value, "_dlpack_data") and hasattr(value, "data_ptr"):
            self.memory.name(int(value.data_ptr), name)

    def shown(self, value: Any) -> Any:
        """An argument of a TVM-FFI function, which wants arrays on the device."""
        if is_array(value):
            import tvm_ffi

            return tvm_ffi.from_dlpack(OnDevice(value, self.memory.moved))
        if isinstance(value, (tuple, list)) and any(map(is_array, value)):
            parts = [self.shown(each) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        return value


@contextlib.contextmanager
def emulated(
    arch: str = "sm_90a", seeds: int = 2, multiprocessors: int = 8, trace: bool = False, strict: bool = False
) -> Iterator[Gpu]:
    """`emulated_gpu` for who looks at what was found: nothing is made of it at the end."""
    settings = Settings(Limits.of(arch, multiprocessors), tuple(range(1, seeds + 1)), trace, strict)
    gpu = Gpu(arch, settings)
    try:
        with attached(gpu, arch):
            yield gpu
    finally:
        gpu.runtime.close()


@contextlib.contextmanager
def emulated_gpu(
    arch: str = "sm_90a", seeds: int = 2, multiprocessors: int = 8, trace: bool = False, strict: bool = False
) -> Iterator[Gpu]:
    """Have everything that the DSL of this process compiles and launches run in the emulator, while in the context.

    `seeds`: schedules of each launch. `strict`: what is usually a note is a finding. Functions must be compiled inside.
    Raises CheckError for an arch that is not known, CheckError, EmulatorError or PtxError out of a launch that cannot
    be emulated, and at its end FindingsError where anything was found that `take_findings` has not taken. Where the
    body raises, its error goes on, and the findings are printed on stderr.
    """
    with emulated(arch, seeds, multiprocessors, trace, strict) as gpu:
        try:
            yield gpu
        except BaseException as error:
            told = str(error) if isinstance(error, FindingsError) else ""
            for finding in gpu.findings:
                if str(finding) not in told:
                    print(f"warpwright: {finding}", file=sys.stderr)
            raise
    gpu.raise_for_findings()
