"""What people type who know other tools, and what it is called here, or that it is not offered.

Words of one family are the family's own (`Family.elsewhere`); these are common to all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright import families
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.yaml_nodes import Path
from warpwright.text import shortened

__all__ = ["choice", "family", "family_of_names", "field_for", "key", "path_of", "told_of_value"]

#: Keys, and the field or the sentence that they lead to.
_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("grid", "grid_search", "matrix", "space", "search_space", "params", "parameters"), "sweep"),
    **dict.fromkeys(("constraint", "constraints", "filter", "filters", "when", "require", "exclude"), "where"),
    **dict.fromkeys(("problem", "problems", "shape", "shapes", "sizes", "benchmark", "perf"), "bench.problems"),
    **dict.fromkeys(("description", "desc", "comment", "title", "summary"), "purpose"),
    **dict.fromkeys(("device", "gpu", "sm", "compute_capability", "architecture"), "kernel.arch"),
    **dict.fromkeys(("repeat", "repeats", "iterations", "iters", "runs"), "validate.repeats"),
    **dict.fromkeys(("tolerance", "rtol", "atol", "tol"), "tolerances follow from the arithmetic, and are not given"),
}

_OLDER = "it is older than Hopper, whose TMA and asynchronous MMA every kernel here is made of"
_OWN = "an operation of your own is one file: docs/epilogue.md"
_MMA = "no MMA of that type is planned yet"
_NOT_HERE = "this field has no such type"
_NO_KERNELS = "this family has no kernels for it"
#: By the last key of a field: words, and the value or the reason for which there is none.
_VALUES: Mapping[str, Mapping[str, str]] = {
    "dtype": {
        **dict.fromkeys(("half", "fp16", "float16"), "f16"),
        **dict.fromkeys(("bfloat16", "bfloat"), "bf16"),
        **dict.fromkeys(("float", "float32", "fp32", "single"), "f32"),
        **dict.fromkeys(("tfloat32", "tensorfloat32"), "tf32"),
        **dict.fromkeys(("float8_e4m3fn", "float8_e4m3", "fp8_e4m3", "fp8e4m3", "f8e4m3", "e4m3fn"), "e4m3"),
        **dict.fromkeys(("float8_e5m2", "fp8_e5m2", "fp8e5m2", "f8e5m2"), "e5m2"),
        **dict.fromkeys(("int8", "s8", "int8_t"), "i8"),
        **dict.fromkeys(("int32", "s32", "int32_t"), "i32"),
        **dict.fromkeys(("mxfp8_e4m3", "mxf8e4m3", "mx_float8_e4m3"), "mxf8_e4m3"),
        **dict.fromkeys(("mxfp8_e5m2", "mxf8e5m2", "mx_float8_e5m2"), "mxf8_e5m2"),
        **dict.fromkeys(("mxfp4", "mxf4_e2m1", "mx_float4_e2m1"), "mxf4"),
        **dict.fromkeys(("nvfp4", "nv_float4", "mxf4nvf4"), "nvf4"),
        **dict.fromkeys(("fp8", "f8", "float8", "mxfp8", "fp4", "f4", "float4", "float4_e2m1fn", "e2m1"), _NOT_HERE),
        **dict.fromkeys(("fp6", "mxfp6", "u8", "uint8", "int4", "s4", "u4"), _MMA),
        **dict.fromkeys(("f64", "fp64", "float64", "double"), _MMA),
    },
    "arch": {
        **dict.fromkeys(("sm_90", "sm90", "sm90a", "hopper", "h100", "h200", "h800", "gh200"), "sm_90a"),
        **dict.fromkeys(("sm_70", "sm_75", "sm_80", "sm80", "sm_86", "sm_89", "ampere", "a100", "ada"), _OLDER),
        **dict.fromkeys(("sm_100", "sm_100f", "sm100", "sm100a", "blackwell", "b100", "b200", "gb200"), "sm_100a"),
        **dict.fromkeys(("sm_103", "sm103", "sm103a", "b300", "gb300", "blackwell_ultra"), "sm_103a"),
        **dict.fromkeys(("sm_110", "sm110", "sm110a", "sm_101a", "thor"), "sm_110a"),
        **dict.fromkeys(("sm_120", "sm120", "sm120a", "sm_121", "sm_121a", "rtx_5090"), "sm_120a"),
    },
    "epilogue": {
        "swish": "silu",
        **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_approximate", "gelu_pytorch_tanh"), "gelu_tanh"),
        **dict.fromkeys(("gelu_exact", "gelu_none"), "gelu_erf"),
        **dict.fromkeys(("scale", "mul", "multiply"), "alpha"),
        **dict.fromkeys(("residual", "add", "add_c", "beta", "accumulate"), "beta_c"),
        **dict.fromkeys(("sigmoid", "tanh", "leaky_relu", "relu6", "elu", "softplus", "hardswish", "clamp"), _OWN),
    },
}  # fmt: skip


def key(fields: Fields, path: Path) -> tuple[str, str]:
    """What an unknown key is called here: the key beside it, or else a sentence; ("", "") where nothing is known."""
    around, word = path[:-1], str(path[-1])
    found = _only_field(fields, word)
    if not found and (alike := nearest_name(word, fields.keys(around), 0.8)):
        return alike, ""
    if not found and (len(word) > 1 or around in ((), ("kernel",))):  # m of a kernel is an extent; of a cluster, a slip
        found = path_of(fields, word)
    if not found:
        return "", ""
    if " " in found:
        return "", found
    *parents, last = found.split(".")
    if tuple(parents) == around and last in fields.keys(around):
        return last, ""
    return "", f"here it is {found}"


def family(word: str) -> str:
    """The family that a word of other tools means, "" where it means none."""
    plain = _plain(word)
    return next((name for name in families.NAMES if plain in families.family(name).known_as), "")


def field_for(fields: Fields, path: str) -> str:
    """The same for a dotted path, of which the last key counts; "" where that is a key here as well."""
    last = path.rpartition(".")[2]
    return "" if any(known.rpartition(".")[2] == last for known in fields.paths) else path_of(fields, last)


def path_of(fields: Fields, word: str) -> str:
    """The field, or the sentence, that a key of other tools leads to; "" where it is none."""
    plain = _plain(word)
    own = families.family(fields.family).elsewhere
    return own.get(plain) or _KEYS.get(plain, "")


def _only_field(fields: Fields, word: str) -> str:
    """The one field of that name, wherever it is."""
    found = [path for path in fields.paths if path.rpartition(".")[2] == word and len(word) > 1]
    return found[0] if len(found) == 1 else ""


def choice(fields: Fields, path: Path, word: str) -> str:
    """The choice of a field that a word of other tools means, "" where it means none."""
    found = _value(path, word)
    return found if found in fields.choices(path) else ""


def told_of_value(fields: Fields, path: Path, value: Any) -> str:
    """What a message adds where a word means nothing here, or more than one thing."""
    several = isinstance(value, tuple) or (isinstance(value, dict) and {"from", "to"} <= value.keys())
    if several and path[0] == "design" and not fields.kinds(path) & {"list", "mapping"}:
        return ": several values stand in `sweep`"
    if not isinstance(value, str):
        return ""
    meant = family_of_names(value, fields.choices(path))
    if len(meant) > 1:
        return f": {shortened(value)} is {' or '.join(meant)}"
    own = families.family(fields.family).values
    if sentence := own.get(_table(path), {}).get(_plain(value)):
        return f": {sentence}"
    found, not_here = _value(path, value), _NO_KERNELS if _table(path) == "arch" else _NOT_HERE
    if _plain(value) in _VALUES.get(_table(path), {}).values():  # a type's own word, where others are taken
        found = not_here
    if found and (" " in found or found not in fields.choices(path)):
        found = found if " " in found else not_here
        return f": {shortened(value)} is not offered, {found}" if found != _OWN else f": {found}"
    return ""


def family_of_names(word: str, names: Sequence[Any]) -> list[str]:
    """The names that begin with a whole word: those of gelu are gelu_erf and gelu_tanh."""
    return [name for name in names if isinstance(name, str) and word and name.startswith(f"{_plain(word)}_")]


def _value(path: Path, word: str) -> str:
    return _VALUES.get(_table(path), {}).get(_plain(word), "")


def _table(path: Path) -> str:
    """Whose words a field takes: those of its last key."""
    last = next((step for step in reversed(path) if isinstance(step, str)), "")
    return {"op": "epilogue", "accumulator": "dtype"}.get(last, last)


def _plain(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word[:60].strip().lower())
