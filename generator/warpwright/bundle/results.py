"""Bringing results home: each is checked against the local build and merged into its variant's folder.

A variant's gpu.json, compared.json and bench.json keep every run ever imported, each with the hashes it was obtained
with, and say at the top what counts (`weighing.py`). Three kinds of line are told apart:

- What no run.py wrote: not JSON, a key twice or too many, a number that is none, figures that contradict the problems
  or samples beside them, a version of the method that nobody has written yet, no GPU, an empty file. Then the whole
  import is refused, by file and line, and nothing is written, since such a file is not what its name says.
- A result that is sound and not for here: another source, cubin, library or arch than is built, nothing built, an
  older version of the method, no verdict; or of a GPU of which other lines, or results that are here, say something
  else. It alone is refused, with the reason and the way out; others are taken.
- A line that was cut off: the last of a file that does not end in a line feed, or one ahead of a header, which is how
  run.py goes on after it was killed. It alone is refused, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpwright.bundle.contrast import check_contrast, record_contrast
from warpwright.bundle.raw import NOT_RUN, check_against, check_header, check_result, is_older
from warpwright.bundle.timeline import check_timeline, record_timeline
from warpwright.bundle.weighing import weigh
from warpwright.canonical import digest
from warpwright.device import contrast
from warpwright.diagnosis import taken
from warpwright.errors import UserError
from warpwright.kinds import not_a_file
from warpwright.pipeline.judging import ledger_files
from warpwright.pipeline.same_gpu import known_gpus
from warpwright.pipeline.standards import standards_of
from warpwright.plan.stored import PlanError, plan_from_json
from warpwright.plan.types import Plan
from warpwright.protocols import current
from warpwright.record import METHODS, Damage, Folder, write_json
from warpwright.record.gpus import Clash, clashes
from warpwright.record.strict import NotJsonError, parse_json
from warpwright.record.wrong import PARTIAL, SchemaError, shown

__all__ = ["Imported", "import_results", "record_result"]

#: Bytes of the longest line that is read; genuine ones have some ten thousand.
_LONGEST = 2**24
_KEYS = (("source_sha", "source"), ("cubin_sha", "cubin"), ("arch", "arch"))
#: Lines that are no verdict on a variant: how each kind is checked, and recorded.
_BESIDE = {
    contrast.KIND: (check_contrast, record_contrast),
    taken.KIND: (check_timeline, record_timeline),
}
_WAY_OUT = "nothing was imported; copy the file again from where run.py wrote it"


@dataclass
class Imported:
    """What an import did: (config, variant, method, status) per result merged, each refusal in words, notes on what is
    partial or was damaged and set aside, the configurations that each file had results for, and contrasts and timelines
    with their places."""

    merged: list[tuple[str, str, str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    configs: dict[Path, set[str]] = field(default_factory=dict)
    beside: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    gpus: list[tuple[str, Any]] = field(default_factory=list)  # of every line, headers included, with its place


@dataclass(frozen=True)
class _Home:
    """Where a result belongs: the folder, its build and its plan, and what judges its method now."""

    folder: Folder
    build: Mapping[str, Any]
    plan: Plan
    judges: Mapping[str, str]


def import_results(paths: Sequence[Path], out_root: Path) -> Imported:
    """Merge results files of a bundle's run.py into out/<config>/<variant>/, all of them or, on UserError, nothing.

    Raises UserError, with file and line, for a file that cannot be read, holds no result, or holds what run.py never
    wrote. What else is not taken is in `refused`.
    """
    imported, merging = Imported(), []
    read = [(path, where, result) for path in paths for where, result in _read(path, imported)]
    known = known_gpus(ledger_files(out_root).values(), out_root)
    odd = clashes([*imported.gpus, *known])
    for path, where, result in read:
        why = _at_odds(where, odd)
        try:
            home = why or _home(result, out_root)
        except SchemaError as error:
            raise UserError(f"{where}: {error}; {_WAY_OUT}") from None
        if isinstance(home, str):
            named = str(result.get("variant"))
            imported.refused.append(f"{where}: {named if named.isprintable() else shown(named)}: {home}")
        else:
            merging.append((path, result, home))
    for where, measured in imported.beside:
        why = _at_odds(where, odd) or _BESIDE[measured["kind"]][1](measured, out_root)
        of = measured.get("reader", measured)
        if why:
            imported.refused.append(f"{where}: {of['variant']}: {why}")
        else:
            imported.merged.append((of["config"], of["variant"], measured["kind"], measured["status"]))
    notes: dict[str, str] = {}
    for path, result, home in merging:
        notes |= _merge(result, home, here=False)
        imported.merged.append((result["config"], result["variant"], result["method"], result["status"]))
        imported.configs.setdefault(path, set()).add(result["config"])
    imported.notes += filter(None, notes.values())
    return imported


def _at_odds(place: str, odd: Sequence[Clash]) -> str:
    """Why a line is not believed of its GPU, "" where it is; the other place, where it is in a file of results, is not
    believed either: nobody here knows which of the two is true."""
    return next((f"{why}: one GPU is not both" for clash in odd if (why := clash.of(place))), "")


def record_result(result: Mapping[str, Any], out_root: Path) -> str:
    """Merge one result that was obtained on this machine into its variant's folder; returns "" or why it is refused."""
    try:
        home = _home(result, out_root)
    except SchemaError as error:
        return str(error)
    if isinstance(home, str):
        return home
    _merge(result, home, here=True)
    return ""


