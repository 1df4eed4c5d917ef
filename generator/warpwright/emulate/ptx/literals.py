"""Numbers as PTX writes them."""

from __future__ import annotations

import functools
import re
import struct

from warpwright.emulate.ptx.syntax import Immediate

_NUMBER = re.compile(  # the bits of a float, of a double; an integer; a decimal
    r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})|(-?(?:0[xX][0-9a-fA-F]+|\d+))U?|(-?\d+\.\d*(?:e[+-]?\d+)?)"
)

_OCTAL = re.compile(r"-?0[0-7]+")


@functools.lru_cache(4096)
def literal(text: str) -> Immediate | None:
    """The number that `text` is, None where it is none. Raises ValueError where it has too many digits."""
    number = None if text[:1] == "%" else _NUMBER.fullmatch(text)
    if number is None:
        return None
    single, double, integer, decimal = number.groups()
    if integer:
        octal = _OCTAL.fullmatch(integer)
        value = int(integer, 8 if octal else 0)
        if not -(1 << 63) <= value < 1 << 64:
            raise ValueError(f"the number {text[:40]} has more than 64 bits")
        return Immediate(value)
    if single:
        return Immediate(int(single, 16), 32)
    if double:
        return Immediate(int(double, 16), 64)
    return Immediate(struct.unpack("<Q", struct.pack("<d", float(decimal)))[0], 64)
