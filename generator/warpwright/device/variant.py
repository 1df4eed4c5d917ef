"""A built variant as the device host sees it: its plan, its library, and exactly which source and cubin it is.

The folder is either a record, out/<config>/<variant>/ with build.json, or its copy in a bundle with variant.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.plan.stored import PlanError, plan_from_json
from warpwright.plan.types import Plan
from warpwright.sealed import Built, DamagedError, load_built, load_record, read_regular, sha256

__all__ = ["LIBRARY", "ORIGIN", "PLAN_SHA", "Origin", "Variant", "VariantError", "load_variant"]

LIBRARY = "kernel.so"
ORIGIN = "variant.json"
#: In variant.json, the digest of the plan beside it.
PLAN_SHA = "plan_sha"


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
    """Read a variant's folder. Raises VariantError when a file is missing, changed or not of the same build."""
    bundled = (folder / ORIGIN).exists()
    try:
        if bundled:
            return _bundled(folder)
        built = load_built(folder)
        plan = _plan(folder, built.plan())
        built.read(LIBRARY)
        return Variant(folder, plan, _origin(folder, built, plan))
    except DamagedError as error:
        told = f"{error.path}: {error.what}; copy the bundle again" if bundled else str(error)
        raise VariantError(told) from None
    except FileNotFoundError as error:
        way = "copy the bundle again" if bundled else "build the variant first"
        raise VariantError(f"{error.filename}: missing; {way}") from None
    except RecursionError:
        raise VariantError(f"{folder}: nested too deeply; build the variant again") from None


def _bundled(folder: Path) -> Variant:
    stored = load_record(folder / "plan.json").value
    told = load_record(folder / ORIGIN).value
    if told.pop(PLAN_SHA, None) != digest(stored):
        raise VariantError(f"{folder / 'plan.json'}: it is not the plan that was packed; copy the bundle again")
    wrong = [field.name for field in fields(Origin) if not _fits(field.name, told.get(field.name, field.default))]
    if wrong or set(told) - {field.name for field in fields(Origin)}:
        what = f"{wrong[0]} is not what it must be" if wrong else "it says what no variant does"
        raise VariantError(f"{folder / ORIGIN}: {what}; make the bundle again")
    origin = Origin(**told)
    actual = sha256(read_regular(folder / LIBRARY))
    if origin.library_sha != actual:
        raise VariantError(f"{folder / LIBRARY}: SHA-256 {actual[:12]} is not {origin.library_sha[:12]}; copy it again")
    return Variant(folder, _plan(folder, stored), origin)


def _fits(name: str, value: object) -> bool:
    if name == "edited":
        return isinstance(value, bool)
    if name == "toolchain":
        return isinstance(value, dict) and all(isinstance(version, str) for version in value.values())
    return isinstance(value, str)


def _origin(folder: Path, built: Built, plan: Plan) -> Origin:
    missing = [key for key in ("source_sha", "cubin_sha", "toolchain") if key not in built.record]
    if missing:
        raise VariantError(f"{folder / 'build.json'}: lacks {', '.join(missing)}; build the variant again")
    return Origin(
        config=folder.parent.name,
        variant=folder.name,
        source_sha=built.record["source_sha"],
        cubin_sha=built.record["cubin_sha"],
        library_sha=built.files[LIBRARY],
        arch=str(built.record.get("arch", plan.arch)),
        toolchain=built.record["toolchain"],
        edited=_edited(folder, built.record["source_sha"]),
    )


def _edited(folder: Path, source_sha: str) -> bool:
    """Whether another source was built than was rendered last; False where that is not known."""
    try:
        return bool(load_record(folder / "rendered.json").value.get("source_sha", source_sha) != source_sha)
    except FileNotFoundError:
        return False


def _plan(folder: Path, value: Mapping[str, Any]) -> Plan:
    try:
        return plan_from_json(value)
    except PlanError as error:
        raise VariantError(f"{folder}: {error}") from None
