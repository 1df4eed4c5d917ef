"""The host code of a kernel, for every CPU of its kind and not for the one that happens to compile it.

Without this the DSL generates for the CPU at hand: AVX-512 where there is any, and SIGILL wherever there is none. Its
own option for another target (--host-target) excludes the TVM-FFI convention, but what it compiles is LLVM's dialect,
where each function may name its target (`target_cpu`, `target_features`), and that counts before the default.
"""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from warpwright.build.toolchain import tool
from warpwright.build.trouble import MachineError
from warpwright.cpu import LEVELS

__all__ = ["for_any_cpu", "level_of_code", "needed_level"]

#: CPU and features by machine, as LLVM names them; every CPU of that kind has these.
_BASELINE = {"x86_64": ("x86-64", "+sse2"), "aarch64": ("generic", "+neon")}


def for_any_cpu(compiled: Any) -> None:
    """Have the host functions of a compiled, not yet exported kernel generated for every CPU of this machine's kind."""
    if platform.machine() not in _BASELINE:
        return
    from cutlass._mlir import ir

    cpu, features = _BASELINE[platform.machine()]
    module = compiled.ir_module
    with module.context:
        attributes = {
            "target_cpu": ir.StringAttr.get(cpu),
            "target_features": ir.Attribute.parse(f'#llvm.target_features<["{features}"]>'),
        }

        def mark(operation: Any) -> Any:
            if operation.name == "llvm.func" and operation.regions[0].blocks:  # a declaration has no code
                for name, value in attributes.items():
                    operation.attributes[name] = value
            return ir.WalkResult.ADVANCE

        module.operation.walk(mark)


_LINE = re.compile(
    r"^ *[0-9a-f]+:\t((?:[0-9a-f]{2} )+) *\t(?:(?:rep[nz]*|lock|data16|[c-gs]s|notrack|bnd|rex\S*) )*(\w+) *(.*)$",
    re.MULTILINE,
)
_PREFIXES = {f"{byte:02x}" for byte in (*b"\x66\xf2\xf3\xf0\x2e\x36\x3e\x26\x64\x65\x67", *range(0x40, 0x50))}
#: Instructions without a VEX or EVEX prefix that a level above the first adds. TZCNT is not among them: older CPUs take
#: it for BSF, and compilers for every CPU write it where that is as good.
_V3 = re.compile(r"movbe|lzcnt|xsave|xrstor|xgetbv")
_V2 = re.compile(
    r"popcnt|cmpxchg16b|[ls]ahf|crc32|addsub|h(add|sub)p|lddqu|mov[sd]{1,2}(l|h)?dup|fisttp|monitor$|mwait$|"
    r"p(shufb|h(add|sub)|maddubs|mulhrs|sign|abs|alignr|mov[sz]x|blend|mul(dq$|ld)|min(s[bd]|u[wd])|max(s[bd]|u[wd])|"
    r"packusdw|cmpeqq|cmpgtq|extr[bdq]|insr[bdq]|test|hminpos|cmp[ei]str)|blend|dpp[sd]|round[sp]|insertps|extractps|"
    r"movntdqa|mpsadbw"
)


def level_of_code(listing: str) -> str:
    """Return the least level of CPUs (`cpu.LEVELS`) that has every instruction of objdump's listing of x86-64 code."""
    found = 0
    for code, name, operands in _LINE.findall(listing):
        first = next((byte for byte in code.split() if byte not in _PREFIXES), "")
        if first == "62" or "%zmm" in operands or "%k" in operands:  # EVEX, and the masks that belong to it
            return list(LEVELS)[3]
        if first in ("c4", "c5") or _V3.match(name):
            found = max(found, 2)
        elif _V2.match(name):
            found = max(found, 1)
    return list(LEVELS)[found]


def needed_level(object_path: Path) -> str:
    """Return the level of CPUs that an object's code needs, "" on machines without levels (4 ms).

    Raises MachineError where there is no code, OSError and subprocess.SubprocessError where objdump does not run.
    """
    if platform.machine() != "x86_64":
        return ""
    command = [tool("objdump"), "--disassemble", "--wide", str(object_path)]
    listing = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout
    if not _LINE.search(listing):
        raise MachineError(f"{object_path.name}: objdump finds no code in it")
    return level_of_code(listing)
