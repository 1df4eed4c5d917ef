"""The arrow that needs nothing but a CPU: emulate built variants, in parallel, and record each verdict as it comes.

A result is bound to the PTX that was run and to the emulator that ran it. What is recorded is not done again, and a
run that finds everything recorded imports nothing heavy.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright.canonical import digest
from warpwright.record import METHODS
from warpwright.record.atomic import read_json, write_json

if TYPE_CHECKING:
    from warpwright.pipeline import Exploration, Variant

__all__ = ["PROTOCOL", "emulate", "emulate_folder", "emulator_digest", "recorded", "to_emulate"]

#: Version of the method: what is run and what is checked. A result of another version is of another worth.
PROTOCOL = 1
_FILE = METHODS["emulated"]
_PACKAGE = Path(__file__).resolve().parent
#: Modules whose change can change a verdict, besides the emulator itself.
_ALSO = ("device/problems.py", "device/reference.py", "device/tensors.py", "device/tolerance.py", "device/xp.py")


def to_emulate(exploration: Exploration, again: bool = False) -> list[Variant]:
    """Return the variants that are built and, unless `again`, have no result of this emulator for this build."""
    built = [v for v in exploration.legal if any(e.method == "built" for e in v.judgement.valid)]
    return [
        variant
        for variant in built
        if (again or recorded(variant.folder.path) is None) and _facts(variant.folder.path) is not None
    ]


def emulate(variants: Sequence[Variant], jobs: int | None, on_step: Callable[[], None]) -> list[str]:
    """Emulate variants in at most `jobs` processes (one per core without) and record each verdict.

    Returns, in words, what could not be emulated: that is no verdict.
    """
    from warpwright.emulate.parallel import each

    answers = each(emulate_folder, [variant.folder.path for variant in variants], jobs, on_step)
    return [f"{v.name}: {answer.error}" for v, answer in zip(variants, answers, strict=True) if answer.error]


def emulate_folder(folder: Path) -> dict[str, Any]:
    """Emulate one folder's build in this process, record the verdict and return what emulated.json then says.

    Raises EmulatorError or PtxError where it cannot be emulated.
    """
    from warpwright.emulate import EmulatorError, harness
    from warpwright.emulate.places import find_places

    facts = _facts(folder)  # first: a build that changes meanwhile makes the result stale
    if facts is None:
        raise EmulatorError(f"{folder}: nothing is built there; build the variant first")
    verdict = harness.emulate(harness.load(folder))
    if verdict.defects:
        verdict = verdict.located(find_places(folder))
    value = {
        **facts,
        "status": verdict.status,
        "diagnosis": verdict.diagnosis,
        "figures": verdict.figures,
        "seconds": round(verdict.seconds, 3),
        "rate": round(verdict.rate),
    }
    write_json(folder / _FILE, value)
    return value


def recorded(folder: Path) -> Mapping[str, Any] | None:
    """Return what emulated.json says if it is for exactly this build and by exactly this emulator, else None."""
    found, facts = read_json(folder / _FILE), _facts(folder)
    if found is None or facts is None or any(found.get(key) != value for key, value in facts.items()):
        return None
    return found


def _facts(folder: Path) -> dict[str, Any] | None:
    """What a result for the folder's build must say it is for; None where there is no finished build."""
    build = read_json(folder / METHODS["built"]) or {}
    try:
        ptx = (folder / "kernel.ptx").read_bytes()
        facts = {key: build[key] for key in ("source_sha", "arch", "toolchain", "cubin_sha")}
    except (KeyError, OSError):
        return None
    return {**facts, "ptx_sha": hashlib.sha256(ptx).hexdigest(), "emulator": emulator_digest(), "protocol": PROTOCOL}


@functools.cache
def emulator_digest() -> str:
    """Digest of the code that a verdict depends on."""
    files = [*sorted((_PACKAGE / "emulate").glob("*.py")), *(_PACKAGE / name for name in _ALSO)]
    files += sorted((_PACKAGE / "epilogue" / "ops").glob("*.py"))
    return digest({str(path.relative_to(_PACKAGE)): path.read_text(encoding="utf-8") for path in files})[:16]
