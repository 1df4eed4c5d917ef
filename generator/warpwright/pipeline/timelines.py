"""Measured timelines of variants: whose they are, whether they still count, and which are committed.

A variant's own lies in its folder, timeline.json; the committed one, a stretch of it, in out/ledger/timelines/. It
counts for exactly what it was obtained with: the source and cubin of the kernel, the source of its twin, the toolchain;
any other is *stale*.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpwright import resources
from warpwright.bundle.timeline import FILE
from warpwright.canonical import digest
from warpwright.device.marks import STAMPED, instrumented
from warpwright.diagnosis.obtained import PROTOCOL
from warpwright.diagnosis.perfetto import shortened
from warpwright.diagnosis.taken import KIND
from warpwright.diagnosis.timeline import written
from warpwright.families import family
from warpwright.pipeline.exploration import Exploration, Variant
from warpwright.pipeline.judging import subject_of
from warpwright.record import Evidence, Standard, Subject, stale_because, write_text
from warpwright.record.strict import parse_json
from warpwright.render import render
from warpwright.steps.measured import Measured, measured

__all__ = ["Timeline", "commit", "committed_path", "known", "orphans"]


@dataclass(frozen=True)
class Timeline:
    """The timeline of a variant that counts, None where none does; why the nearest is stale, "" where it is not, or
    there is none; and the files that are none, each with why."""

    measured: Measured | None
    stale: str = ""
    odd: tuple[str, ...] = ()


def committed_path(out: Path, name: str) -> Path:
    """Where the timeline of the variant of that name is committed."""
    return out / "ledger" / "timelines" / f"{name}.json"


def known(variant: Variant, out: Path, own: bool = True) -> Timeline:
    """Return what is known of a rendered variant's timeline: the first that counts of its own (unless not `own`), the
    one committed beside its folder, and the shipped one."""
    stale, odd = "", list[str]()
    places = [variant.folder.path / FILE] if own else []
    for path in (*places, *(committed_path(each, variant.name) for each in (out, resources.ledger().parent))):
        try:
            found = measured(_read(path), variant.name)
        except FileNotFoundError:
            continue
        except ValueError as error:  # TimelineError among them, and what is no JSON or no text
            odd.append(f"{path}: {error}")
            continue
        why = _stale(found.obtained, variant)
        if not why:
            return Timeline(found, odd=tuple(odd))
        stale = stale or why
    return Timeline(None, stale, tuple(odd))


def orphans(out: Path, names: Collection[str]) -> list[Path]:
    """Return the committed timelines that are of none of the variants of these names."""
    return sorted(path for path in committed_path(out, "*").parent.glob("*") if path.stem not in names)


def commit(exploration: Exploration) -> list[Path]:
    """Commit a stretch of every timeline of its own that counts, of a configuration that is a sequence of steps; return
    the files that were written."""
    found = []
    for variant in (each for each in exploration.rendered if family(each.plan.family).step(each.plan)):
        text = _own(variant)
        path = committed_path(exploration.out, variant.name)
        if text and not (path.is_file() and path.read_text(encoding="utf-8") == text):
            write_text(path, text)
            found.append(path)
    return found


def _own(variant: Variant) -> str:
    """The text of a variant's own timeline as it is committed, "" where it has none that counts."""
    try:
        value = _read(variant.folder.path / FILE)
        counts = not _stale(measured(value, variant.name).obtained, variant)
        return written(shortened(value)) if counts else ""
    except (FileNotFoundError, ValueError):
        return ""


def _read(path: Path) -> Any:
    return parse_json(path.read_text(encoding="utf-8"))


def _stale(obtained: Mapping[str, Any], variant: Variant) -> str:
    """Say why a timeline does not count for a variant, "" where it does."""
    texts = [obtained.get(key) for key in ("source_sha", "arch", "cubin_sha", "twin_sha")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(obtained.get("toolchain"), dict):
        return "it does not say what it was obtained with"
    subject = Subject(obtained["source_sha"], obtained["arch"], obtained["toolchain"], obtained["cubin_sha"])
    evidence = Evidence(KIND, "correct", subject, protocol=obtained.get("protocol"))
    why = stale_because(evidence, replace(subject_of(variant), standards={KIND: Standard(PROTOCOL)}))
    twin = "" if why else digest(render(instrumented(variant.plan, STAMPED)))
    if why or twin == obtained["twin_sha"]:
        return why
    return f"its twin had source {obtained['twin_sha'][:12]}, which is now {twin[:12]}"
