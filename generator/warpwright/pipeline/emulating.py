"""The arrow that needs nothing but a CPU: emulate built variants, in parallel, and record each verdict as it comes.

A result is bound to the PTX that was run, to the plan that it was held against, and to the emulator that ran it. What
is recorded is not done again, and a run that finds everything recorded imports nothing heavy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright.device.judged_by import code_digest, digests_of, operations_of
from warpwright.errors import VocabularyError
from warpwright.pipeline import rests_on
from warpwright.protocols import current
from warpwright.record import METHODS, Folder
from warpwright.record.atomic import write_json
from warpwright.sealed import Built, DamagedError, load_built

if TYPE_CHECKING:
    from warpwright.pipeline.exploration import Variant

__all__ = ["PROTOCOL", "emulate", "emulate_folder", "emulator_digest", "note_missing", "recorded", "to_emulate"]

PROTOCOL = current("emulated")
_FILE = METHODS["emulated"]


def to_emulate(legal: Sequence[Variant], again: bool = False) -> list[Variant]:
    """Return the variants that are built and, unless `again`, have no result of this emulator for this build."""
    built = [v for v in legal if any(e.method == "built" and not e.figures.get("failure") for e in v.judgement.valid)]
    return [variant for variant in built if again or recorded(variant.folder.path) is None]


def emulate(variants: Sequence[Variant], jobs: int | None, on_step: Callable[[], None]) -> list[str]:
    """Emulate variants in at most `jobs` processes (one per core without) and record each verdict.

    Notes at each variant, and returns in words, what could not be emulated: that is no verdict.
    """
    from warpwright.emulate.variant.parallel import each

    answers = each(emulate_folder, [variant.folder.path for variant in variants], jobs, on_step)
    for variant, answer in zip(variants, answers, strict=True):
        if answer.error:
            variant.undone["emulate"] = answer.error
    return [f"not emulated: {v.name}: {v.undone['emulate']}" for v in variants if "emulate" in v.undone]


def note_missing(legal: Sequence[Variant]) -> None:
    """Note at each variant that is built and has no result of this emulator that nothing was found out about it.

    However that came about: a variant that nobody could emulate must not pass as one against which nothing speaks.
    """
    for variant in legal:
        if variant.passed("built") and "emulate" not in variant.undone and recorded(variant.folder.path) is None:
            variant.undone["emulate"] = f"no result could be recorded in {variant.folder.path}"


def emulate_folder(folder: Path) -> dict[str, Any]:
    """Emulate one folder's build in this process, record the verdict and return what emulated.json then says.

    Raises EmulatorError or PtxError where it cannot be emulated.
    """
    from warpwright.emulate.variant import harness
    from warpwright.emulate.variant.places import find_places

    built = harness.build_of(folder)  # once: a build that changes meanwhile must not get the verdict on this one
    verdict = harness.emulate(harness.load(folder, built))
    facts = _facts(built)
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
    """Return what emulated.json says if it is for exactly this build and by exactly this emulator, else None.

    None also where the folder does not hold any more what was built: nothing is said of a source that was not executed.
    """
    found = Folder(folder).result("emulated")
    try:
        facts = _facts(load_built(folder)) if found else {}
    except (AttributeError, KeyError, TypeError, OSError, DamagedError, UnicodeDecodeError, VocabularyError):
        return None
    return found if found and all(found.get(key) == value for key, value in facts.items()) else None


def _facts(built: Built) -> dict[str, Any]:
    """What a result for a build must say it is for. Raises DamagedError where the files are not those of the build."""
    built.source()
    plan, _ = built.plan(), [built.read(name) for name in ("kernel.ptx", "kernel.o")]
    return {
        **{key: built.record[key] for key in ("source_sha", "arch", "toolchain", "cubin_sha", "plan_sha")},
        "ptx_sha": built.files["kernel.ptx"],
        "emulator": emulator_digest(plan["family"], operations_of(plan["kernel"])),
        "protocol": PROTOCOL,
    }


@functools.cache
def emulator_digest(family: str, operations: tuple[str, ...] = ()) -> str:
    """Digest of all that a verdict rests on beside the build and its plan: the code that makes it, the workload of the
    family, and the files of the epilogue operations, a user's own among them.

    The versions of Python, numpy and ml_dtypes are no part of it: what is asked of them is specified, and sums, which
    are not, are held against a bound. Evidence of one machine counts on another.
    """
    return code_digest(_digests(family), operations)


@functools.cache
def _digests(family: str) -> Mapping[str, str]:
    return digests_of(rests_on.files(family))
