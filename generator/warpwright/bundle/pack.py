"""Packing: everything that a GPU host with python3, torch and numpy needs to validate and time built variants."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warpwright
from warpwright import scratch
from warpwright.bundle.contents import needed_modules
from warpwright.bundle.dependencies import check_python, compressed_runtime, tvm_ffi_files, tvm_ffi_version
from warpwright.canonical import plain
from warpwright.device.cases import CASES
from warpwright.device.launch import RUNTIME
from warpwright.device.opening import DESCRIPTION, LIBRARIES, OPERATIONS, RESULTS, RUNTIME_FILE, VARIANTS, VERSION
from warpwright.device.variant import LIBRARY, ORIGIN, PLAN_SHA, Origin, VariantError, load_variant
from warpwright.epilogue import registry
from warpwright.errors import UserError
from warpwright.sealed import load_built, seal, sha256

__all__ = ["Packed", "copy_generator", "make_bundle"]

_PACKAGE = Path(warpwright.__file__).parent
_RUNNER = "run.py"
#: What becomes of it: a script of its own, which imports nothing of this package ahead of its checks.
_START = Path(__file__).with_name("start.py")
#: How many of the variants that cannot be packed are named where none can.
_TOLD = 3
#: What a bundle consists of: all else in its folder is somebody's.
_LAYOUT = {DESCRIPTION, LIBRARIES, OPERATIONS, RUNTIME, RUNTIME_FILE, VARIANTS, CASES, _RUNNER}


@dataclass(frozen=True)
class Packed:
    """A finished bundle: its folder, its variants, those left out and why, its size in bytes, and, where cases were
    asked for, which variants have none and why; likewise twins. `kept` are files that lay in the bundle before it, such
    as results; `edited` are variants whose source is a person's work."""

    directory: Path
    variants: tuple[str, ...]
    left_out: Mapping[str, str]
    size: int
    without_cases: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    without_twins: Mapping[str, str] = field(default_factory=dict)


