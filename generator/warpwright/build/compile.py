"""What one forked child of the build service does: source to PTX, cubin, object, library, and the facts about them."""

from __future__ import annotations

import importlib.util
import json
import resource
import shlex
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from warpwright.build.launch_capture import CaptureError, HostError, capture_symbol, default_values
from warpwright.build.ptx_census import ptx_census
from warpwright.build.resources import resource_usage
from warpwright.build.toolchain import tool
from warpwright.plan.types import Argument

__all__ = ["OPTIONS", "compile_folder"]

#: Options of cute.compile. Without remarks{ptx}, whose source locations make the compile half as long again; what
#: ptxas would remark (spills, setmaxnreg ignored, waits added between MMAs) shows in the SASS.
OPTIONS = "--enable-tvm-ffi --keep-ptx --keep-cubin"
#: The small problem of the captured launch.
_EXTENT = 256


def _facts(folder: Path) -> dict[str, Any]:
    """Read off the compiled files of `folder` what the checks and reports need, all but the SASS census.

    Depends on the kernel alone, except that the argument list of the plan says how to call the host function.
    """
    cubin = folder / "kernel.cubin"
    usage = resource_usage(cubin)
    return {
        "kernel": usage.kernel,
        "registers": usage.registers,
        "stack_bytes": usage.stack_bytes,
        "static_shared_bytes": usage.static_shared_bytes,
        "ptx": ptx_census((folder / "kernel.ptx").read_text()),
        "launch": _captured_launch(folder),
    }


def _captured_launch(folder: Path) -> dict[str, Any]:
    plan = json.loads((folder / "plan.json").read_text())
    arguments = [Argument(**{**a, "shape": tuple(a["shape"])}) for a in plan["arguments"]]
    extents = {name: 1 if name == "L" else _EXTENT for a in arguments for name in a.shape}
    try:
        launch = capture_symbol(folder / "kernel.o", plan["symbol"], default_values(arguments, extents))
    except (CaptureError, HostError) as error:
        return {"error": str(error)}
    if launch is None:
        return {"error": f"nothing was launched for {extents}"}
    return {
        "extents": extents,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "cluster": list(launch.cluster),
        "shared_bytes": launch.shared_bytes,
    }


def _compile(folder: Path, options: str) -> None:
    """Compile kernel.py of `folder` to PTX, cubin, object and shared library."""
    import cutlass.cute as cute

    symbol = json.loads((folder / "plan.json").read_text())["symbol"]
    spec = importlib.util.spec_from_file_location("kernel", folder / "kernel.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder / 'kernel.py'} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = module
    spec.loader.exec_module(module)
    for name in ("ENTRY", "compile_arguments"):
        if not hasattr(module, name):
            raise AttributeError(f"kernel.py defines no {name}: the build needs ENTRY and compile_arguments()")
    dump = folder / "dump"
    dump.mkdir()
    # No JIT engine: it would generate the host code once more, 0.1 s, only to call it in this process.
    compiled = cute.compile(
        module.ENTRY,
        *module.compile_arguments(),
        options=f"{options} --dump-dir={shlex.quote(str(dump))}",
        no_jit_engine=True,
    )
    for suffix in ("ptx", "cubin"):
        files = sorted(dump.glob(f"*.{suffix}"))
        if len(files) != 1:
            raise RuntimeError(f"the compiler left {len(files)} .{suffix} files where one is expected")
        files[0].rename(folder / f"kernel.{suffix}")
    compiled.export_to_c(str(folder / "kernel.o"), function_name=symbol)
    command = [tool("gcc"), "-shared", "-Wl,--build-id=none", "kernel.o", "-o", "kernel.so"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")


def compile_folder(folder: Path, options: str = OPTIONS) -> int:
    """Compile kernel.py of `folder` for plan.json's symbol; return the exit code of the child.

    0: kernel.ptx, kernel.cubin, kernel.o, kernel.so and facts.json are there. 1: error.txt says why not.
    """
    started = time.monotonic()
    try:
        _compile(folder, options)
        facts = _facts(folder)
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        facts["cpu_seconds"] = round(sum(u.ru_utime + u.ru_stime for u in (own, children)), 3)
        facts["seconds"] = round(time.monotonic() - started, 3)
        (folder / "facts.json").write_text(json.dumps(facts))
        return 0
    except BaseException as error:  # a kernel module may raise anything, SystemExit included
        traceback.print_exc()
        (folder / "error.txt").write_text(f"{type(error).__name__}: {error}")
        return 1
