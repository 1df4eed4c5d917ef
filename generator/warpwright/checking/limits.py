"""What the emulated device says of itself, by its arch."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpwright.checking.errors import CheckError

__all__ = ["Limits"]

#: Bytes of shared memory that a CTA may have, by compute capability. Source: CUDA C++ Programming Guide.
_SHARED = {(8, 0): 166_912, (8, 6): 101_376, (8, 9): 101_376, (9, 0): 232_448, (10, 0): 232_448, (10, 3): 232_448,
           (12, 0): 101_376, (12, 1): 101_376}  # fmt: skip

#: Of a multiprocessor: registers and threads; bytes of shared memory that the system keeps of each CTA. Same source.
_REGISTERS, _THREADS, _KEPT = 65_536, 2048, 1024
#: CTAs on one multiprocessor: there may be more, which shows nothing else and takes memory here.
_MOST = 8


@dataclass(frozen=True)
class Limits:
    """What the emulated device says of itself. Few multiprocessors: persistent kernels then go round several times."""

    capability: tuple[int, int]
    shared_bytes: int
    multiprocessors: int

    @classmethod
    def of(cls, arch: str, multiprocessors: int) -> Limits:
        """Raises CheckError for an arch that is not known."""
        found = re.fullmatch(r"sm_(\d+)(\d)[af]?", arch)
        capability = (int(found[1]), int(found[2])) if found else (0, 0)
        if capability not in _SHARED:
            known = ", ".join(f"sm_{major}{minor}" for major, minor in _SHARED)
            raise CheckError(f"arch {arch!r} is not known; there are {known} (with a: sm_90a, sm_100a)")
        return cls(capability, _SHARED[capability], multiprocessors)

    def resident(self, threads: int, registers: int, shared_bytes: int) -> int:
        """How many CTAs the device holds at once, by what one of them takes; at least one on each multiprocessor."""
        by_shared = (self.shared_bytes + _KEPT) // (shared_bytes + _KEPT)
        by_registers = _REGISTERS // max(1, -(-registers // 8) * 8 * threads)
        return self.multiprocessors * max(1, min(_MOST, by_shared, by_registers, _THREADS // max(1, threads)))

    def clusters(self, size: int) -> int:
        """How many clusters of `size` CTAs are on the device at once, with one CTA on each multiprocessor."""
        return max(1, self.multiprocessors // size)
