"""What a tensor map means. Its 128 bytes are opaque: whoever launches says what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warpwright.emulate.machine.findings import EmulatorError

Swizzle = Literal["none", "32B", "64B", "128B"]
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


@dataclass(frozen=True)
class TensorMap:
    """What a CUtensorMap says (tiled mode, no interleave); modes innermost first, the innermost contiguous.

    address: of element (0, ...), 16-byte aligned. extents, box: in elements. strides: in bytes, of modes 1 and up.
    box: what one instruction copies (see `split_box` for multicast). element: bytes of one element.
    """

    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element: int
    swizzle: Swizzle = "none"

    def __post_init__(self) -> None:
        rank = len(self.extents)
        inner = self.box[0] * self.element
        rules = [
            (1 <= rank <= 5 and len(self.box) == rank and len(self.strides) == rank - 1, "1 to 5 modes, all alike"),
            (self.element in (1, 2, 4, 8), "elements of 1, 2, 4 or 8 bytes"),
            (self.address % 16 == 0, "a base address that is a multiple of 16"),
            (all(e >= 1 for e in self.extents), "extents of at least 1"),
            (all(s % 16 == 0 and 0 <= s < 1 << 40 for s in self.strides), "strides: multiples of 16 below 2^40"),
            (all(1 <= b <= 256 for b in self.box), "box extents of 1 to 256"),
            (inner % 16 == 0, "an inner box that is a multiple of 16 bytes"),
            (self.swizzle == "none" or inner == SPANS[self.swizzle], "an inner box as long as the swizzle span"),
        ]
        for holds, rule in rules:
            if not holds:
                raise EmulatorError(f"{self}: a tensor map has {rule}")

    @property
    def bytes(self) -> int:
        """Of one box: what an mbarrier counts, out-of-bounds elements included."""
        size = self.element
        for extent in self.box:
            size *= extent
        return size


def split_box(box: tuple[int, ...], multicast: int) -> tuple[int, ...]:
    """The box of one instruction where `multicast` CTAs share `box`: its outermost mode longer than 1 is divided."""
    at = max((i for i, extent in enumerate(box) if extent > 1), default=0)
    if box[at] % multicast:
        raise EmulatorError(f"box {box} cannot be divided between {multicast} CTAs")
    return tuple(extent // multicast if i == at else extent for i, extent in enumerate(box))
