"""Links objects into libraries with ld alone: what a compiler driver adds costs ten times as much and is not used.

The host code that the DSL generates needs no C runtime: all that it imports comes from the process that loads it.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

from warpwright import scratch
from warpwright.build.toolchain import tool
from warpwright.build.trouble import MachineError

__all__ = ["LinkError", "compiled_stub", "link_library", "link_with_stub"]

_STUB = Path(__file__).with_name("launch_stub.c")


class LinkError(MachineError):
    """The linker or the C compiler failed: the text has the command and its words."""


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LinkError(f"{Path(command[0]).name} {' '.join(command[1:])} failed: {done.stderr.strip()}")


def link_library(object_path: Path, library: Path, level: str = "") -> None:
    """Link one object into a shared library whose bytes depend on the object alone.

    `level` is that of the CPUs that its code needs (`cpu.LEVELS`): the library says it to who loads it, glibc among
    them.
    """
    needs = ("-z", "x86-64-baseline" if level == "x86-64" else level) if level else ()
    _run(tool("ld"), "-shared", "--build-id=none", *needs, str(object_path), "-o", str(library))


@functools.cache
def compiled_stub() -> bytes:
    """Compile launch_stub.c, once per process (75 ms); a forked one has what its parent compiled."""
    with scratch.folder("stub") as folder:
        path = Path(folder) / "stub.o"
        _run(tool("gcc"), "-c", "-fPIC", "-O1", str(_STUB), "-o", str(path))
        return path.read_bytes()


def link_with_stub(object_path: Path, library: Path) -> None:
    """Link a host function with launch_stub.c: -Bsymbolic binds its imports to the stub, whatever else is loaded."""
    stub = library.with_name(f"{library.name}.stub.o")
    stub.write_bytes(compiled_stub())
    try:
        _run(tool("ld"), "-shared", "-Bsymbolic", str(object_path), str(stub), "-o", str(library))
    finally:
        stub.unlink()
