"""The tensor maps of a launch: decoded from their bytes, and held against what the plan's copies say.

The kernel's host code makes one map per copy through a tensor map, in the plan's order, the contiguous mode innermost
and then the copy's modes in their order; what it encoded is what runs. Two things about a map follow from the problem
and not from the operand: the extents that the family says (K = 0 is one column that nobody loads, and a map that is
stored through ends with the last whole 16 bytes of a row), and that the stride of a mode of one element means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.build.launch_capture import TensorValue
from warpwright.dtypes import dtype
from warpwright.emulate.machine.findings import EmulatorError, Finding
from warpwright.emulate.units.tma.encoding import BYTES, decode
from warpwright.emulate.units.tma.tensor_map import TYPES, TensorMap
from warpwright.emulate.variant.host_lines import HostLines
from warpwright.plan.types import Argument, Copy, KernelPlan

__all__ = ["Given", "Maps", "map_parameters", "mapped", "read_maps"]

_BITS = {4: ("u4",), 8: ("u8",), 16: ("u16",), 32: ("u32", "s32"), 64: ("u64", "s64")}


@dataclass(frozen=True)
class Given:
    """An argument and the tensor that a call passes for it."""

    argument: Argument
    value: TensorValue

    @property
    def end(self) -> int:
        """The address behind its last element."""
        value, bits = self.value, dtype(self.argument.dtype).bits
        reach = sum((extent - 1) * stride for extent, stride in zip(value.shape, value.strides, strict=True))
        return value.address + (0 if 0 in value.shape else (reach + 1) * bits // 8)


@dataclass(frozen=True)
class Maps:
    """The maps of one launch by parameter, as far as they can be run, and what is wrong with them."""

    found: Mapping[int, TensorMap]
    findings: tuple[Finding, ...]


def mapped(kernel: KernelPlan) -> list[Copy]:
    """Return the copies of a kernel that go through tensor maps."""
    return [copy for copy in kernel.copies if copy.kind == "tensor"]


def map_parameters(kernel: KernelPlan, parameter_bytes: Sequence[int]) -> list[int]:
    """Return which kernel parameters are tensor maps, in the order of `mapped`. Raises EmulatorError."""
    found = [index for index, size in enumerate(parameter_bytes) if size == BYTES]
    copies = mapped(kernel)
    if len(found) != len(copies):
        raise EmulatorError(
            f"{kernel.name} takes {len(found)} tensor maps, its plan has {len(copies)} copies through one"
            f" ({', '.join(copy.tensor for copy in copies) or 'none'}); build the variant again"
        )
    return found


def read_maps(
    kernel: KernelPlan,
    parameters: Sequence[int],
    given: Mapping[str, Given],
    extents: Mapping[str, Sequence[int]],
    values: Sequence[bytes],
    lines: HostLines,
) -> Maps:
    """Decode the maps among a launch's parameters, `values`, and compare each with the plan.

    `given`: the tensors by name; `extents`: those of each map's tensor, in the order of the copy's modes.
    """
    found, findings = {}, []
    for number, (index, copy) in enumerate(zip(parameters, mapped(kernel), strict=True)):
        whose = f"the tensor map of {copy.tensor} (parameter {index} of {kernel.name})"
        try:
            seen = found[index] = decode(values[index])
        except EmulatorError as error:
            text = f"{whose} is none that can be copied through: {error}"
            findings.append(_finding(copy.tensor, "bytes", text, lines.of_map(number)))
            continue
        differences = _differences(copy, given, tuple(extents[copy.tensor]), seen)
        for what, want, got in differences:
            text = f"{whose} has {what} {got}, expected {want}"
            findings.append(_finding(copy.tensor, what, text, lines.of_map(number)))
    return Maps(found, tuple(findings))


def _finding(tensor: str, what: str, text: str, where: Sequence[str]) -> Finding:
    return Finding("tensor-map", "\n  ".join([text, *where]), about=f"{tensor}: {what}")


def _differences(
    copy: Copy, given: Mapping[str, Given], extents: tuple[int, ...], seen: TensorMap
) -> Iterator[tuple[str, str, str]]:
    """(property, expected, found) of each that is not as the plan says."""
    argument, value = given[copy.tensor].argument, given[copy.tensor].value
    bits = dtype(copy.dtype).bits  # of what the map counts: scales go in pairs
    named = dict(zip(copy.modes or argument.shape, extents, strict=True))
    modes = sorted(named, key=lambda mode: mode != argument.contiguous)
    apart = dict(zip(argument.shape, value.strides, strict=True))
    strides = {mode: stride * dtype(argument.dtype).bits // 8 for mode, stride in apart.items()}  # of one element, any
    if seen.address != value.address:
        yield "address", f"{value.address:#x}, that of {copy.tensor}", _place(seen.address, given)
    if len(seen.extents) != len(modes):
        yield "rank", f"{len(modes)}: {', '.join(modes)}, innermost first", str(len(seen.extents))
        return
    for axis, mode in enumerate(modes):
        if seen.extents[axis] != named[mode]:
            yield f"the extent of {mode}", str(named[mode]), str(seen.extents[axis])
        if axis and named[mode] > 1 and seen.strides[axis - 1] != strides[mode]:
            yield f"the stride of {mode}", f"{strides[mode]} B", f"{seen.strides[axis - 1]} B"
    types = (copy.dtype,) if copy.dtype in TYPES else _BITS[bits]
    pairs: list[tuple[str, Any, Any]] = [
        ("the box", copy.box, seen.box),
        ("the swizzle", copy.swizzle, seen.swizzle),
        ("elements of", " or ".join(types), " or ".join(types) if seen.type in types else seen.type),
        ("traversal strides", (), seen.steps),
        ("outside the tensor", "zero", seen.fill),
    ]
    for what, want, got in pairs:
        if want != got:
            yield what, str(want or "none"), str(got or "none")
    # Where D has no whole 16 bytes, the map has some all the same, and nothing is stored through it.
    outer = sum((named[mode] - 1) * strides[mode] for mode in modes[1:])
    due = outer + named[argument.contiguous] * bits // 8
    beyond = _end(seen) - max(given[copy.tensor].end, value.address + due)
    if beyond > 0:
        yield "elements up to", f"the end of {copy.tensor}", f"{beyond} B beyond it"


def _end(seen: TensorMap) -> int:
    """The address behind the last element of a map."""
    outer = sum((e - 1) * s for e, s in zip(seen.extents[1:], seen.strides, strict=True))
    return seen.address + seen.extents[0] * seen.bits // 8 + outer


def _place(address: int, given: Mapping[str, Given]) -> str:
    """Where an address lies, in words."""
    below = [each for each in given.values() if each.value.address <= address < max(each.end, each.value.address + 1)]
    if not below:
        return f"{address:#x}, in no tensor"
    (owner,) = below[:1]
    return f"{address:#x}, byte {address - owner.value.address} of {owner.argument.name}"
