"""What a program has compiled: each cubin that is loaded, with the PTX that it was made of.

The runtime is given a cubin alone, and a launch needs the PTX. The compiler leaves both as files; whoever sees them
registers the pair here, and a load finds the PTX by the bytes of the cubin.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
from dataclasses import dataclass, field
from pathlib import Path

from warpwright import scratch
from warpwright.build.resources import Resources, resource_usage
from warpwright.checking.errors import CheckError
from warpwright.emulate import Module, parse

__all__ = ["Compiled", "Entry", "Kernels", "cubin_at"]

_ELF = b"\x7fELF"
_FAT, _FAT_ELF = 0xBA55ED50, 2  # magic of a fat binary, kind of an entry: headers of the CUDA toolkit (fatbinary.h)


@dataclass
class Compiled:
    """One compiled module. Parsed and weighed when first needed."""

    ptx: str
    cubin: bytes
    _module: Module | None = field(default=None, repr=False)
    _usage: dict[str, Resources] | None = field(default=None, repr=False)

    @property
    def module(self) -> Module:
        """Raises PtxError where the text is none that the emulator reads."""
        if self._module is None:
            self._module = parse(self.ptx)
        return self._module

    @property
    def usage(self) -> dict[str, Resources]:
        """What each kernel occupies, by compiled name; raises ToolError."""
        if self._usage is None:
            with scratch.folder("check") as folder:
                path = Path(folder) / "kernel.cubin"
                path.write_bytes(self.cubin)
                self._usage = resource_usage(path)
        return self._usage


@dataclass(frozen=True)
class Entry:
    """One kernel of a compiled module."""

    compiled: Compiled
    name: str


class Kernels:
    """Compiled modules by their cubin, and handles of libraries and kernels, as the runtime gives them out."""

    def __init__(self) -> None:
        self._compiled: dict[bytes, Compiled] = {}
        self._libraries: list[Compiled] = []
        self._entries: list[Entry] = []

    def register(self, ptx: str, cubin: bytes) -> None:
        """Note what the compiler has written."""
        key = hashlib.sha256(_trimmed(cubin)).digest()
        if key not in self._compiled:
            self._compiled[key] = Compiled(ptx, cubin)

    def load(self, cubin: bytes) -> int:
        """Return a handle; raises CheckError where the cubin was not compiled in this process."""
        compiled = self._compiled.get(hashlib.sha256(_trimmed(cubin)).digest())
        if compiled is None:
            raise CheckError(
                f"a cubin of {len(cubin)} bytes is loaded whose PTX is not known: the emulator executes PTX, so that"
                " kernels must be compiled by the DSL in the process that is checked, not loaded from a cache or file"
            )
        self._libraries.append(compiled)
        return len(self._libraries)

    def kernel(self, library: int, name: str) -> int:
        compiled = self.library(library)
        if name not in compiled.module.kernels:
            raise CheckError(f"the module has no kernel {name!r}, but {', '.join(compiled.module.kernels)}")
        self._entries.append(Entry(compiled, name))
        return len(self._entries)

    def library(self, handle: int) -> Compiled:
        if not 0 < handle <= len(self._libraries):
            raise CheckError(f"no library has the handle {handle:#x}")
        return self._libraries[handle - 1]

    def entry(self, handle: int) -> Entry:
        if not 0 < handle <= len(self._entries):
            raise CheckError(f"no kernel has the handle {handle:#x}")
        return self._entries[handle - 1]


def _elf_size(head: bytes) -> int:
    """Length of an ELF file by its header: it ends with its table of sections or of segments."""
    segments, sections = struct.unpack_from("<QQ", head, 0x20)
    segment, segment_count, section, section_count = struct.unpack_from("<HHHH", head, 0x36)
    return int(max(sections + section * section_count, segments + segment * segment_count))


def _trimmed(cubin: bytes) -> bytes:
    return cubin[: _elf_size(cubin[:64])] if cubin[:4] == _ELF else cubin


def cubin_at(address: int) -> bytes:
    """Copy the cubin that lies at an address, bare or in a container of one (a fat binary).

    Raises CheckError where there is none, or one that is compressed.
    """
    head = ctypes.string_at(address, 64)
    if head[:4] == _ELF:
        return ctypes.string_at(address, _elf_size(head))
    if struct.unpack_from("<I", head)[0] == _FAT:
        start, size = struct.unpack_from("<HQ", head, 6)
        whole = ctypes.string_at(address, start + size)
        while start + 16 <= len(whole):
            kind, _, header, length = struct.unpack_from("<HHIQ", whole, start)
            inside = whole[start + header : start + header + length]
            if kind == _FAT_ELF and inside[:4] == _ELF:
                return _trimmed(inside)
            start += header + length
    raise CheckError("what is loaded is no cubin, nor a fat binary with an uncompressed one")
