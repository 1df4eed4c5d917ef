"""The same work as two kernels on two streams, beside a configuration's own: which two, and what is known of them.

The reader is a variant of the configuration, the maker one of a configuration that its family names. What was measured
lies in the reader's folder, contrast.json, and, committed, in out/ledger/contrast/<name>.jsonl: raw samples, one
measurement a line, of exactly the sources and cubins that both name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright import families, resources
from warpwright.bundle.contrast import FILE, check_contrast
from warpwright.canonical import digest, plain
from warpwright.device.contrast import Asked
from warpwright.families.planning import Contrast
from warpwright.pipeline.exploration import Exploration, Variant
from warpwright.record import LedgerError, read_json, write_text
from warpwright.record.ledger_form import objects_in
from warpwright.record.wrong import SchemaError

__all__ = ["Pair", "commit", "committed_path", "known", "pair_of", "told_of"]


@dataclass(frozen=True)
class Pair:
    """Two variants, and how the one feeds the other."""

    reader: Variant
    maker: Variant
    asked: Asked


def told_of(exploration: Exploration) -> tuple[Contrast, Variant] | None:
    """What the family of a configuration says of its contrast, and the variant that reads; None where it has none."""
    for variant in exploration.legal:
        told = families.family(variant.plan.family).contrast
        if told and told.reads(variant.plan):
            return told, variant
    return None


def pair_of(told: Contrast, reader: Variant, problem: Mapping[str, int], makers: Exploration) -> Pair | None:
    """Return the pair for a problem; None where no kernel of the makers' configuration makes what is read."""
    maker = next((v for v in makers.legal if told.makes(v.plan, reader.plan)), None)
    if maker is None:
        return None
    asked = Asked(told.argument, told.mode, told.unit(reader.plan), dict(problem), dict(told.scalars))
    return Pair(reader, maker, asked)


def committed_path(out: Path, name: str) -> Path:
    """Where a configuration's measurements are committed."""
    return out / "ledger" / "contrast" / f"{name}.jsonl"


def known(exploration: Exploration, reader: Variant) -> Mapping[str, Any] | None:
    """Return the newest measurement that is right and for exactly the reader's source, its own before the committed.

    Raises LedgerError where a committed line is none.
    """
    own = read_json(reader.folder.path / FILE)
    found: Mapping[str, Any] | None
    name, shipped = exploration.spec.name, resources.ledger().parent
    for found in (own, *(each for out in (exploration.out, shipped) for each in _committed(committed_path(out, name)))):
        if found and _holds(found, reader):
            return found
    return None


def commit(exploration: Exploration) -> Path | None:
    """Put the measurement in the reader's folder into the committed file, in the place of all older ones of it.

    Returns the file where it was written.
    """
    told = told_of(exploration)
    own = read_json(told[1].folder.path / FILE) if told else None
    if not told or not own or not _holds(own, told[1]):
        return None
    path = committed_path(exploration.out, exploration.spec.name)
    text = json.dumps(plain(own), sort_keys=True, allow_nan=False) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return None
    write_text(path, text)
    return path


def _committed(path: Path) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for number, value in objects_in(path) if path.is_file() else ():
        try:
            check_contrast(value)
        except SchemaError as error:
            raise LedgerError(path, number, str(error)) from None
        found.append(value)
    return found


def _holds(found: Mapping[str, Any], reader: Variant) -> bool:
    """Whether a measurement is a right one, of the reader as its configuration gives it now."""
    try:
        check_contrast(found)
    except SchemaError:
        return False
    return found["status"] == "correct" and bool(found["reader"]["source_sha"] == digest(reader.source))