def make_bundle(
    config_dir: Path,
    variants: Sequence[str] | None,
    directory: Path,
    *,
    validate: Mapping[str, Any] | None = None,
    bench: Mapping[str, Any] | None = None,
    python: str = "3.12",
    wheel: Path | None = None,
    cases: Callable[[Sequence[Path], Path], Mapping[str, str]] | None = None,
    twins: Callable[[Sequence[Path], Path], Mapping[str, str]] | None = None,
    beside: Sequence[Path] = (),
    contrast: Mapping[str, Any] | None = None,
) -> Packed:
    """Pack variants of out/<config> into `directory`, which is made, or replaced where it is a bundle.

    What a person or a run has put there since stays; results of the bundle before it get a name of their own.

    `variants` are folder names; None packs all that are built and that the build's checks do not speak against.
    `validate` is {"problems": "standard" | [extents], "repeats": n}, `bench` {"problems": [extents]}, both as in the
    YAML file, with every extent. `python` is the GPU host's version; `wheel` apache-tvm-ffi's for it, where pip cannot
    fetch it.
    `beside` are folders of built variants of other configurations; `contrast` says which two kernels are timed on two
    streams, and how (`device.contrast.of_bundle`).
    `cases(folders, bundle)` adds cases of the emulator (`bundle.cases`), `twins` instrumented twins (`bundle.twins`):
    each says which variant has none.
    Raises UserError when nothing can be packed or the directory is something else.
    """
    check_python(python)
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; a bundle is a folder: name another")
    if directory.exists() and not (directory / DESCRIPTION).is_file() and any(directory.iterdir()):
        raise UserError(f"{directory} exists and is not a bundle; name another folder or remove it")
    chosen, left_out = _choose(config_dir, variants)
    if not chosen:
        reasons = [f"{name}: {why}" for name, why in sorted(left_out.items())] or ["it has no variants"]
        more = f"; and {len(reasons) - _TOLD} more" if len(reasons) > _TOLD else ""
        raise UserError(
            f"{config_dir}: nothing to pack ({'; '.join(reasons[:_TOLD])}{more}); "
            f"`warpwright run {config_dir.name}` builds its variants"
        )
    folders = [config_dir / name for name in chosen] + list(beside)
    temporary, edited = scratch.beside(directory), list[str]()
    try:
        copy_generator(temporary / LIBRARIES)
        for name, data in tvm_ffi_files(python, wheel).items():
            _write(temporary / LIBRARIES / name, data)
        _write(temporary / RUNTIME_FILE, compressed_runtime())
        for folder in folders:
            if _copy_variant(folder, temporary / VARIANTS / folder.name).edited:
                edited.append(folder.name)
        _copy_operations(temporary / OPERATIONS)
        missing = cases(folders, temporary) if cases else {}
        twinless = twins(folders, temporary) if twins else {}
        description = {
            "version": VERSION,
            "config": config_dir.name,
            "python": python,
            "tvm_ffi": tvm_ffi_version(),
            "validate": dict(validate or {}),
            "bench": dict(bench or {}),
            "contrast": dict(contrast or {}),
            "variants": [folder.name for folder in folders],
            "edited": edited,
            "files": _digests(temporary),
        }
        # Not sorted: a problem's extents keep the order in which a person names them.
        _write(temporary / DESCRIPTION, json.dumps(plain(description), indent=1).encode())
        _write(temporary / _RUNNER, _START.read_bytes())
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
        kept = _keep(directory, temporary)
        _replace(temporary, directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    names = tuple(folder.name for folder in folders)
    return Packed(directory, names, left_out, size, missing, kept, tuple(edited), twinless)


def _choose(config_dir: Path, variants: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    left_out: dict[str, str] = {}
    chosen = []
    if variants is None and not config_dir.is_dir():
        raise UserError(f"{config_dir}: there is no such folder; build the configuration first")
    for name in variants if variants is not None else sorted(p.name for p in config_dir.iterdir() if p.is_dir()):
        folder = config_dir / name
        try:
            load_variant(folder)
        except VariantError as error:
            left_out[name] = str(error)
            continue
        status = load_built(folder).record.get("status")
        if variants is None and status not in (None, "correct", "degraded"):
            left_out[name] = f"the build's checks call it {status}; name it to pack it all the same"
        else:
            chosen.append(name)
    return chosen, left_out


def _copy_variant(source: Path, target: Path) -> Origin:
    variant = load_variant(source)
    for name in ("plan.json", LIBRARY):
        _write(target / name, (source / name).read_bytes())
    told = {**plain(variant.origin), PLAN_SHA: load_built(source).record["plan_sha"]}
    _write(target / ORIGIN, seal(json.dumps(told, indent=1, sort_keys=True)).encode())
    return variant.origin


def _digests(bundle: Path) -> dict[str, str]:
    """SHA-256 of what run.py and all variants need, by path in the bundle; variants and cases say of themselves."""
    paths = [bundle / RUNTIME_FILE, *(p for part in (LIBRARIES, OPERATIONS) for p in (bundle / part).rglob("*"))]
    return {path.relative_to(bundle).as_posix(): sha256(path.read_bytes()) for path in sorted(paths) if path.is_file()}


def copy_generator(target: Path, *more: str) -> None:
    """Copy what a GPU host imports of this package to `target`/warpwright: none of it needs more than numpy.

    `more` are further modules, by path below the package.
    """
    for path in needed_modules(*more):
        _write(target / "warpwright" / path, (_PACKAGE / path).read_bytes())


def _copy_operations(target: Path) -> None:
    """A user's own epilogue operations; the package's own lie with the generator."""
    for folder in registry.folders()[1:]:
        for path in sorted(folder.glob("*.py")):
            _write(target / path.name, path.read_bytes())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)  # below a temporary folder, which is renamed as a whole


def _keep(directory: Path, temporary: Path) -> tuple[str, ...]:
    """Take over what is no part of the older bundle, by name: its results, and what a person has put there.

    The files are linked, so that what a run still appends is there as well.
    """
    kept = []
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.name in _LAYOUT or path.name.startswith(f".{RUNTIME}"):
            continue
        target = temporary / (_unused(directory) if path.name == RESULTS else path.name)
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, target, symlinks=True, copy_function=_link)
        else:
            _link(path, target)
        kept.append(target.name)
    return tuple(kept)


def _unused(directory: Path) -> str:
    """A name for an older bundle's results that nothing there has."""
    stem, suffix = RESULTS.split(".")
    return next(name for n in itertools.count(1) if not (directory / (name := f"{stem}-{n}.{suffix}")).exists())


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target, follow_symlinks=False)


def _replace(temporary: Path, directory: Path) -> None:
    """Put the finished folder in place; an older bundle is moved away first and removed last."""
    old = directory.with_name(f".{directory.name}.{secrets.token_hex(6)}.old")  # not to be swept until it is replaced
    existed = directory.exists()
    if existed:
        directory.rename(old)
    os.replace(temporary, directory)
    if existed:
        shutil.rmtree(old.rename(scratch.beside(directory)), ignore_errors=True)
