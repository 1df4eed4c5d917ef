"""A program that declares what is to be checked instead of doing it: a value called `check`, a mapping.

    check = {
        "function": softmax,                  # a function made by @cute.jit
        "arguments": [x, y],                  # numpy arrays (or whatever the function takes), in order
        "outputs": {"y": y},                  # those that it must write, by name
        "reference": lambda: {"y": expected}, # what they should be; a mapping, or one array for one output
        "rtol": 1e-3, "atol": 0.0,
    }

A list of such mappings declares several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.checking.errors import CheckError

__all__ = ["run_declared"]

_KEYS = {"function": True, "arguments": True, "outputs": False, "reference": False, "rtol": False, "atol": False}


def run_declared(gpu: Any, names: Mapping[str, Any]) -> None:
    """Run what a program's `check` declares, nothing where there is none. Raises CheckError where it cannot be."""
    declared = names.get("check")
    if isinstance(declared, Mapping):
        declared = [declared]
    if isinstance(declared, Sequence) and declared and all(isinstance(each, Mapping) for each in declared):
        for each in declared:
            _run(gpu, each)
    elif declared is not None and not gpu.launches and isinstance(declared, (Sequence, int, float)):
        raise CheckError(f"check is {declared!r}: it must be a mapping with {', '.join(_KEYS)}, or a list of such")


def _run(gpu: Any, declared: Mapping[str, Any]) -> None:
    from cutlass import cute

    unknown = [key for key in declared if key not in _KEYS]
    missing = [key for key, needed in _KEYS.items() if needed and key not in declared]
    if unknown or missing:
        what = f"unknown key {unknown[0]!r}" if unknown else f"no {missing[0]!r}"
        raise CheckError(f"check: {what}; it has {', '.join(_KEYS)}")
    arguments = [gpu.tensor(each) for each in declared["arguments"]]
    cute.compile(declared["function"], *arguments)(*arguments)
    outputs, reference = declared.get("outputs", {}), declared.get("reference")
    if not isinstance(outputs, Mapping):
        raise CheckError("check: the outputs must be a mapping, name to array")
    if reference is not None:
        expected = reference() if callable(reference) else reference
        if not isinstance(expected, Mapping):
            if len(outputs) != 1:
                raise CheckError(f"check: the reference returns one array, there are {len(outputs)} outputs")
            expected = dict.fromkeys(outputs, expected)
        if expected.keys() != outputs.keys():
            has, wanted = (", ".join(map(repr, each)) for each in (expected, outputs))
            raise CheckError(f"check: the reference has {has or 'nothing'}, the outputs are {wanted or 'none'}")
        for name, array in outputs.items():
            gpu.check(name, array, expected[name], declared.get("rtol", 0.0), declared.get("atol", 0.0))
    else:
        for name, array in outputs.items():
            gpu.check(name, array, array)
