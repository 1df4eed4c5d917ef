"""A built variant as the device host sees it: its plan, its library, and exactly which source and cubin it is.

The folder is either a record, out/<config>/<variant>/ with build.json, or its copy in a bundle with variant.json.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from warpwright.plan.stored import PlanError, plan_from_json
from warpwright.plan.types import Plan

__all__ = ["LIBRARY", "ORIGIN", "Origin", "Variant", "VariantError", "load_variant"]

LIBRARY = "kernel.so"
ORIGIN = "variant.json"


class VariantError(Exception):
    """A variant's folder cannot be used; the message names the file, what is wrong and the way out."""


@dataclass(frozen=True)
class Origin:
    """What a result must say to count: the variant, and the exact source, toolchain and cubin it was built from."""

    config: str
    variant: str  # folder name: label-identity
    source_sha: str
    cubin_sha: str
    library_sha: str  # SHA-256 of kernel.so
    arch: str
    toolchain: Mapping[str, str]
    edited: bool = False  # by a person: what is found out about it says nothing of what the templates give

    def told(self) -> dict[str, Any]:
        """Return what a result says of it; `edited` only where it is."""
        told = asdict(self)
        if not self.edited:
            del told["edited"]
        return told


@dataclass(frozen=True)
class Variant:
    """One variant that can be launched."""

    folder: Path
    plan: Plan
    origin: Origin

    @property
    def name(self) -> str:
        return self.origin.variant

    @property
    def library(self) -> Path:
        return self.folder / LIBRARY


def load_variant(folder: Path) -> Variant:
    """Read a variant's folder. Raises VariantError when a file is missing, damaged or not of the same build."""
    try:
        plan = plan_from_json(_read(folder / "plan.json"))
    except PlanError as error:
        raise VariantError(f"{folder}: {error}") from None
    library = folder / LIBRARY
    if not library.is_file():
        raise VariantError(f"{library}: missing; build the variant first")
    actual = hashlib.sha256(library.read_bytes()).hexdigest()
    if (folder / ORIGIN).is_file():
        try:
            origin = Origin(**_read(folder / ORIGIN))
        except TypeError as error:
            raise VariantError(f"{folder / ORIGIN}: {error}; make the bundle again") from None
        if origin.library_sha != actual:
            raise VariantError(f"{library}: SHA-256 {actual[:12]} is not {origin.library_sha[:12]}; copy it again")
        return Variant(folder, plan, origin)
    build = _read(folder / "build.json")
    missing = [key for key in ("source_sha", "cubin_sha", "toolchain") if key not in build]
    if missing:
        raise VariantError(f"{folder / 'build.json'}: lacks {', '.join(missing)}; build the variant again")
    origin = Origin(
        config=folder.parent.name,
        variant=folder.name,
        source_sha=build["source_sha"],
        cubin_sha=build["cubin_sha"],
        library_sha=actual,
        arch=str(build.get("arch", plan.arch)),
        toolchain=build["toolchain"],
        edited=_edited(folder, build["source_sha"]),
    )
    return Variant(folder, plan, origin)


def _edited(folder: Path, source_sha: str) -> bool:
    """Whether another source was built than was rendered last; False where that is not known."""
    rendered = _read(folder / "rendered.json") if (folder / "rendered.json").is_file() else {}
    return bool(rendered.get("source_sha", source_sha) != source_sha)


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise VariantError(f"{path}: missing; build the variant first") from None
    except ValueError as error:
        raise VariantError(f"{path}: not JSON ({error}); build the variant again") from None
    if not isinstance(value, dict):
        raise VariantError(f"{path}: not a JSON object; build the variant again")
    return value
