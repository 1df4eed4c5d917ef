"""What a tensor map means: which elements of global memory a box has, and how they lie in shared memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

from warpwright.emulate.machine.findings import EmulatorError

#: 128B/32B: 32-byte parts of a row change places, not 16-byte ones (sm_100).
Swizzle = Literal["none", "32B", "64B", "128B", "128B/32B"]
Fill = Literal["zero", "nan"]
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B/32B": 128}

#: Element types, by the driver's words for them (CUtensorMapDataType), and their bytes.
TYPES = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f32.ftz": 4, "f64": 8, "bf16": 2,
    "tf32": 4, "tf32.ftz": 4,
}  # fmt: skip
#: Those below a byte (sm_100), and their bits: packed in global memory, and in shared memory as well (u4), or there
#: sixteen elements in 16 bytes with padding behind.
BELOW = {"u4": 4, "u4.p64": 4, "u6.p32": 6}
_PADDED_BOX = 128  # elements of the innermost mode of a padded box, and what extents and coordinates are multiples of


class UnsupportedTensorMap(EmulatorError):  # noqa: N818 - the word of UnsupportedInstruction
    """A tensor map that the hardware takes and the emulator does not; the message names what it has."""


@dataclass(frozen=True)
class TensorMap:
    """What a CUtensorMap says (tiled mode, no interleave); modes innermost first, the innermost contiguous.

    address: of element (0, ...), 16-byte aligned. extents, box: in elements. strides: in bytes, of modes 1 and up.
    box: what one instruction covers (see `split_box` for multicast). element: bytes of one element, 0 of types BELOW.
    steps: of a box, each steps[i]-th element along mode i is copied, () for all of them; the innermost must be 1.
    fill: what elements outside the tensor are loaded as. type: of TYPES or BELOW, "" for bits of any kind.
    """

    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element: int
    swizzle: Swizzle = "none"
    steps: tuple[int, ...] = ()
    fill: Fill = "zero"
    type: str = ""

    def __post_init__(self) -> None:
        rank = len(self.extents)
        inner = self.box[0] * (8 if self.padded else self.bits) // 8
        rules = [
            (1 <= rank <= 5 and len(self.box) == rank and len(self.strides) == rank - 1, "1 to 5 modes, all alike"),
            (self.element in (1, 2, 4, 8) or self.type in BELOW, "elements of 1, 2, 4 or 8 bytes, or a type below"),
            (self.address % 16 == 0, "a base address that is a multiple of 16"),
            (self.extents[0] * self.bits % 8 == 0, "whole bytes of elements below a byte"),
            (all(1 <= e <= 1 << 32 for e in self.extents), "extents of 1 to 2^32"),
            (all(s % 16 == 0 and 0 <= s < 1 << 40 for s in self.strides), "strides: multiples of 16 below 2^40"),
            (all(1 <= b <= 256 for b in self.box), "box extents of 1 to 256"),
            (inner % 16 == 0, "an inner box that is a multiple of 16 bytes"),
            (self.swizzle == "none" or inner == SPANS[self.swizzle], "an inner box as long as the swizzle span"),
            (not self.steps or len(self.steps) == rank, "a traversal stride for each mode"),
            (all(1 <= s <= 8 for s in self.steps), "traversal strides of 1 to 8"),
            (self.fill == "zero" or self.type in ("", *_FLOATING), "NaN fill for floating-point elements alone"),
            (not self.type or TYPES.get(self.type, 0) == self.element, f"elements of a type: {', '.join(TYPES)}"),
            (not self.padded or self.box[0] == _PADDED_BOX, f"an inner box of {_PADDED_BOX} padded elements"),
            (not self.padded or self.extents[0] % _PADDED_BOX == 0, f"whole {_PADDED_BOX} padded elements in a row"),
            (
                not self.padded or all(at % 32 == 0 for at in (self.address, *self.strides)),
                "an address and strides that are multiples of 32 for padded elements",
            ),
            (self.element or not self.steps, "no traversal strides for elements below a byte"),
        ]
        for holds, rule in rules:
            if not holds:
                raise EmulatorError(f"{self}: a tensor map has {rule}")

    @cached_property
    def copied(self) -> tuple[int, ...]:
        """Elements of a box along each mode that one instruction copies."""
        return tuple(-(-b // s) for b, s in zip(self.box, self.steps, strict=True)) if self.steps else self.box

    @property
    def bits(self) -> int:
        """Of one element in global memory."""
        return BELOW.get(self.type, 8 * self.element)

    @property
    def padded(self) -> bool:
        """Whether sixteen elements take 16 bytes of shared memory."""
        return self.type in BELOW and self.type != "u4"

    @cached_property
    def bytes(self) -> int:
        """Of one box: what an mbarrier counts, out-of-bounds elements included, padding not (CUTLASS)."""
        return prod(self.copied) * self.bits // 8

    @cached_property
    def footprint(self) -> int:
        """Of one box: bytes of shared memory."""
        return prod(self.copied) if self.padded else self.bytes

    @cached_property
    def in_bytes(self) -> TensorMap:
        """The same tensor and box by bytes of global memory, for elements below a byte."""
        scale = [each * self.bits // 8 for each in (self.extents[0], self.box[0])]
        extents, box = (scale[0], *self.extents[1:]), (scale[1], *self.box[1:])
        return replace(self, extents=extents, box=box, element=1, swizzle="none", type="")

    @cached_property
    def plain(self) -> bool:
        """Whether a box is copied as it is: every element, as its bits, zeros outside."""
        return not self.steps and self.fill == "zero" and not self.type.startswith("tf32")

    def __str__(self) -> str:
        more = [f"{name} {value}" for name, value in (("swizzle", self.swizzle), ("type", self.type)) if value]
        if self.steps:
            more.append(f"traversal strides {self.steps}")
        size = f"{self.element} B" if self.element else f"{self.bits} bits"
        return (
            f"tensor map of {self.extents} elements of {size} at {self.address:#x}, strides {self.strides} B,"
            f" box {self.box}, {', '.join([*more, f'fill {self.fill}'])}"
        )


_FLOATING = frozenset(name for name in TYPES if "f" in name)


def split_box(box: tuple[int, ...], multicast: int) -> tuple[int, ...]:
    """The box of one instruction where `multicast` CTAs share `box`: its outermost mode longer than 1 is divided."""
    at = max((i for i, extent in enumerate(box) if extent > 1), default=0)
    if box[at] % multicast:
        raise EmulatorError(f"box {box} cannot be divided between {multicast} CTAs")
    return tuple(extent // multicast if i == at else extent for i, extent in enumerate(box))
