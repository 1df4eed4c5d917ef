"""The same work as two kernels on two streams, beside a configuration's own: which two, and what is known of them.

The reader is a variant of the configuration, the maker one of a configuration that its family names. What was measured
lies in the reader's folder, contrast.json, and, committed, in out/ledger/contrast/<name>.jsonl: raw samples, one
measurement a line. It counts for exactly what it was obtained with: the sources and cubins of both, toolchain, problem,
and the code that judged; any other is *stale*.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from warpwright import families, resources
from warpwright.bundle.contrast import FILE, check_contrast
from warpwright.canonical import plain
from warpwright.device.contrast import KIND, PROTOCOL, Asked
from warpwright.errors import UserError
from warpwright.families.planning import Contrast
from warpwright.pipeline.exploration import Exploration, Variant, plan
from warpwright.pipeline.judging import subject_of
from warpwright.record import Evidence, LedgerError, Standard, Subject, read_json, stale_because, write_text
from warpwright.record.ledger_form import objects_in
from warpwright.record.wrong import SchemaError
from warpwright.render import render

__all__ = ["Known", "Pair", "commit", "committed_path", "known", "pair_of", "told_of"]


@dataclass(frozen=True)
class Pair:
    """Two variants, and how the one feeds the other."""

    reader: Variant
    maker: Variant
    asked: Asked


@dataclass(frozen=True)
class Known:
    """A measurement that was right when it was made, its place, and why it no longer counts, "" where it does."""

    result: Mapping[str, Any]
    place: str
    stale: str


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


def known(exploration: Exploration, own: bool = True) -> Known | None:
    """Return the newest right measurement that counts, its own (unless not `own`) before the committed; else the newest
    that is stale.

    The configuration is rendered. Raises LedgerError where a committed line is none.
    """
    told = told_of(exploration)
    found = list(_found(exploration, told[1], own)) if told else []
    if not told or not found:
        return None
    pair = _as_rendered(told[0], told[1], exploration)
    every = (Known(result, place, _stale(result, pair)) for place, result in found)
    first: Known | None = None
    for each in every:
        if not each.stale:
            return each
        first = first or each
    return first


def commit(exploration: Exploration) -> Path | None:
    """Put the measurement in the reader's folder into the committed file, in the place of all older ones of it.

    Returns the file where it was written.
    """
    told, found = told_of(exploration), known(exploration)
    if not told or not found or found.stale or found.place != str(told[1].folder.path / FILE):
        return None
    path = committed_path(exploration.out, exploration.spec.name)
    text = json.dumps(plain(found.result), sort_keys=True, allow_nan=False) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return None
    write_text(path, text)
    return path


def _found(exploration: Exploration, reader: Variant, own: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Right measurements with their places, in the order in which they count."""
    path = reader.folder.path / FILE
    result = read_json(path) if own else None
    try:
        check_contrast(result or {})
    except SchemaError:
        result = None
    if result and result["status"] == "correct":
        yield str(path), result
    for out in dict.fromkeys((exploration.out, resources.ledger().parent)):
        path = committed_path(out, exploration.spec.name)
        for number, value in objects_in(path) if path.is_file() else ():
            place = f"{path}:{number}"
            try:
                check_contrast(value)
            except SchemaError as error:
                raise LedgerError(path, number, str(error)) from None
            if value["status"] == "correct":
                yield place, value


def _as_rendered(told: Contrast, reader: Variant, exploration: Exploration) -> Pair | str:
    """The pair as both configurations give it now; or why there is none."""
    try:
        makers = plan(told.configuration, exploration.out)
    except UserError as error:
        return f"the configuration of its maker cannot be had: {error}"
    problem: Mapping[str, int] = next(iter(exploration.spec.bench["problems"]), {})
    pair = pair_of(told, reader, problem, makers)
    if pair is None:
        return f"{told.configuration} has no kernel any more that makes what {reader.name} reads"
    maker = replace(pair.maker, source=render(pair.maker.plan), build=pair.maker.folder.result("built") or {})
    return replace(pair, maker=maker)


def _stale(result: Mapping[str, Any], pair: Pair | str) -> str:
    """Say why a measurement does not count for a pair, "" where it does."""
    if isinstance(pair, str):
        return pair
    reader = subject_of(pair.reader)
    judge = {KIND: Standard(PROTOCOL, reader.standards["gpu-validated"].code)}
    subjects = {"reader": replace(reader, standards=judge), "maker": replace(subject_of(pair.maker), standards={})}
    for who, subject in subjects.items():
        due, told = getattr(pair, who).name, result[who]["variant"]
        why = stale_because(_evidence(result, who), subject) or ("" if told == due else f"it is {due} here")
        if why:
            return f"of its {who}, {told}: {why}"
    asked, due = result["asked"], plain(asdict(pair.asked))
    other = [key for key in due if key != "chunks" and asked[key] != due[key]]
    return f"its {other[0]} is {asked[other[0]]}, which is now {due[other[0]]}" if other else ""


def _evidence(result: Mapping[str, Any], who: str) -> Evidence:
    of = result[who]
    subject = Subject(of["source_sha"], of["arch"], of["toolchain"], of["cubin_sha"])
    return Evidence(KIND, result["status"], subject, protocol=result["protocol"], judged_by=result.get("judged_by", ""))
