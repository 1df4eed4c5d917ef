"""What one forked child of the build service does: source to PTX, cubin, object, library, and the facts about them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import resource
import shlex
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from warpwright.build.arguments import stand_ins
from warpwright.build.host_code import for_any_cpu, needed_level
from warpwright.build.launch_capture import CaptureError, HostError, HostFunction, NotLinkedError, default_values
from warpwright.build.linking import link_library
from warpwright.build.ptx_census import ptx_census
from warpwright.build.resources import elf_size, resource_usage
from warpwright.build.trouble import MachineError, of_the_machine
from warpwright.plan.types import Argument

__all__ = ["MACHINE", "OPTIONS", "compile_folder"]

#: Exit code of a child that ended for what the machine could not do: EX_TEMPFAIL of sysexits.h.
MACHINE = 75

#: Options of cute.compile. Without remarks{ptx}, whose source locations make the compile half as long again; what
#: ptxas would remark (spills, setmaxnreg ignored, waits added between MMAs) shows in the SASS.
OPTIONS = "--enable-tvm-ffi --keep-ptx --keep-cubin"
#: Every extent of the small problem of the captured launch.
_EXTENT = 256


def _facts(folder: Path, symbol: str, arguments: list[Argument], module: ModuleType) -> dict[str, Any]:
    """Read off the module and the compiled files of `folder` what the checks need, all but the SASS census.

    Depends on the kernels alone, except that the arguments say how to call the host function.
    """
    usage = resource_usage(folder / "kernel.cubin")
    census = ptx_census((folder / "kernel.ptx").read_text())
    if set(usage) != set(census):
        raise RuntimeError(f"the cubin has the kernels {sorted(usage)}, the PTX {sorted(census)}")
    return {
        "kernels": [
            {
                "name": name,
                "registers": usage[name].registers,
                "stack_bytes": usage[name].stack_bytes,
                "static_shared_bytes": usage[name].static_shared_bytes,
                "ptx": ptx,
            }
            for name, ptx in census.items()
        ],
        "launch": _captured_launch(folder, symbol, arguments, {name: c["parameters"] for name, c in census.items()}),
        "constants": _constants(module),
    }


def _constants(module: ModuleType) -> dict[str, int | float | str]:
    """Return the module's constants, which are written in capitals, as far as they are numbers or text."""
    return {
        name: value
        for name, value in vars(module).items()
        if name.isupper() and (isinstance(value, (int, str)) or (isinstance(value, float) and math.isfinite(value)))
    }


def _captured_launch(
    folder: Path, symbol: str, arguments: list[Argument], parameters: Mapping[str, list[int]]
) -> dict[str, Any]:
    modes = dict.fromkeys(mode.partition("/")[0] for a in arguments for mode in a.shape)
    extents = {mode: _EXTENT for mode in modes if not mode.isdecimal()}
    try:
        launches = HostFunction(folder / "kernel.o", symbol, parameters)(default_values(arguments, extents))
    except NotLinkedError as error:
        raise MachineError(str(error)) from None
    except (CaptureError, HostError) as error:
        return {"error": str(error)}
    return {
        "extents": extents,
        "launches": [
            {
                "kernel": launch.kernel,
                "grid": list(launch.grid),
                "block": list(launch.block),
                "cluster": list(launch.cluster),
                "shared_bytes": launch.shared_bytes,
            }
            for launch in launches
        ],
    }


def _imported(folder: Path) -> ModuleType:
    """Import kernel.py of `folder`; the DSL finds its source through sys.modules."""
    spec = importlib.util.spec_from_file_location("kernel", folder / "kernel.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder / 'kernel.py'} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = module
    spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, entry: str) -> Any:
    """Return the function to compile: the plan's entry, or what a hand-written module names as its ENTRY."""
    if hasattr(module, "ENTRY"):
        return module.ENTRY
    if not hasattr(module, entry):
        raise AttributeError(f"kernel.py defines no function {entry}, which its plan names as the entry")
    return getattr(module, entry)


def _compile(folder: Path, options: str, plan: Mapping[str, Any], arguments: list[Argument]) -> tuple[ModuleType, str]:
    """Compile kernel.py of `folder` to PTX, cubin, object and library; return the module, and the level of CPUs."""
    import cutlass.cute as cute

    module = _imported(folder)
    own = getattr(module, "compile_arguments", None)
    dump = folder / "dump"
    dump.mkdir()
    # No JIT engine: it would generate the host code once more, 0.1 s, only to call it in this process.
    compiled = cute.compile(
        _entry(module, plan["entry"]),
        *(own() if own else stand_ins(arguments)),
        options=f"{options} --dump-dir={shlex.quote(str(dump))}",
        no_jit_engine=True,
    )
    for suffix in ("ptx", "cubin"):
        files = sorted(dump.glob(f"*.{suffix}"))
        if len(files) != 1:
            raise RuntimeError(f"the compiler left {len(files)} .{suffix} files where one is expected")
        files[0].rename(folder / f"kernel.{suffix}")
    # All that is exported is the function: what else the compiler makes global would be visible in a caller's library.
    for_any_cpu(compiled)
    compiled.export_to_c(str(folder / "kernel.o"), function_name=plan["symbol"], export_only_tvm_ffi_symbols=True)
    level = needed_level(folder / "kernel.o")
    link_library(folder / "kernel.o", folder / "kernel.so", level)
    _whole(folder)
    return module, level


def _whole(folder: Path) -> None:
    """Raise MachineError where the compiler, which does not always say so, wrote its files in part."""
    cubin = (folder / "kernel.cubin").read_bytes()
    if not cubin or len(cubin) != elf_size(cubin) or cubin not in (folder / "kernel.o").read_bytes():
        raise MachineError("kernel.cubin was written in part: it is not what kernel.o holds")
    # The last is the kernel's brace or, with source locations, the name of a file.
    if not (folder / "kernel.ptx").read_bytes().rstrip(b"\0\n\t ").endswith((b"}", b'"')):
        raise MachineError("kernel.ptx was written in part: it does not end")


def compile_folder(folder: Path, options: str = OPTIONS) -> int:
    """Compile kernel.py of `folder` as plan.json says; return the exit code of the child.

    0: kernel.ptx, kernel.cubin, kernel.o, kernel.so and facts.json are there. 1: not so, and error.txt says why.
    MACHINE: nor then, but that is not the kernel's doing (`trouble`), and error.txt may be missing.
    """
    started = time.monotonic()
    try:
        plan = json.loads((folder / "plan.json").read_text())
        arguments = [Argument(**{**a, "shape": tuple(a["shape"])}) for a in plan["arguments"]]
        module, level = _compile(folder, options, plan, arguments)
        facts = {**_facts(folder, plan["symbol"], arguments, module), "cpu": level}
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        facts["cpu_seconds"] = round(sum(u.ru_utime + u.ru_stime for u in (own, children)), 3)
        facts["seconds"] = round(time.monotonic() - started, 3)
        (folder / "facts.json").write_text(json.dumps(facts))
        return 0
    except BaseException as error:  # a kernel module may raise anything, SystemExit included
        traceback.print_exc()
        with contextlib.suppress(OSError):
            (folder / "error.txt").write_text(f"{type(error).__name__}: {error}")
        return MACHINE if of_the_machine(error) else 1
