"""What an unquoted YAML scalar means, and which ones mean different things to different readers.

YAML 1.1 (which PyYAML follows) and YAML 1.2 (which most editors follow) disagree about `no`, `010`, `1e3` and
`2:1`. A value that two tools read differently is refused instead of read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Surprise", "read_plain"]

Scalar = str | int | float | bool | None

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*|\.[0-9]+")
_LONGEST_INT = 19  # characters: beyond this nothing fits in 64 bits, and Python refuses the conversion at 4,300


@dataclass(frozen=True)
class Surprise:
    """Why a scalar is refused; `instead` is what its writer most likely meant."""

    rule: str
    instead: str


_BOOL_11 = re.compile(r"(?i:yes|no|on|off)")
_OCTAL = re.compile(r"[-+]?0[0-9_]+")
_RADIX = re.compile(r"[-+]?0[xXoObB][0-9a-fA-F_]+")
_SIGNED_POINT = re.compile(r"([-+])(\.[0-9]+)")
_UNDERSCORES = re.compile(r"(?=.*_)[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_EXPONENT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
_NOT_FINITE = re.compile(r"(?i:[-+]?\.inf|\.nan)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")


def _exponent_in_digits(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    if len(exponent) > 3 or abs(int(exponent)) > 18:
        return ""
    value = float(f"{mantissa}e{exponent}")
    return str(int(value)) if value.is_integer() else ""


def read_plain(text: str) -> Scalar | Surprise:
    """Return the value of an unquoted scalar, or why it has none that every YAML reader agrees on."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if not text[0].isdigit() and text[0] not in "+-.yYnNoO":
        return text
    if _INT.fullmatch(text):
        if len(text) > _LONGEST_INT:
            return Surprise("too large for a 64-bit number", "")
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _surprise(text) or text


def _surprise(text: str) -> Surprise | None:
    if _BOOL_11.fullmatch(text):
        truth = "true" if text.lower() in ("yes", "on") else "false"
        return Surprise(f"YAML 1.1 reads {text} as {truth}, YAML 1.2 as text", f'"{text}"')
    if _OCTAL.fullmatch(text):
        digits = text.lstrip("+-").replace("_", "").lstrip("0") or "0"
        sign = "-" if text[0] == "-" else ""
        return Surprise("YAML 1.1 reads a leading 0 as octal, YAML 1.2 as decimal", sign + digits)
    if _RADIX.fullmatch(text):
        return Surprise("numbers are written in decimal", "")
    if _UNDERSCORES.fullmatch(text):
        return Surprise("YAML 1.1 reads this as a number, YAML 1.2 as text", text.replace("_", ""))
    signed = _SIGNED_POINT.fullmatch(text)
    if signed:
        plain = f"{signed[1].replace('+', '')}0{signed[2]}"
        return Surprise("YAML 1.1 reads a sign before a point as text, YAML 1.2 as a number", plain)
    if _SEXAGESIMAL.fullmatch(text):
        return Surprise("YAML 1.1 reads this as a number in base 60, YAML 1.2 as text", f'"{text}"')
    if _EXPONENT.fullmatch(text):
        digits = _exponent_in_digits(text)
        return Surprise("YAML 1.1 reads most exponents as text, YAML 1.2 as numbers", digits)
    if _NOT_FINITE.fullmatch(text):
        return Surprise("not a finite number", "")
    if _DATE.fullmatch(text):
        return Surprise("YAML 1.1 reads this as a date, YAML 1.2 as text", f'"{text}"')
    return None
