"""Which CPU a compiled library needs, and whether this one is such: a library that is loaded elsewhere must say so.

The levels are those of the x86-64 psABI, and a library carries its own in the property note that every linker writes
and glibc reads (`ld -z x86-64-v3`). Other architectures have no levels here.
"""

from __future__ import annotations

import platform
import struct
from pathlib import Path

__all__ = ["LEVELS", "lacking", "level_of", "unfit"]

#: Levels, the least first, with the flags of /proc/cpuinfo that each adds. Source: x86-64 psABI, "Micro-Architecture
#: Levels"; `pni` is SSE3, `abm` has LZCNT.
LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64": (),
    "x86-64-v2": ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}

_PT_GNU_PROPERTY = 0x6474E553
_ISA_NEEDED = 0xC0008002  # GNU_PROPERTY_X86_ISA_1_NEEDED: a bit per level, the least first
_CPUINFO = Path("/proc/cpuinfo")


def _flags() -> frozenset[str] | None:
    """The features of the CPU at hand, None where the system does not tell."""
    try:
        lines = _CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("flags")), None)
    return None if found is None else frozenset(found.partition(":")[2].split())


def lacking(level: str) -> list[str]:
    """Return the features of a level ("" for none) that the CPU at hand lacks; [] too where they cannot be told."""
    if level not in LEVELS:
        return []
    if platform.machine() != "x86_64":
        return [level]
    flags = _flags()
    names = list(LEVELS)[: list(LEVELS).index(level) + 1]
    return [] if flags is None else [flag for name in names for flag in LEVELS[name] if flag not in flags]


def level_of(library: Path) -> str:
    """Return the level that a shared library says it needs, "" where it says nothing or is no 64-bit ELF library."""
    try:
        data = library.read_bytes()
        table, (size, count) = struct.unpack_from("<Q", data, 0x20)[0], struct.unpack_from("<HH", data, 0x36)
        if data[:5] != b"\x7fELF\x02":
            return ""
        for index in range(count):
            kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", data, table + index * size)
            if kind == _PT_GNU_PROPERTY:
                return _level_in(data[start + 16 : start + length])  # behind the note's head and its name, GNU
    except (OSError, OverflowError, struct.error):
        pass
    return ""


def _level_in(properties: bytes) -> str:
    while len(properties) >= 8:
        kind, length = struct.unpack_from("<II", properties)
        if kind == _ISA_NEEDED and length == 4:
            (bits,) = struct.unpack_from("<I", properties, 8)
            return ["", *LEVELS][min(int(bits).bit_length(), len(LEVELS))]
        properties = properties[8 + -(-length // 8) * 8 :]
    return ""


def unfit(library: Path) -> str:
    """Say why a library would end this process with SIGILL, "" where nothing is known to be amiss."""
    level = level_of(library)
    missing = lacking(level)
    if not missing:
        return ""
    return f"{library.name} needs a CPU of level {level}, and this one lacks {', '.join(missing)}; build it again"
