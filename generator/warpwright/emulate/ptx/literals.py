"""Numbers as PTX writes them."""

from __future__ import annotations

import re
import struct

from warpwright.emulate.ptx.syntax import Immediate

_NUMBER = re.compile(  # the bits of a float, of a double; an integer; a decimal
    r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})|(-?(?:0[xX][0-9a-fA-F]+|\d+))U?|(-?\d+\.\d*(?:e[+-]?\d+)?)"
)


def literal(text: str) -> Immediate | None:
    """The number that `text` is, None where it is none."""
    number = None if text[:1] == "%" else _NUMBER.fullmatch(text)
    if number is None:
        return None
    single, double, integer, decimal = number.groups()
    if integer:
        return Immediate(int(integer, 0))
    if single:
        return Immediate(int(single, 16), 32)
    if double:
        return Immediate(int(double, 16), 64)
    return Immediate(struct.unpack("<Q", struct.pack("<d", float(decimal)))[0], 64)