def _read(path: Path, imported: Imported) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the results of a file with their places; what was cut off is noted as refused."""
    why = not_a_file(path)
    if why:
        raise UserError(f"{path}: cannot be read: {why}; give the file that a bundle's run.py wrote")
    lines = list(_lines(path))
    results = 0
    for index, (where, text, whole) in enumerate(lines):
        try:
            value = parse_json(text)
            if not isinstance(value, dict):
                raise ValueError(f"a {type(value).__name__}, not a result")
            kind = value.get("kind")
            if isinstance(kind, str) and kind in _BESIDE:
                _BESIDE[kind][0](value)
                imported.gpus.append((where, value["gpu"]))
                imported.beside.append((where, value))
                results += 1
                continue
            if "kind" in value:
                check_header(value)
                imported.gpus.append((where, value["gpu"]))
                continue
            if not is_older(value):
                check_result(value)
                imported.gpus.append((where, value["gpu"]))
        except NotJsonError as error:
            if text.startswith("{") and (not whole or _is_header(lines[index + 1 : index + 2])):
                imported.refused.append(f"{where}: cut off, as by a kill ({error}); run the bundle again for it")
                results += 1
                continue
            raise UserError(f"{where}: {error}; {_WAY_OUT}") from None
        except ValueError as error:  # SchemaError among them
            raise UserError(f"{where}: {error}; {_WAY_OUT}") from None
        results += 1
        yield where, value
    if not results:
        raise UserError(f"{path}: no result is in it; run.py adds one as soon as it has one")


def _lines(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield place and text of each line that is not blank, and whether it ends in a line feed."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST + 1):
                number += 1
                where = f"{path}:{number}"
                if len(line) > _LONGEST:
                    raise UserError(f"{where}: longer than {_LONGEST} bytes, which no result is; {_WAY_OUT}")
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise UserError(f"{where}: not UTF-8 at byte {error.start + 1}; {_WAY_OUT}") from None
                if text.strip():
                    yield where, text.strip(), line.endswith(b"\n")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error})") from error


def _is_header(lines: Sequence[tuple[str, str, bool]]) -> bool:
    try:
        return bool(lines) and parse_json(lines[0][1]).get("kind") == "header"
    except (ValueError, AttributeError):
        return False


def _home(result: Mapping[str, Any], out_root: Path) -> _Home | str:
    """Return where a result belongs, or why it does not belong here. Raises SchemaError for what is no result."""
    if is_older(result):
        method, now = result["method"], current(result["method"])
        return f"{method} results of version {result['protocol']} say nothing to version {now}; run a new bundle"
    check_result(result)
    if result["status"] == NOT_RUN:
        return f"no verdict ({NOT_RUN}): {result['diagnosis']}"
    folder = Folder(out_root / result["config"] / result["variant"])
    again = f"`warpwright build {result['config']}`"
    build, stored = folder.result("built"), folder.read("plan.json")
    if build is None or stored is None:
        return f"there is no build of it below {out_root}; {again} first"
    for key, what in _KEYS:
        if build.get(key) != result[key]:
            return _other(what, result[key], build.get(key))
    library = (build.get("files") or {}).get("kernel.so", result["library_sha"])
    if library != result["library_sha"]:
        return _other("library", result["library_sha"], library)
    try:
        plan = plan_from_json(stored)
        judges = {method: standard.code for method, standard in standards_of(stored).items()}
        check_against(result, plan, judges)
        weigh([result], build, plan, judges.get(result["method"], ""))  # whether that works, ahead of all writing
    except SchemaError:
        raise
    except (PlanError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
        return f"plan.json is not of this version ({error}); {again} first"
    return _Home(folder, build, plan, judges)


def _other(what: str, had: Any, now: Any) -> str:
    return f"it is for {what} {str(had)[:12]}, the local build has {str(now)[:12]}; make and run a new bundle"


def _merge(result: Mapping[str, Any], home: _Home, here: bool) -> dict[str, str]:
    """Write the file of the result's method anew, with this run among those that it has.

    Returns what a person should know of it, by what it is about. A file that does not say what it must is kept beside
    its place: nothing of it can be believed, or lost.
    """
    folder, method, notes = home.folder, result["method"], {}
    path = folder.path / METHODS[method]
    known = folder.result(method)
    found = _runs(known)
    if found is None or (known is None and path.is_file()):
        told = next((damage for damage in folder.damaged() if damage.path == path), Damage(path, "its runs are none"))
        notes[f"damaged {path}"] = f"{folder.path.name}: {told}; it is kept as {told.set_aside().name}"
    runs = {digest(run): run for run in [*(found or ()), dict(result)]}
    ordered = sorted(runs.values(), key=lambda run: (run["time"], digest(run)))
    top = weigh(ordered, home.build, home.plan, home.judges.get(method, ""))
    # Runs that this machine made: of a result that rests on any other it is said that it was imported.
    before = (known or {}).get("here", ()) if found else ()
    own = {each for each in before if each in runs} | ({digest(result)} if here else set())
    imported = any(each not in own for each, run in runs.items() if run.get("source_sha") == home.build["source_sha"])
    write_json(path, {**top, "imported": imported, "here": sorted(own), "runs": ordered})
    partial = top["status"] == PARTIAL
    notes[f"partial {path}"] = f"{folder.path.name}: {method} is {PARTIAL}: {top['diagnosis']}" if partial else ""
    return notes


def _runs(known: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    """The runs that a file keeps; None where they are none. Those of an older version are kept as they are."""
    runs, here = (known or {}).get("runs", []), (known or {}).get("here", [])
    if not isinstance(runs, list) or not (isinstance(here, list) and all(isinstance(each, str) for each in here)):
        return None
    for run in runs:
        try:
            if not isinstance(run, dict) or not isinstance(run.get("time"), str):
                return None
            if not is_older(run):
                check_result(run)
        except SchemaError:
            return None
    return runs
