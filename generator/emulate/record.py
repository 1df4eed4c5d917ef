"""emulated.json: the verdict of emulation, bound to the PTX that was run and to the emulator that ran it.

Nothing here imports the emulator: a run that finds everything recorded must start at once.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generator.canonical import digest
from generator.record import METHODS
from generator.record.atomic import read_json, write_json

if TYPE_CHECKING:
    from generator.emulate.verdict import Verdict

__all__ = ["FILE", "PROTOCOL", "emulator_digest", "recorded", "subject_facts", "write"]

FILE = METHODS["emulated"]
#: Version of the method: what is run and what is checked. A result of another version is of another worth.
PROTOCOL = 1
_GENERATOR = Path(__file__).resolve().parent.parent
#: Modules whose change can change a verdict, besides this package.
_ALSO = ("device/problems.py", "device/reference.py", "device/tensors.py", "device/tolerance.py", "device/xp.py")


@functools.cache
def emulator_digest() -> str:
    """Digest of the code that a verdict depends on."""
    files = [*sorted((_GENERATOR / "emulate").glob("*.py")), *(_GENERATOR / name for name in _ALSO)]
    files += sorted((_GENERATOR / "epilogue" / "ops").glob("*.py"))
    return digest({str(path.relative_to(_GENERATOR)): path.read_text(encoding="utf-8") for path in files})[:16]


def subject_facts(folder: Path) -> dict[str, Any] | None:
    """Return what a result for the folder's build must say it is for; None where there is no finished build."""
    build = read_json(folder / METHODS["built"]) or {}
    try:
        ptx = (folder / "kernel.ptx").read_bytes()
        facts = {key: build[key] for key in ("source_sha", "arch", "toolchain", "cubin_sha")}
    except (KeyError, OSError):
        return None
    return {**facts, "ptx_sha": hashlib.sha256(ptx).hexdigest(), "emulator": emulator_digest(), "protocol": PROTOCOL}


def recorded(folder: Path) -> Mapping[str, Any] | None:
    """Return the folder's result if it is for exactly this build and by exactly this emulator, else None."""
    found, facts = read_json(folder / FILE), subject_facts(folder)
    if found is None or facts is None or any(found.get(key) != value for key, value in facts.items()):
        return None
    return found


def write(folder: Path, facts: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Record a verdict about the build that `facts` describe; return what was written."""
    value = {
        **facts,
        "status": verdict.status,
        "diagnosis": verdict.diagnosis,
        "figures": verdict.figures,
        "seconds": round(verdict.seconds, 3),
        "rate": round(verdict.rate),
    }
    write_json(folder / FILE, value)
    return value
