"""A bundle as its host finds it: is it whole, is it for this machine, and which of its variants can be run."""

from __future__ import annotations

import json
import lzma
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from warpwright import scratch
from warpwright.cpu import unfit
from warpwright.device.gpu import misfit
from warpwright.device.launch import RUNTIME, RUNTIME_VARIABLE
from warpwright.device.variant import Variant, VariantError, load_variant
from warpwright.epilogue.registry import OPS_VARIABLE
from warpwright.sealed import DamagedError, read_regular

__all__ = [
    "DESCRIPTION", "LIBRARIES", "OPERATIONS", "RESULTS", "RUNTIME_FILE", "VARIANTS", "VERSION", "Bundle",
    "UnusableError", "for_gpu", "open_bundle", "those",
]  # fmt: skip

#: The bundle's layout; raised when a runner could not read an older one.
VERSION = 2
DESCRIPTION, LIBRARIES, VARIANTS, OPERATIONS = "bundle.json", "lib", "variants", "ops"
RUNTIME_FILE = f"{RUNTIME}.xz"
RESULTS = "results.jsonl"
#: Folders that go when this process ends.
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


class UnusableError(Exception):
    """The bundle cannot be run here; the message says why, and what to do."""


@dataclass(frozen=True)
class Bundle:
    """What can be run: the configuration's name, what it says of `validate` and `bench`, the two kernels of a contrast
    where it has one, and the variants that were asked for; and those of them that cannot be run here, with the reason.
    """

    config: str
    validate: Mapping[str, Any]
    bench: Mapping[str, Any]
    contrast: Mapping[str, Any]
    variants: tuple[Variant, ...]
    unusable: Mapping[str, str]


def open_bundle(root: Path, glob: str) -> Bundle:
    """Check and unpack a bundle, and load its variants whose name `glob` matches.

    Tells this process and its children where the DSL's runtime and a user's operations are. Raises UnusableError where
    nothing of it can be run, OSError where there is no room to unpack it.
    """
    described = _describe(root)
    present = [path.name for path in (root / VARIANTS).iterdir()] if (root / VARIANTS).is_dir() else []
    names = [name for name in sorted({*described["variants"], *present}) if fnmatchcase(name, glob)]
    if not names:
        raise UnusableError(f"no variant of the bundle matches {glob!r}; it has {len(described['variants'])}")
    variants, unusable = [], {}
    for name in names:
        try:
            variants.append(_load(root / VARIANTS / name))
        except VariantError as error:
            unusable[name] = str(error)
    if not variants:
        raise UnusableError("; ".join(f"{name}: {why}" for name, why in list(unusable.items())[:3]))
    _prepare(root)
    return Bundle(described["config"], described["validate"], described["bench"], described["contrast"],
                  tuple(variants), unusable)  # fmt: skip


def for_gpu(bundle: Bundle, device: Mapping[str, Any]) -> tuple[Bundle, dict[str, list[Variant]]]:
    """Return the bundle with those of its variants that were built for this GPU, and the others by the reason.

    Raises UnusableError where there are none: nothing is then said of any variant.
    """
    others: dict[str, list[Variant]] = {}
    left = []
    for variant in bundle.variants:
        why = misfit(variant.origin.arch, device)
        if why:
            others.setdefault(why, []).append(variant)
        else:
            left.append(variant)
    if not left:
        raise UnusableError("; ".join(f"{those(found)}: {why}" for why, found in others.items()))
    return replace(bundle, variants=tuple(left)), others


def those(variants: Sequence[Variant]) -> str:
    """Name some variants by the first."""
    return variants[0].name + (f" and {len(variants) - 1} more" if len(variants) > 1 else "")


def _describe(root: Path) -> dict[str, Any]:
    try:
        described = json.loads((root / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UnusableError(f"{root / DESCRIPTION}: {error}; make the bundle again") from None
    if not isinstance(described, dict) or described.get("version") != VERSION:
        found = described.get("version") if isinstance(described, dict) else None
        raise UnusableError(f"the bundle has layout {found!r}, this runner reads {VERSION}; make the bundle again")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if described.get("python") != here:
        made = described.get("python")
        raise UnusableError(f"the bundle is for Python {made}, this is {here}: `warpwright bundle ... --python {here}`")
    for key, holds in _FORMS.items():
        if key not in described or not holds(described[key]):
            value = json.dumps(described.get(key))
            raise UnusableError(
                f"{root / DESCRIPTION}: {key} is {value[:80]}, which it cannot be; make the bundle again"
            )
    return described


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and Path(name).name == name for name in value)


def _problems(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(problem, dict)
        and problem
        and all(type(extent) is int and extent >= 0 for extent in problem.values())
        for problem in value
    )


def _validation(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    problems, repeats = value.get("problems", "standard"), value.get("repeats", 1)
    return (problems == "standard" or _problems(problems)) and type(repeats) is int and repeats >= 1


_FORMS: Mapping[str, Callable[[Any], bool]] = {
    "config": lambda value: isinstance(value, str) and _names([value]),
    "variants": _names,
    "validate": _validation,
    "bench": lambda value: isinstance(value, dict) and _problems(value.get("problems", [])),
    "contrast": lambda value: isinstance(value, dict) and _names([value.get(who, "") for who in ("maker", "reader")]),
}


def _load(folder: Path) -> Variant:
    """Load a variant that this machine can run. Raises VariantError where it is damaged, or needs another CPU."""
    if not folder.is_dir():
        raise VariantError("its folder is missing; copy the bundle again")
    variant = load_variant(folder)
    if variant.name != folder.name:
        raise VariantError(f"its folder holds another variant, {variant.name}; copy the bundle again")
    why = unfit(variant.library)
    if why:
        raise VariantError(why)
    return variant


def _prepare(root: Path) -> None:
    """Unpack the DSL's runtime where it is not there yet, and tell the child process where it and the user's operations
    are. What lies in its place is loaded as native code: another bundle's, say, is replaced."""
    runtime = root / RUNTIME
    try:
        data = lzma.decompress((root / RUNTIME_FILE).read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise UnusableError(f"{root / RUNTIME_FILE}: {error}; copy the bundle again") from None
    if not _holds(runtime, data):
        if not os.access(root, os.W_OK):
            _KEPT.append(scratch.folder("runtime"))
            runtime = Path(_KEPT[-1].name) / RUNTIME
        temporary = scratch.beside(runtime)
        temporary.write_bytes(data)
        temporary.replace(runtime)
    os.environ[RUNTIME_VARIABLE] = str(runtime)
    if (root / OPERATIONS).is_dir():
        os.environ[OPS_VARIABLE] = str(root / OPERATIONS)
    else:
        os.environ.pop(OPS_VARIABLE, None)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_regular(path) == data
    except (FileNotFoundError, DamagedError):
        return False
