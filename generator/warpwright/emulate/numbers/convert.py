"""The `cvt` instruction: which conversions are emulated, and how."""

from __future__ import annotations

from warpwright.emulate.numbers.operation import INTEGERS, Operation

_RANGE = {"s8": 8, "u8": 8, **{k: v for k, v in INTEGERS.items() if k[0] != "b"}}


def conversion(parts: tuple[str, ...]) -> Operation | None:
    """`cvt.<modifiers>.<destination>.<source>`, or None where it is not emulated."""
    target, source, mods = parts[-2], parts[-1], set(parts[1:-2])
    if target in _RANGE and source in _RANGE:
        return _between_integers(target, source) if not mods else _clamped(target, source) if mods == {"sat"} else None
    if source == "f32" and target in _RANGE:
        bits, signed = _RANGE[target], target[0] == "s"
        mode = next((m for m in mods if m in ("rni", "rzi", "rmi", "rpi")), None)
        value = "ftz({0})" if "ftz" in mods else "{0}"
        if mode is None:
            return None
        return Operation(_held(target), ("f32",), f"round_to_int({value},'{mode}',{bits},{signed})")
    if target == "f32" and source in _RANGE and mods == {"rn"}:
        return Operation("f32", (_held(source),), f"np.asarray({_extended(source)}).astype(np.float32)")
    if target == "f16" and source in _RANGE and mods == {"rn"}:
        exact = f"np.asarray({_extended(source)}).astype(np.float64)"  # where it is not, float16 is infinite
        return Operation("u16", (_held(source),), f"{exact}.astype(np.float16).view(np.uint16)")
    if target == "f32" and source in ("f16", "bf16"):
        return Operation("f32", ("u16",), f"from_half({{0}},'{source}')") if not mods - {"ftz"} else None
    if target == "f32" and source == "f32" and mods & {"rni", "rzi", "rmi", "rpi"} and "sat" not in mods:
        function = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[next(m for m in mods if m != "ftz")]
        return Operation("f32", ("f32",), f"np.{function}(floats({'ftz({0})' if 'ftz' in mods else '{0}'}))")
    if target == "f32" and source == "f32" and mods <= {"ftz", "sat"}:
        text = "ftz({0})" if "ftz" in mods else "floats({0})"
        return Operation("f32", ("f32",), f"saturate({text})" if "sat" in mods else text)
    if source == "f32" and target == "tf32" and mods == {"rna"}:
        return Operation("u32", ("f32",), "f32_to_tf32({0})")
    return _narrow(target, source, mods)


def _narrow(target: str, source: str, mods: set[str]) -> Operation | None:
    relu = "relu" in mods
    if source == "f32" and target in ("f16", "bf16", "f16x2", "bf16x2") and mods - {"relu", "satfinite"} == {"rn"}:
        kind = target.removesuffix("x2")
        one, other = (f"relu({{{i}}})" if relu else f"{{{i}}}" for i in (0, 1))
        if "satfinite" in mods:
            one, other = (f"satfinite({value},'{kind}')" for value in (one, other))
        if target == kind:
            return Operation("u16", ("f32",), f"to_half({one},'{kind}')")
        return Operation("u32", ("f32", "f32"), f"halves({one},{other},'{kind}')")
    if source == "f32" and target in ("e4m3x2", "e5m2x2") and mods - {"relu"} == {"rn", "satfinite"}:
        both = "relu({0}),relu({1})" if relu else "{0},{1}"
        return Operation("u16", ("f32", "f32"), f"f32_to_f8x2({both},'{target[:-2]}')")
    if target == "f16x2" and source in ("e4m3x2", "e5m2x2") and mods == {"rn"}:
        return Operation("u32", ("u16",), f"f8x2_to_f16x2({{0}},'{source[:-2]}')")
    return None


def _held(kind: str) -> str:
    """8-bit values live in 16-bit registers."""
    return kind[0] + "16" if kind in ("s8", "u8") else kind


def _extended(source: str) -> str:
    """The operand; of 8 bits, the low ones of its register."""
    return {"u8": "({0}&0xFF)", "s8": "((({0}&0xFF)^0x80)-0x80)"}.get(source, "{0}")


def _clamped(target: str, source: str) -> Operation:
    """cvt.sat between integers: to the range of the target; rare, so lane by lane."""
    held = _held(target)
    text = f"clamped({{0}},{_RANGE[source]},{source[0] == 's'},{_RANGE[target]},{target[0] == 's'})"
    return Operation("u" + held[1:], ("u" + _held(source)[1:],), text)


def _between_integers(target: str, source: str) -> Operation:
    value, held = _extended(source), _held(target)
    if target in ("s8", "u8"):
        value = f"({value}&0xFF)" if target == "u8" else f"((({value}&0xFF)^0x80)-0x80)"
    dtype = ("int" if held[0] == "s" else "uint") + held[1:]
    mask = (1 << INTEGERS[held]) - 1
    return Operation(held, (_held(source),), f"np.asarray({value}).astype(np.{dtype})", f"{value}&{mask:#x}")
