"""What is known about a variant, from its folder, from other folders of the same variant, and from the ledgers.

A variant is what was resolved: the configuration that asks for it, its name and its folder are no part of it. So a
result counts wherever it was recorded, as long as it is for exactly the source, arch and toolchain at hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright import resources
from warpwright.canonical import digest, plain
from warpwright.pipeline.exploration import Variant
from warpwright.pipeline.standards import standards_of
from warpwright.record import Folder, Judgement, LedgerLine, Subject, judge, read_ledger

if TYPE_CHECKING:
    from warpwright.plan.types import Plan

__all__ = [
    "HEAD",
    "Lines",
    "judge_all",
    "judge_folder",
    "ledger_files",
    "ledger_lines",
    "ledgers",
    "subject_of",
    "toolchain_here",
]

#: Hex digits of an identity that a folder's name has.
HEAD = 8
#: Lines by the head of the identity of the variant that they are for.
Lines = Mapping[str, list[LedgerLine]]


def ledger_files(out: Path) -> dict[str, Path]:
    """Return the ledgers by name: those beside the variants, else, for a name that has none there, the shipped one."""
    shipped = {path.stem: path for path in resources.ledger().glob("*.jsonl")}
    own = {path.stem: path for path in (out / "ledger").glob("*.jsonl")}
    return dict(sorted({**shipped, **own}.items()))


def ledgers(out: Path) -> dict[str, list[LedgerLine]]:
    """Return the lines of every ledger by its name. LedgerError for one that cannot be believed."""
    return {name: read_ledger(path) for name, path in ledger_files(out).items()}


def ledger_lines(out: Path) -> Lines:
    """Return every ledger's lines by the head of the identity that they are for.

    LedgerError for a ledger that cannot be believed.
    """
    found: defaultdict[str, list[LedgerLine]] = defaultdict(list)
    for line in (line for lines in ledgers(out).values() for line in lines):
        found[line.identity[:HEAD]].append(line)
    return found


def judge_all(variants: Iterable[Variant], lines: Lines) -> None:
    """Weigh what is known about each of the variants."""
    for variant in variants:
        variant.judgement = judge_folder(variant.folder, lines) if variant.source else Judgement("planned", "")


def subject_of(variant: Variant) -> Subject:
    """Return what a result must be for, in order to count for a rendered variant."""
    return _subject(variant.source, {"arch": variant.plan.arch, **_names(variant.plan)}, variant.build)


def judge_folder(folder: Folder, lines: Lines) -> Judgement:
    """Weigh everything known about the source that a variant's folder holds now."""
    source, stored = folder.source(), folder.read("plan.json")
    if source is None or stored is None:
        return Judgement("planned", "")
    subject = _subject(source, stored, folder.result("built") or {})
    ledger = [line.evidence for line in lines.get(folder.identity[:HEAD], ()) if folder.identity]
    return judge(subject, [*folder.evidence(), *ledger])


def _subject(source: str, plan: Mapping[str, Any], build: Mapping[str, Any]) -> Subject:
    source_sha = digest(source)
    cubin_sha = build.get("cubin_sha", "") if build.get("source_sha") == source_sha else ""
    return Subject(source_sha, str(plan.get("arch")), toolchain_here(), cubin_sha, standards_of(plan))


def _names(plan: Plan) -> dict[str, Any]:
    return {"family": plan.family, "kernel": plan.kernel}


def toolchain_here() -> dict[str, str]:
    """Return the toolchain at hand, {} where it is incomplete: results are then judged by source and arch alone."""
    from warpwright.build.toolchain import ToolchainError, current

    try:
        found: dict[str, str] = plain(current())
    except ToolchainError:
        return {}
    return found
