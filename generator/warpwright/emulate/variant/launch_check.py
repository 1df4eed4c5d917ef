"""A launch against what plan and problem say that it must be: grid, block, shared memory, maps, by-value parameters.

The numbers of the problem are whole ones of any size here: what the host code computed in 32 bits shows at large ones.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.build.launch_capture import Launch
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.machine.launch import Launch as Shape
from warpwright.emulate.machine.limits import misshapen
from warpwright.emulate.units.tma.tensor_map import TensorMap
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.host_lines import HostLines
from warpwright.emulate.variant.tensor_maps import Given, mapped, read_maps
from warpwright.families.running import Launched, View
from warpwright.plan.types import Copy, KernelPlan

__all__ = ["Checked", "check", "numbers"]

_WIDE = 2**31  # extents from here on are 64-bit in a function's interface


@dataclass(frozen=True)
class Checked:
    """What a launch showed: its maps as they can be run, and how it differs from the plan.

    A difference leaves the kernel right but another than planned; a finding does not.
    """

    maps: Mapping[int, TensorMap]
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...]
    runnable: bool


def check(
    kernel: KernelPlan,
    parameters: Sequence[int],
    launch: Launch,
    due: Launched,
    given: Mapping[str, Given],
    lines: HostLines,
) -> Checked:
    """Compare one launch; `parameters` are those of its parameters that are tensor maps, in the plan's order."""
    maps = read_maps(kernel, parameters, given, due.maps, launch.params, lines)
    values = list(_values(kernel, parameters, launch, due, given, lines))
    pairs = [
        ("threads", kernel.threads, math.prod(launch.block)),
        ("grid", due.grid, launch.grid),
        ("cluster", kernel.cluster, launch.cluster),
        ("shared memory", kernel.shared_bytes, launch.shared_bytes),
    ]
    differences = [Difference(f"launch: {rule}", str(want), str(got)) for rule, want, got in pairs if want != got]
    differences += [each for each in values if isinstance(each, Difference)]
    findings = [*maps.findings, *(each for each in values if isinstance(each, Finding))]
    if not launch.own_stream:
        text = f"{kernel.name} is launched on the default stream, not on the caller's"
        findings.append(Finding("launch", "\n  ".join([text, *lines.of_launch()]), about="stream"))
    refused = list(misshapen(Shape(**vars(launch))))
    if refused:
        text = f"{kernel.name} is launched as no device takes it: {'; '.join(refused)}"
        findings.append(Finding("launch-refused", "\n  ".join([text, *lines.of_launch()]), about="shape"))
    whole = len(maps.found) == len(parameters)
    return Checked(maps.found, tuple(findings), tuple(differences), whole and not refused)


def _values(
    kernel: KernelPlan,
    parameters: Sequence[int],
    launch: Launch,
    due: Launched,
    given: Mapping[str, Given],
    lines: HostLines,
) -> Iterator[Finding | Difference]:
    """What is wrong with the parameters that are passed by value."""
    params = launch.params
    named, rest = _named(kernel, parameters, len(params), due)
    if rest != len(due.values):
        yield Difference("launch: parameters", f"{len(due.values)} beside tensor maps", str(rest))
        return
    for index, name, value in named:
        whose = f"parameter {index} of {kernel.name}"
        fields = _fields(value, given, len(params[index]))
        if fields is None:
            yield Difference(f"launch: {whose}, {name}", f"{value}", f"{len(params[index])} bytes")
            continue
        for what, at, code, want in fields:
            (got,) = struct.unpack_from(f"<{code}", params[index], at)
            if got != want and not (math.isnan(got) and math.isnan(want)):
                form = "#x" if code == "Q" else ""
                text = f"{whose}, {name}{what}, is {got:{form}}, expected {want:{form}}"
                message = "\n  ".join([text, *lines.of_value(name)])
                yield Finding("launch", message, about=f"{index}: {name}{what}")


def numbers(
    kernel: KernelPlan, parameters: Sequence[int], params: Sequence[bytes], due: Launched, given: Mapping[str, Given]
) -> Iterator[tuple[int, str, int, str]]:
    """(parameter, name, offset, struct code) of each number that is compared."""
    for index, name, value in _named(kernel, parameters, len(params), due)[0]:
        for number, (what, at, code, _) in enumerate(_fields(value, given, len(params[index])) or ()):
            yield index, f"{name}{what or f' #{number + 1}'} (parameter {index})", at, code


def _named(
    kernel: KernelPlan, parameters: Sequence[int], count: int, due: Launched
) -> tuple[list[tuple[int, str, Any]], int]:
    """(parameter, name, value due) of all that are no tensor maps, and how many of them lie beside no map."""
    beside = {index + 1: copy for index, copy in zip(parameters, mapped(kernel), strict=True)}
    rest = [index for index in range(count) if index not in parameters and index not in beside]
    found: list[tuple[int, str, Any]] = [
        (index, f"the extents of {copy.tensor}", _passed(copy, due.maps[copy.tensor]))
        for index, copy in beside.items()
        if index < count
    ]
    return found + [(index, *value) for index, value in zip(rest, due.values, strict=False)], len(rest)


def _passed(copy: Copy, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Of a map's extents those that no problem changes are not passed: they are in the kernel."""
    fixed = [mode.isdecimal() for mode in copy.modes]
    return tuple(extent for at, extent in enumerate(extents) if not fixed or not fixed[at])


def _fields(value: Any, given: Mapping[str, Given], size: int) -> list[tuple[str, int, str, Any]] | None:
    """(name, offset, struct code, value) of each number in a parameter of `size` bytes, None where it has another size.

    The DSL passes a tensor as its address, extents and strides that are not 1, each aligned to its size.
    """
    if isinstance(value, View):
        found: list[tuple[str, int, str, Any]] = [("'s address", 0, "Q", given[value.argument].value.address)]
        argument, tensor = given[value.argument].argument, given[value.argument].value
        extents = dict(zip(argument.shape, tensor.shape, strict=True))
        strides = dict(zip(argument.shape, tensor.strides, strict=True))
        code, width = ("q", 8) if argument.largest_extent >= _WIDE else ("i", 4)
        at = 8
        for mode in value.modes:
            found.append((f"'s extent of {mode}", at, code, extents[mode]))
            at += width
        at = -(-at // 8) * 8
        for mode in value.modes:
            if mode != (argument.contiguous or argument.shape[-1]):
                if extents[mode] > 1:  # else it means nothing
                    found.append((f"'s stride of {mode}", at, "q", strides[mode]))
                at += 8
        return found if at == size else None
    if isinstance(value, tuple):
        return [("", 4 * i, "i", each) for i, each in enumerate(value)] if size == 4 * len(value) else None
    if isinstance(value, float):
        return [("", 0, "f", struct.unpack("<f", struct.pack("<f", value))[0])] if size == 4 else None
    return [("", 0, {4: "i", 8: "q"}[size], value)] if size in (4, 8) else None
