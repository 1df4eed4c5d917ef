"""What a cubin occupies and what it looks like disassembled, by NVIDIA's own tools; no GPU needed."""

from __future__ import annotations

import bisect
import itertools
import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpwright import scratch
from warpwright.build.toolchain import tool
from warpwright.build.trouble import MachineError

__all__ = ["Resources", "ToolError", "disassemble", "elf_size", "machine_code", "resource_usage"]

#: From sm_90 on the driver keeps this much shared memory of each block for itself, and the tools count it as static.
RESERVED_SHARED_BYTES = 1024
_EXECUTABLE = 0x4  # ELF section flag
_NOBITS = 8  # type of an ELF section without bytes in the file
_ADDRESS = re.compile(r"\s*/\*([0-9a-f]{4,})\*/")


class ToolError(MachineError):
    """A disassembler failed or wrote something that cannot be understood."""


@dataclass(frozen=True)
class Resources:
    """Of one kernel: registers per thread at launch; bytes per thread (stack, local) or per block (shared)."""

    registers: int
    stack_bytes: int
    local_bytes: int
    static_shared_bytes: int


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"{' '.join(command)}: {error}") from None
    if done.returncode != 0:
        raise ToolError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


_USAGE = re.compile(r"^\s*Function (\S+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", re.MULTILINE)


def resource_usage(cubin: Path) -> dict[str, Resources]:
    """Return what each kernel of `cubin` occupies, by compiled name (3 ms).

    Raises ToolError where cuobjdump fails or reports no kernel.
    """
    found = {
        name: Resources(int(registers), int(stack), int(local), max(0, int(shared) - RESERVED_SHARED_BYTES))
        for name, registers, stack, shared, local in _USAGE.findall(
            _run(tool("cuobjdump"), "--dump-resource-usage", str(cubin))
        )
    }
    if not found:
        raise ToolError(f"{cubin.name} should hold a kernel, cuobjdump reports none")
    return found


def machine_code(cubin: bytes) -> dict[str, bytes]:
    """Return the instructions of each kernel of `cubin` by compiled name; ToolError where there is none."""
    try:
        if cubin[:5] != b"\x7fELF\x02":
            raise ToolError("the cubin is no 64-bit ELF file")
        table, (size, count, names) = struct.unpack_from("<Q", cubin, 0x28)[0], struct.unpack_from("<HHH", cubin, 0x3A)
        sections = [struct.unpack_from("<IIQQQQ", cubin, table + index * size) for index in range(count)]
        strings = sections[names][4]
        code = {
            cubin[strings + name : cubin.index(b"\0", strings + name)].decode().removeprefix(".text."): cubin[
                start : start + length
            ]
            for name, _, flags, _, start, length in sections
            if flags & _EXECUTABLE
        }
    except (struct.error, IndexError, ValueError) as error:
        raise ToolError(f"the cubin is cut short: {error}") from None
    if not code:
        raise ToolError("the cubin should hold the code of a kernel, it holds none")
    return code


def elf_size(data: bytes) -> int:
    """Return how long a 64-bit ELF file is by its own header and tables, 0 where these are not there."""
    try:
        heads, sections = struct.unpack_from("<QQ", data, 0x20)
        head_size, head_count, size, count = struct.unpack_from("<HHHH", data, 0x36)
        found = [struct.unpack_from("<IIQQQQ", data, sections + index * size) for index in range(count)]
    except (struct.error, OverflowError):
        return 0
    ends = [start + length for _, kind, _, _, start, length in found if kind != _NOBITS]
    return int(max(heads + head_size * head_count, sections + size * count, *ends))


def disassemble(cubins: Sequence[bytes], arch: str) -> list[dict[str, str]]:
    """Return the SASS of each kernel of each of `cubins`, one instruction a line, without branch labels.

    One run of nvdisasm takes 0.25 s to start and milliseconds a kernel, so the kernels' code is joined into one raw
    image and its listing cut up by address. Raises ToolError where nvdisasm refuses any of them.
    """
    codes = [machine_code(cubin) for cubin in cubins]
    pieces = [(index, name, code) for index, named in enumerate(codes) for name, code in named.items()]
    starts = list(itertools.accumulate((len(code) for _, _, code in pieces), initial=0))
    with scratch.folder("sass") as folder:
        image = Path(folder) / "image.bin"
        image.write_bytes(b"".join(code for _, _, code in pieces))
        listing = _run(tool("nvdisasm"), "-b", arch.replace("sm_", "SM"), str(image))
    lines: list[list[str]] = [[] for _ in pieces]
    for line in listing.splitlines():
        address = _ADDRESS.match(line)
        if address:
            lines[bisect.bisect_right(starts, int(address[1], 16)) - 1].append(line)
    found: list[dict[str, str]] = [{} for _ in cubins]
    for (index, name, _), part in zip(pieces, lines, strict=True):
        found[index][name] = "\n".join(part)
    return found
