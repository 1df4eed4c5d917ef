"""What the machine code of a kernel contains: the PTX says what was asked for, the SASS what ptxas made of it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

__all__ = ["sass_census"]

_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)((?:\.[\w]+)*)\s*([^;]*);", re.MULTILINE
)
_WIDTHS = {".64": 8, ".128": 16, ".U16": 2, ".S16": 2, ".U8": 1, ".S8": 1}
_SHAPE = re.compile(r"^(\.\d\w*)+")


def sass_census(sass: str) -> dict[str, Any]:
    """Return what the one kernel of a disassembly contains, as plain JSON values.

    `opcodes` counts instructions by opcode with all suffixes, `mmas` those of the tensor cores by opcode and the words
    behind it that begin with a digit (HGMMA.64x256x16, UTCHMMA.2CTA); `setmaxnreg` lists the register counts of the
    reallocations that ptxas kept; `local_bytes` is what the LDL and STL instructions move per thread, each counted
    once: spills, and arrays that found no registers.
    Raises ValueError where there is no instruction.
    """
    opcodes: Counter[str] = Counter()
    mmas: Counter[str] = Counter()
    local_bytes = 0
    setmaxnreg: dict[str, list[int]] = {"inc": [], "dec": []}
    for opcode, suffixes, operands in _INSTRUCTION.findall(sass):
        opcodes[opcode + suffixes] += 1
        if opcode.endswith("MMA"):
            shape = _SHAPE.match(suffixes)
            mmas[opcode + (shape[0] if shape else "")] += 1
        elif opcode == "USETMAXREG":
            value = re.search(r"0x[0-9a-f]+", operands)
            setmaxnreg["dec" if ".DEALLOC" in suffixes else "inc"].append(int(value[0], 16) if value else 0)
        elif opcode in ("LDL", "STL"):
            local_bytes += next((n for suffix, n in _WIDTHS.items() if suffix in suffixes), 4)
    if not opcodes:
        raise ValueError("the disassembly holds no instruction")
    return {
        "instructions": sum(opcodes.values()),
        "opcodes": dict(sorted(opcodes.items())),
        "mmas": dict(sorted(mmas.items())),
        "setmaxnreg": {kind: sorted(v) for kind, v in setmaxnreg.items()},
        "local_bytes": local_bytes,
    }
