"""Does a kernel read what is one thing in the emulator and another on every GPU?

Such a kernel can be right where it is emulated and wrong where it runs, so that emulation proves nothing about it.
"""

from __future__ import annotations

import re

from warpwright.pipeline.exploration import Variant
from warpwright.sealed import DamagedError, load_built

__all__ = ["machine_dependent"]

#: Special registers of PTX whose values are the machine's or the moment's, and not the program's.
_REGISTERS = re.compile(
    rb"%(?:clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?|n?smid|n?warpid|gridid|pm\d+(?:_64)?|envreg\d+|total_smem_size|"
    rb"aggr_smem_size|current_graph_exec|reserved_smem_offset_\w+)\b"
)


def machine_dependent(variant: Variant) -> list[str]:
    """Say what of the machine the kernel that was built for a variant reads; nothing where none was built."""
    try:
        ptx = load_built(variant.folder.path).read("kernel.ptx")
    except (FileNotFoundError, DamagedError):
        return []
    names = sorted({match.decode() for match in _REGISTERS.findall(ptx)})
    return [f"it reads {', '.join(names)}, which are not on a GPU what they are in the emulator"] if names else []
