"""Calls drawn at random: right ones, and what a careless or hostile caller makes of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from warpwright.build.launch_capture import TensorValue
from warpwright.dtypes import DTYPES, dtype
from warpwright.plan.types import Argument, Plan

__all__ = ["APART", "Drawn", "Tensor", "draw", "spoil", "spoil_raw"]

#: Bytes between tensors that nobody has.
APART = 1 << 45
_FIRST = 1 << 40  # address


@dataclass(frozen=True)
class Tensor:
    """An address with extents and strides, and what the checked call asks of a tensor; there is no memory."""

    address: int
    shape: tuple[Any, ...]
    strides: tuple[int, ...]
    short: str
    device: Any = "host:0"

    @property
    def dtype(self) -> str:
        return DTYPES[self.short].torch

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def data_ptr(self) -> int:
        return self.address

    def as_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    @property
    def value(self) -> TensorValue:
        return TensorValue(self.address, self.shape, self.strides, self.short)


@dataclass
class Drawn:
    """A call by name, and what was done to it."""

    extents: dict[str, int]
    given: dict[str, Any]
    done: list[str] = field(default_factory=list)


def _extent(rng: random.Random, plan: Plan, mode: str) -> int:
    units = [unit for limit in plan.limits for name, unit in limit.modes if name == mode and unit > 1]
    tile = max([*units, 8])
    most = min((limit.most for limit in plan.limits if limit.modes == ((mode, 1),)), default=2**31 - 1)
    return rng.choice(
        [1, 1, 2, 3, 5, 7, 8, 9, 16, 17, tile - 1, tile, tile + 1, 3 * tile + 5, rng.randrange(1, 200), 0]
        + ([most, most - 1, 2**30, 2**24 + 1] if rng.random() < 0.05 else [])
    )


def _strides(rng: random.Random, argument: Argument, extents: dict[str, int], loose: bool) -> tuple[int, ...]:
    """Legal ones: packed to the alignment, or looser; what is of extent 1 has any."""
    unit = max(1, argument.alignment // dtype(argument.dtype).bytes)
    inner = argument.contiguous
    order = [inner, *rng.sample([m for m in argument.shape if m != inner], len(argument.shape) - 1)]
    found, reach = {inner: 1}, max(1, extents[inner])
    for mode in order[1:]:
        found[mode] = (-(-reach // unit) + (rng.randrange(3) if loose else 0)) * unit
        reach = found[mode] * max(1, extents[mode])
    return tuple(rng.choice([found[m], 3, 0]) if extents[m] == 1 and loose else found[m] for m in argument.shape)


def draw(rng: random.Random, plan: Plan) -> Drawn:
    """A call that nothing is wrong with, but that it may be too large."""
    modes = dict.fromkeys(mode for argument in plan.arguments for mode in argument.shape)
    extents = {mode: _extent(rng, plan, mode) for mode in modes}
    given: dict[str, Any] = {}
    for number, argument in enumerate(plan.arguments):
        if argument.kind == "scalar":
            if argument.role == "grid_limit":
                given[argument.name] = rng.choice([1, 2, 131, 132])
            else:
                given[argument.name] = rng.choice([0, 1.0, -2, 0.1, float("inf"), np.float32(0.3), Fraction(1, 3)])
            continue
        address = _FIRST + number * APART + argument.alignment * rng.randrange(64)
        shape = tuple(extents[mode] for mode in argument.shape)
        strides = _strides(rng, argument, extents, rng.random() < 0.5)
        given[argument.name] = Tensor(address, shape, strides, argument.dtype)
    return Drawn(extents, given)


def _tensors(drawn: Drawn) -> list[str]:
    return [name for name, value in drawn.given.items() if isinstance(value, Tensor)]


def _alter(rng: random.Random, drawn: Drawn, change: Callable[[Tensor], Tensor]) -> None:
    name = rng.choice(_tensors(drawn))
    drawn.given[name] = change(drawn.given[name])
    drawn.done.append(f"{name} altered")


def _put(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _stride(rng: random.Random, tensor: Tensor) -> Tensor:
    if not tensor.strides:
        return tensor
    at, old = rng.randrange(len(tensor.strides)), max(tensor.strides)
    new = rng.choice([0, 1, 2, 3, 8, 12, -8, -old, old + 1, old - 1, old + 4, old // 2, old * 2, 1 << 33, 1 << 62])
    return replace(tensor, strides=_put(tensor.strides, at, new))


def _shape(rng: random.Random, tensor: Tensor) -> Tensor:
    if not tensor.shape:
        return tensor
    at = rng.randrange(len(tensor.shape))
    new = rng.choice([0, 1, 2, tensor.shape[at] + 1, max(0, tensor.shape[at] - 1), 2**31 - 1, 2**31, 2**33, 2**62])
    return replace(tensor, shape=_put(tensor.shape, at, new))


def _rank(rng: random.Random, tensor: Tensor) -> Tensor:
    if tensor.shape and rng.random() < 0.5:
        return replace(tensor, shape=tensor.shape[1:], strides=tensor.strides[1:])
    return replace(tensor, shape=(1, *tensor.shape), strides=(1, *tensor.strides))


def _large(rng: random.Random, plan: Plan, drawn: Drawn) -> None:
    """The whole problem, larger than it may be in one mode, or as large as it may be."""
    mode = rng.choice(list(drawn.extents))
    most = [limit.most for limit in plan.limits] + [argument.largest_extent for argument in plan.arguments]
    extent = max(0, rng.choice(most) + rng.choice([-1, 0, 1]))
    drawn.extents[mode] = extent
    for argument in plan.arguments:
        if isinstance(drawn.given.get(argument.name), Tensor) and mode in argument.shape:
            shape = tuple(drawn.extents[each] for each in argument.shape)
            strides = _strides(rng, argument, drawn.extents, False)
            drawn.given[argument.name] = replace(drawn.given[argument.name], shape=shape, strides=strides)
    drawn.done.append(f"{mode} = {extent}")


def _together(rng: random.Random, drawn: Drawn) -> None:
    """One tensor in the place of another: exactly, or a little beside it, or of its own strides."""
    one, other = rng.choice(_tensors(drawn)), rng.choice(_tensors(drawn))
    at: Tensor = drawn.given[one]
    own: Tensor = drawn.given[other]
    beside = rng.choice([0, 0, 0, 2, 16, 32, 64, 256, 4096, -16, -64])
    drawn.given[other] = rng.choice([at, replace(own, address=at.address + beside)])
    drawn.done.append(f"{other} in the place of {one}")


SCALARS: tuple[Any, ...] = (
    True, None, "1", b"1", [], {}, object(), 1j, 10**400, -(10**5000), 1e300, -1e39, 3.4028235677973366e38, 1e-60,
    float("nan"), float("-inf"), 2**31, 2**63, np.float64(1e200), np.array(1.0), np.array([1.0]), np.bool_(False),
    np.int8(-3), Decimal("1.5"), Fraction(10**400, 7), np.str_("x"),
)  # fmt: skip
OBJECTS: tuple[Any, ...] = (None, 0, "x", [], (), object(), np.zeros(3), np.zeros((2, 2, 2), np.float16), Ellipsis)
LIMITS: tuple[Any, ...] = (0, -1, 133, 2**31, 2**64, True, 1.0, "1", 10**5000, np.int64(5), np.float32(1), object())


def _scalar(rng: random.Random, plan: Plan, drawn: Drawn) -> None:
    names = [a.name for a in plan.arguments if a.kind == "scalar" and a.role != "grid_limit"]
    if names:
        name = rng.choice(names)
        drawn.given[name] = rng.choice(SCALARS)
        drawn.done.append(f"{name} altered")


def _limit(rng: random.Random, plan: Plan, drawn: Drawn) -> None:
    for argument in plan.arguments:
        if argument.role == "grid_limit":
            drawn.given[argument.name] = rng.choice(LIMITS)
            drawn.done.append("grid limit altered")


def _names(rng: random.Random, drawn: Drawn) -> None:
    name = rng.choice(list(drawn.given))
    if rng.random() < 0.5:
        del drawn.given[name]
    else:
        drawn.given[rng.choice(["e", "D", "stream", "", "__class__"])] = drawn.given[name]
    drawn.done.append("names altered")


def _other(rng: random.Random, drawn: Drawn) -> None:
    name = rng.choice(list(drawn.given))
    drawn.given[name] = rng.choice(OBJECTS)
    drawn.done.append(f"{name} is an object")


def _of_a_tensor(rng: random.Random, drawn: Drawn) -> list[Callable[[], None]]:
    """What can be wrong with one tensor, of checked calls and of raw ones."""
    return [
        lambda: _alter(rng, drawn, lambda t: _stride(rng, t)),
        lambda: _alter(rng, drawn, lambda t: _shape(rng, t)),
        lambda: _alter(rng, drawn, lambda t: _rank(rng, t)),
        lambda: _alter(rng, drawn, lambda t: replace(t, address=t.address + rng.choice([1, 2, 4, 8, 16]))),
        lambda: _alter(rng, drawn, lambda t: replace(t, short=rng.choice(["f16", "bf16", "f32"]))),
    ]


def spoil(rng: random.Random, plan: Plan, drawn: Drawn) -> None:
    """Do one thing to a checked call."""
    ways: list[Callable[[], None]] = [
        *_of_a_tensor(rng, drawn),
        lambda: _alter(rng, drawn, lambda t: replace(t, device=rng.choice(["cpu", "host:1", "", None, 3]))),
        lambda: _large(rng, plan, drawn),
        lambda: _together(rng, drawn),
        lambda: _together(rng, drawn),
        lambda: _scalar(rng, plan, drawn),
        lambda: _limit(rng, plan, drawn),
        lambda: _names(rng, drawn),
        lambda: _other(rng, drawn),
    ]
    if _tensors(drawn):
        rng.choice(ways)()


def spoil_raw(rng: random.Random, plan: Plan, drawn: Drawn) -> None:
    """Do one thing to a raw call, which takes tensors and numbers alone."""
    ways: list[Callable[[], None]] = [
        *_of_a_tensor(rng, drawn),
        lambda: _large(rng, plan, drawn),
        lambda: _together(rng, drawn),
    ]
    rng.choice(ways)()
    for argument in plan.arguments:
        if argument.role == "grid_limit" and rng.random() < 0.2:
            drawn.given[argument.name] = rng.choice([0, -1, -(2**31), 1, 2**20, 2**31 - 1, 2**31, 2**40])
