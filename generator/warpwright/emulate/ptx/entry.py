"""The header of a kernel: its name, its parameters, and the launches that it was compiled for."""

from __future__ import annotations

import math
import re

from warpwright.emulate.ptx.arrays import WIDTHS, checked_alignment
from warpwright.emulate.ptx.syntax import Kernel, Param, PtxError

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((.*?)\))?", re.S)
_ALIGN = re.compile(r"\.align\s+(\d+)")
_POINTED = re.compile(r"\.ptr\b(?:\s*\.(?:global|shared|const|local)\b)?(?:\s*\.align\s+\d+)?")  # what it points to
_PARAMETER = re.compile(r"\.(\w+)\s+([\w$]+)\s*(?:\[(\d*)\])?$")
_SHAPE = re.compile(r"\.(reqntid|maxntid|reqnctapercluster)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


def entry_of(text: str, line: int) -> Kernel:
    """The kernel that a header opens, still without a body. Raises PtxError on what it cannot read."""
    match = _ENTRY.search(text)
    if not match:
        raise PtxError(f"line {line}: cannot read this .entry")
    params = []
    for item in (match[2] or "").split(","):
        if not item.strip():
            continue
        item = _POINTED.sub("", item)
        sizes, array = _ALIGN.search(item), _PARAMETER.search(item.strip())
        if not array or array[1] not in WIDTHS:
            raise PtxError(f"line {line}: cannot read the parameter {item.strip()!r}")
        width = WIDTHS[array[1]] // 8
        align = checked_alignment(int(sizes[1]) if sizes else max(1, width), line)
        params.append(Param(array[2], width * int(array[3] or 1), align))
    kernel = Kernel(match[1], params)
    for name, x, y, z in _SHAPE.findall(text):
        shape = (int(x), int(y or 1), int(z or 1))
        setattr(kernel, name, math.prod(shape) if name == "maxntid" else shape)
    return kernel
