"""The DSL, told to keep what it compiles, to write locations, to take host arrays for device arrays, and to call us.

Nothing of this lasts longer than a check: every setting and function that is exchanged is put back at its end.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Iterator
from typing import Any

from warpwright import scratch
from warpwright.checking import driver
from warpwright.checking.dlpack import OnDevice, is_array
from warpwright.checking.exchange import Exchanged
from warpwright.checking.runtime import stub_library
from warpwright.checking.torch_cpu import torch_on_host

__all__ = ["attached", "environment"]

#: Of the DSL's environment variables, and of those of its experimental part (cutlass.cute.experimental).
_PREFIX, _PREFIXES = "CUTE_DSL", ("CUTE_DSL", "CUTE_EXPERIMENTAL_DSL")


def environment(arch: str, folder: str) -> dict[str, str]:
    """The variables that the DSL reads when it is imported."""
    libraries = [str(stub_library()), *filter(None, [os.environ.get(f"{_PREFIX}_LIBS"), _real_runtime()])]
    values = {
        "ARCH": arch,
        "KEEP": "ptx,cubin",
        "DUMP_DIR": folder,
        "LINEINFO": "1",
        "LIBS": os.pathsep.join(dict.fromkeys(libraries)),
        "DISABLE_FILE_CACHING": "1",
    }
    return {f"{prefix}_{name}": value for prefix in _PREFIXES for name, value in values.items()}


def _real_runtime() -> str:
    """The DSL's own libraries, for what the stub does not stand in for."""
    from cutlass.base_dsl.env_manager import get_prefix_dsl_libs

    before = os.environ.pop(f"{_PREFIX}_LIBS", None)
    try:
        return get_prefix_dsl_libs(_PREFIX) or ""
    finally:
        if before is not None:
            os.environ[f"{_PREFIX}_LIBS"] = before


@contextlib.contextmanager
def attached(gpu: Any, arch: str) -> Iterator[None]:
    """Attach the DSL of this process to `gpu` (a `session.Gpu`): its compilations, its arrays and its calls."""
    exchanged = Exchanged()
    with scratch.folder("check") as folder:
        try:
            exchanged.variables(environment(arch, folder))
            _settings(exchanged, arch, folder)
            _compilations(exchanged, gpu)
            _arrays(exchanged, gpu)
            _calls(exchanged, gpu)
            _benchmarks(exchanged, gpu)
            driver.answer(exchanged, gpu)
            with warnings.catch_warnings(), torch_on_host(exchanged, gpu):
                warnings.filterwarnings("ignore", message="Cache is disabled as user wants")
                yield
        finally:
            exchanged.undo()


def _settings(exchanged: Exchanged, arch: str, folder: str) -> None:
    """A DSL that was imported before has read its variables already."""
    from cutlass.cutlass_dsl import CuTeDSL, CuteExperimentalDSL

    values = {"_arch": arch, "keep_ptx": True, "keep_cubin": True, "lineinfo": True, "dump_dir": folder,
              "shared_libs": os.environ[f"{_PREFIX}_LIBS"], "disable_file_caching": True}  # fmt: skip
    for kind in (CuTeDSL, CuteExperimentalDSL):
        for name, value in values.items():
            exchanged.attribute(kind._get_dsl().envar, name, value)


def _compilations(exchanged: Exchanged, gpu: Any) -> None:
    from cutlass.base_dsl.jit_executor import JitFunctionArtifacts

    def read(artifacts: Any) -> None:
        before(artifacts)
        if isinstance(artifacts.PTX, str) and isinstance(artifacts.CUBIN, bytes):
            gpu.kernels.register(artifacts.PTX, artifacts.CUBIN)

    before = exchanged.attribute(JitFunctionArtifacts, "__post_init__", read)


def _arrays(exchanged: Exchanged, gpu: Any) -> None:
    from cutlass.cute import runtime

    def made(tensor: Any, array: Any, *arguments: Any, **named: Any) -> None:
        shown = OnDevice(array, gpu.memory.moved) if is_array(array) else array
        before(tensor, shown, *arguments, **named)
        if isinstance(shown, OnDevice):
            gpu.memory.note(shown.span.address, shown.span.bytes, owner=tensor)

    before = exchanged.attribute(runtime._Tensor, "__init__", made)


def _calls(exchanged: Exchanged, gpu: Any) -> None:
    """Name arrays as the called function does, hand arrays to TVM-FFI functions, raise what a launch has raised."""
    from cutlass.base_dsl.dsl import BaseDSL
    from cutlass.base_dsl.jit_executor import ExecutionArgs, JitCompiledFunction, JitExecutor
    from cutlass.cutlass_dsl import tvm_ffi_provider

    def arguments(self: Any, args: Any, kwargs: Any) -> Any:
        gpu.called(self.signature, args, kwargs)
        return adapted(self, args, kwargs)

    adapted = exchanged.attribute(ExecutionArgs, "generate_execution_args", arguments)

    def types(self: Any, body: Any, name: str, args: Any, kwargs: Any, signature: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(signature, inspect.Signature):  # the first call of a function compiles it, and asks nothing else
            gpu.called(signature, args, kwargs)
        return typed(self, body, name, args, kwargs, signature, *rest, **named)

    typed = exchanged.attribute(BaseDSL, "generate_mlir_function_types", types)
    for owner in (JitCompiledFunction, JitExecutor):
        _raising(exchanged, gpu, owner, "run_compiled_program")
    for name in ("TVMFFIJitCompiledFunction", "TVMFFIJitCompiledFunctionWithKwargs"):
        _raising(exchanged, gpu, getattr(tvm_ffi_provider, name), "__call__", shown=True)


def _raising(exchanged: Exchanged, gpu: Any, owner: Any, name: str, shown: bool = False) -> None:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if shown:
            gpu.called(self.execution_args.signature, args, kwargs)
            args = tuple(gpu.shown(value) for value in args)
            kwargs = {key: gpu.shown(value) for key, value in kwargs.items()}
        gpu.called_functions[id(self)] = self
        try:
            with gpu.memory.mirrors.filled():
                return before(self, *args, **kwargs)
        finally:
            gpu.runtime.reraise()

    before = exchanged.attribute(owner, name, call)


def _benchmarks(exchanged: Exchanged, gpu: Any) -> None:
    """The emulator times nothing: a benchmark launches its kernel once where nobody has called it yet, else not."""
    import cutlass.testing

    def skipped(
        function: Any, *_: Any, kernel_arguments: Any = None, workspace_generator: Any = None, **__: Any
    ) -> float:
        given = kernel_arguments or (workspace_generator and workspace_generator())
        if id(function) not in gpu.called_functions and given:
            function(*given.args, **given.kwargs)
        gpu.note("benchmark", "testing.benchmark was skipped and returned NaN: nothing is timed here")
        return float("nan")

    exchanged.attribute(cutlass.testing, "benchmark", skipped)
    with contextlib.suppress(ImportError):
        import cutlass.cute.testing

        exchanged.attribute(cutlass.cute.testing, "benchmark", skipped)
