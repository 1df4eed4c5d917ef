"""The checked call: every rule of the kernel's ABI is tested on the host, before anything is launched.

A TMA descriptor with a misaligned stride fails inside the driver, and a wrong dtype is silently read as something
else; here both give an error that names tensor, value and rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

from warpwright.archs import TMA_STRIDES
from warpwright.device.held import elements_of, held_bytes, per_byte
from warpwright.device.scalars import ScalarError, scalar, shown
from warpwright.device.spans import Span, span_of
from warpwright.dtypes import dtype
from warpwright.plan.types import Argument, Plan, extent_of

__all__ = ["CallError", "CheckedKernel", "check_arguments"]


class CallError(ValueError):
    """An argument breaks a rule of the kernel; nothing was launched.

    `argument`, `value` and `rule` are also in the message.
    """

    def __init__(self, argument: str, value: str, rule: str) -> None:
        super().__init__(f"{argument}: {value}; {rule}")
        self.argument, self.value, self.rule = argument, value, rule


class CheckedKernel:
    """A loaded kernel with its plan's rules.

    Call it with the plan's arguments in order or by name: tensors of the plan's modes on one device, or without a
    leading batch mode L where that is 1, vectors, and numbers. The grid limit may be left out, or given by its name: it
    is `grid_limit`, the clusters that the device holds at once, unless it is said to be less. The launch is on the
    caller's current stream; outputs and workspaces are written. Raises CallError when an argument breaks a rule, before
    anything is launched.
    """

    def __init__(self, plan: Plan, function: Callable[..., Any], grid_limit: int, device_type: str = "cuda") -> None:
        self.plan, self.function, self.grid_limit, self.device_type = plan, function, grid_limit, device_type

    def __call__(self, *arguments: Any, **named: Any) -> None:
        self.function(*self.bind(*arguments, **named))

    def bind(self, *arguments: Any, **named: Any) -> list[Any]:
        """Check the arguments and return them in ABI order, ready for `function` (for calls in a tight loop)."""
        limits = {a.name: self._limit(a.name, named.pop(a.name, None)) for a in self.plan.arguments if _limits(a)}
        checked = check_arguments(self.plan, arguments, named, self.device_type)
        return [limits[a.name] if _limits(a) else checked[a.name] for a in self.plan.arguments]

    def _limit(self, name: str, given: Any) -> int:
        if given is None:
            return self.grid_limit
        chosen = int(given) if isinstance(given, Integral) and given is not True else 0
        if not 1 <= chosen <= self.grid_limit:
            raise CallError(name, shown(given), f"must be a whole number from 1 to {self.grid_limit}")
        return chosen


def _limits(argument: Argument) -> bool:
    return argument.role == "grid_limit"


def check_arguments(
    plan: Plan, positional: Sequence[Any], named: Mapping[str, Any], device_type: str = "cuda"
) -> dict[str, Any]:
    """Return the arguments by name, without a grid limit, in the form the kernel takes.

    That is with every mode, and with legal strides on modes of extent 0 or 1. Works on anything with shape, stride(),
    data_ptr(), dtype, device and as_strided(). Where two elements share a byte, extent and strides of a tensor count
    bytes, as torch has them (float4_e2m1fn_x2). Raises CallError.
    """
    expected = [argument for argument in plan.arguments if not _limits(argument)]
    given = _by_name(expected, positional, named)
    extents: dict[str, tuple[int, str]] = {}
    device = ""
    result: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    for argument in expected:
        value = given[argument.name]
        if argument.kind == "scalar":
            try:
                result[argument.name] = scalar(argument, value)
            except ScalarError as error:
                raise CallError(argument.name, error.value, error.rule) from None
            continue
        _check_kind(argument, value)
        if not str(value.device).startswith(device_type):
            raise CallError(argument.name, f"device {value.device}", f"must be on a {device_type} device")
        device = device or str(value.device)
        if str(value.device) != device:
            raise CallError(argument.name, f"device {value.device}", f"must be on {device}, like the other tensors")
        tensor = _with_batch(argument, value)
        _check_extents(argument, elements_of(argument, tensor.shape), extents)
        tensor = _legal_strides(argument, tensor)
        result[argument.name] = tensor
        if 0 not in tuple(tensor.shape):
            spans[argument.name] = span_of(argument, tensor)
    _check_limits(plan, {mode: extent for mode, (extent, _) in extents.items()})
    for written in [argument for argument in expected if _written(argument) and argument.name in spans]:
        _check_overlaps(written, spans)
    return result


def _check_limits(plan: Plan, extents: Mapping[str, int]) -> None:
    beyond = plan.exceeded(extents)
    if beyond:
        of = ", ".join(f"{mode} = {extents[mode]}" for mode, _ in beyond.modes)
        rule = f"the kernel counts at most {beyond.most}; split the problem, or take a variant of larger tiles"
        raise CallError("problem", f"{beyond.count(extents)} {beyond.what} ({of})", rule)


def _check_overlaps(written: Argument, spans: Mapping[str, Span]) -> None:
    own = spans[written.name]
    for name, span in spans.items():
        if name == written.name or not own.overlaps(span):
            continue
        if name == written.in_place and (own.first, own.steps) == (span.first, span.steps):
            continue
        where = f"bytes {own.first:#x} to {own.last:#x} overlap those of {name!r}"
        what = "an output" if written.output else "a workspace"
        rule = f"{what} must not share memory with another argument; give it its own"
        if name == written.in_place:
            rule = f"it may be {name!r} itself, of the same address and strides, or else must not share memory with it"
        raise CallError(written.name, where, rule)


def _written(argument: Argument) -> bool:
    return argument.role in ("output", "workspace")


def _by_name(expected: Sequence[Argument], positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in expected]
    signature = f"the arguments are {', '.join(names)}"
    if len(positional) > len(names):
        raise CallError("call", f"{len(positional)} positional arguments", signature)
    given = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names:
            raise CallError(name, "unknown argument", signature)
        if name in given:
            raise CallError(name, "given twice", signature)
        given[name] = value
    for name in names:
        if name not in given:
            raise CallError(name, "missing", signature)
    return given


def _check_kind(argument: Argument, value: Any) -> None:
    if not all(hasattr(value, name) for name in ("shape", "stride", "data_ptr", "dtype", "device")):
        raise CallError(argument.name, f"type {type(value).__name__}", "must be a torch tensor")
    name = str(value.dtype).rpartition(".")[2]
    if name not in (dtype(argument.dtype).torch, dtype(argument.dtype).numpy):
        raise CallError(argument.name, f"dtype {name}", f"this variant takes {dtype(argument.dtype).torch}")


def _with_batch(argument: Argument, tensor: Any) -> Any:
    rank = len(argument.shape)
    shape = f"({', '.join(argument.shape)})"
    if len(tensor.shape) == rank:
        return tensor
    batched = rank > 1 and argument.shape[0] == "L"
    if batched and len(tensor.shape) == rank - 1:
        return tensor.as_strided((1, *tensor.shape), (1, *tensor.stride()))
    also = f" or, for L = 1, ({', '.join(argument.shape[1:])})" if batched else ""
    raise CallError(argument.name, f"shape {tuple(tensor.shape)}", f"must have the modes {shape}{also}")


def _check_extents(argument: Argument, shape: tuple[int, ...], extents: dict[str, tuple[int, str]]) -> None:
    for mode, extent in zip(argument.shape, shape, strict=True):
        fixed = (int(mode), "the variant") if mode.isdecimal() else (int(extent), argument.name)
        of, _, part = mode.partition("/")
        if part and of in extents:  # parts of what another argument has whole
            fixed = (extent_of(mode, {of: extents[of][0]}), extents[of][1])
        known, owner = extents.setdefault(mode, fixed)
        if known != extent:
            raise CallError(argument.name, f"{mode} = {extent} in shape {shape}", f"{owner!r} has {mode} = {known}")
        if extent > argument.largest_extent:
            raise CallError(argument.name, f"{mode} = {extent}", f"an extent must be at most {argument.largest_extent}")


def _legal_strides(argument: Argument, tensor: Any) -> Any:
    """Check strides and base, and give modes of extent 0 or 1, whose stride never matters, a legal one."""
    size, word = held_bytes(argument), "bytes" if per_byte(argument) > 1 else "elements"
    unit = max(1, argument.alignment // size)
    shape, strides = tuple(tensor.shape), list(tensor.stride())
    inner = argument.shape.index(argument.contiguous) if argument.contiguous else len(shape) - 1
    empty = 0 in shape
    free = [mode for mode, extent in enumerate(shape) if extent <= 1 or empty]
    if inner not in free and strides[inner] != 1:
        name = argument.shape[inner]
        raise CallError(
            argument.name, f"stride {strides[inner]} in {name}", f"this variant is {name}-major: it must be 1"
        )
    for mode, name in enumerate(argument.shape):
        if mode in free or mode == inner:
            continue
        stride = strides[mode]
        if stride <= 0 or stride % unit:
            rule = f"must be a positive multiple of {unit} {word} ({argument.alignment} bytes); pad the rows"
            raise CallError(argument.name, f"stride {stride} in {name}", rule)
        if stride * size >= TMA_STRIDES:
            raise CallError(argument.name, f"stride {stride} in {name}", "must be below 2^40 bytes")
    if _written(argument) and not empty:
        _check_no_self_overlap(argument, shape, strides, free)
    if tensor.data_ptr() % argument.alignment:
        rule = f"must be aligned to {argument.alignment} bytes; copy the tensor, or slice at a multiple of it"
        raise CallError(argument.name, f"base address {tensor.data_ptr():#x}", rule)
    reach = max((shape[m] * strides[m] for m in range(len(shape)) if m not in free), default=1)
    legal = [
        (1 if mode == inner else -(-reach // unit) * unit) if mode in free else strides[mode]
        for mode in range(len(shape))
    ]
    return tensor if legal == strides else tensor.as_strided(shape, tuple(legal))


def _check_no_self_overlap(
    argument: Argument, shape: Sequence[int], strides: Sequence[int], free: Sequence[int]
) -> None:
    reach, owner = 1, ""
    for mode in sorted((m for m in range(len(shape)) if m not in free), key=lambda m: strides[m]):
        name = argument.shape[mode]
        if strides[mode] < reach:
            rule = f"must be at least {reach}, so that elements along {name} do not overlap those along {owner}"
            raise CallError(argument.name, f"stride {strides[mode]} in {name}", rule)
        reach, owner = strides[mode] * (shape[mode] - 1) + reach, name
