"""Mutants of a launch: its tensor maps, values and grid with one number altered, as wrong host code would pass it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from warpwright.build.launch_capture import Launch
from warpwright.emulate.mutants.edits import Mutant
from warpwright.emulate.units.tma.encoding import changed, field
from warpwright.emulate.variant.launch_check import numbers
from warpwright.emulate.variant.launches import Entry
from warpwright.emulate.variant.tensor_maps import Given, mapped
from warpwright.families.running import Launched

__all__ = ["launch_mutants"]

#: What becomes of a map's swizzle: the next narrower, or of none the widest.
_SWIZZLES = {0: 3, 1: 0, 2: 1, 3: 2}

Edit = Callable[[Launch], Launch]


def launch_mutants(
    entry: Entry, launch: Launch, due: Launched, given: Mapping[str, Given], alone: bool = True
) -> Iterator[Mutant]:
    """The mutants of one kernel's launch, of which `launch` is an example; `alone`: it is the plan's only kernel.

    - of each map: the address 16 bytes on; each extent one less; each stride doubled; each extent of the box one less
      (along the innermost mode, half); another swizzle and element type; every second element along each outer mode;
      NaN outside
    - each number of the other parameters: one more, addresses 16 more
    - the grid: one cluster less and one more
    """
    whose = "" if alone else f" of {entry.kernel.name}"

    def mutant(name: str, edit: Edit) -> Mutant:
        def alter(launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
            return tuple(edit(each) if each.kernel == entry.name else each for each in launches)

        return Mutant(name + whose, 0, "the launch", (), alter)

    for index, copy in zip(entry.maps, mapped(entry.kernel), strict=True):
        modes = sorted(copy.modes, key=lambda mode: mode != given[copy.tensor].argument.contiguous)
        for what, edit in _maps(launch.params[index], modes):
            yield mutant(f"{what} in the tensor map of {copy.tensor}", _parameter(index, edit))
    for index, about, at, code in numbers(entry.kernel, entry.maps, launch.params, due, given):
        step = 16 if code == "Q" else 1
        yield mutant(f"{step:+} in {about}", _parameter(index, _number(at, code, step)))
    x = launch.grid[0]
    for step, what in ((-1, "a cluster less"), (1, "a cluster more")):
        grid = x + step * launch.cluster[0]
        if grid:
            yield mutant(f"{what} in the grid", lambda each, step=step: replace(  # type: ignore[misc]
                each, grid=(each.grid[0] + step * each.cluster[0], *each.grid[1:])
            ))  # fmt: skip


def _maps(raw: bytes, modes: Sequence[str]) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    yield "address +16 B", _step("address", 16)
    for axis, mode in enumerate(modes):
        yield f"extent of {mode} -1", _step("extent", -1, axis)
        if axis:
            yield f"stride of {mode} doubled", _doubled(axis - 1)
            yield f"every second {mode}", lambda data, axis=axis: changed(data, "step", 1, axis)  # type: ignore[misc]
        if field(raw, "box", axis):
            less = (field(raw, "box", axis) + 1) // 2 if axis == 0 else 1
            yield f"box of {mode} {-less}", _step("box", -less, axis)
    swizzle = _SWIZZLES[field(raw, "swizzle")]
    yield "another swizzle", lambda data: changed(data, "swizzle", swizzle)
    # f16 and bf16 for each other, u32 for f32, u16 for u8, else u8
    kind = {6: 10, 10: 6, 7: 2, 0: 1}.get(field(raw, "type"), 0)
    yield "another type", lambda data: changed(data, "type", kind)
    yield "NaN outside", lambda data: changed(data, "fill", 1)


def _step(name: str, step: int, mode: int = 0) -> Callable[[bytes], bytes]:
    return lambda raw: changed(raw, name, field(raw, name, mode) + step, mode)


def _doubled(mode: int) -> Callable[[bytes], bytes]:
    return lambda raw: changed(raw, "stride", 2 * field(raw, "stride", mode), mode)


def _parameter(index: int, edit: Callable[[bytes], bytes]) -> Edit:
    def altered(launch: Launch) -> Launch:
        params = list(launch.params)
        params[index] = edit(params[index])
        return replace(launch, params=tuple(params))

    return altered


def _number(at: int, code: str, step: int) -> Callable[[bytes], bytes]:
    form = struct.Struct(f"<{code}")

    def altered(raw: bytes) -> bytes:
        (value,) = form.unpack_from(raw, at)
        if isinstance(value, float):
            altered_bytes = form.pack(value + step)
        else:  # beyond the largest number comes the smallest
            altered_bytes = ((value + step) % 256**form.size).to_bytes(form.size, "little")
        return raw[:at] + altered_bytes + raw[at + form.size :]

    return altered
