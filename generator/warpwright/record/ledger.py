"""The committed evidence of a shipped configuration: out/ledger/<name>.jsonl, made to be read as a text diff.

One line per variant and method, keys and lines sorted, so that the same evidence gives the same bytes and a change
of one variant's evidence changes that variant's lines only. Lines are never dropped unless superseded: by a newer
result of the same method for the same variant, or, once a variant's plan has changed and with it its identity, for
the variant that now has its label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.canonical import plain
from warpwright.record.atomic import write_text
from warpwright.record.evidence import METHODS, Evidence
from warpwright.record.folder import parse_evidence

__all__ = ["LedgerError", "LedgerLine", "merge", "read_ledger", "write_ledger"]


class LedgerError(Exception):
    """A ledger file that cannot be read as one; the text names file, line and what is wrong."""


@dataclass(frozen=True)
class LedgerLine:
    """One method's result for one variant."""

    label: str
    identity: str
    evidence: Evidence

    @property
    def key(self) -> tuple[str, str, int]:
        return self.label, self.identity, list(METHODS).index(self.evidence.method)

    def text(self) -> str:
        """Return the line: one JSON object, keys sorted."""
        evidence = self.evidence
        value = {
            "label": self.label,
            "identity": self.identity,
            "method": evidence.method,
            "status": evidence.status,
            "source_sha": evidence.subject.source_sha,
            "cubin_sha": evidence.subject.cubin_sha,
            "arch": evidence.subject.arch,
            "toolchain": evidence.subject.toolchain,
            "figures": evidence.figures,
            "gpu": evidence.gpu,
            "diagnosis": evidence.diagnosis,
            "protocol": evidence.protocol,
        }
        told = {name: content for name, content in value.items() if content not in (None, "", {})}
        return json.dumps(plain(told), sort_keys=True, allow_nan=False)


def read_ledger(path: Path) -> list[LedgerLine]:
    """Return a ledger's lines, none when there is no file; LedgerError for a line that is not a result."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            lines.append(_parse(path, number, line))
    return lines


def merge(recorded: Iterable[LedgerLine], renewed: Iterable[LedgerLine], current: Iterable[str]) -> list[LedgerLine]:
    """Return `recorded` with the results of `renewed` in it, sorted.

    `current` are the identities that the configuration has now: a recorded line of another identity gives way to a
    renewed one of the same label and method.
    """
    keep = {line.key: line for line in recorded}
    fresh = {line.key: line for line in renewed}
    now = set(current)
    replaced = {(line.label, line.evidence.method) for line in fresh.values()}
    for key, line in list(keep.items()):
        if line.identity not in now and (line.label, line.evidence.method) in replaced:
            del keep[key]
    return [line for _, line in sorted({**keep, **fresh}.items())]


def write_ledger(path: Path, lines: Iterable[LedgerLine]) -> None:
    """Write a ledger, sorted, by rename."""
    write_text(path, "".join(line.text() + "\n" for line in sorted(lines, key=lambda line: line.key)))


def _parse(path: Path, number: int, text: str) -> LedgerLine:
    wrong = f"{path}:{number}: not a line of evidence"
    try:
        value: Mapping[str, Any] = json.loads(text)
        label, identity, method = value["label"], value["identity"], value["method"]
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError(f"{wrong} ({error}); restore the file with git, or remove it and renew it") from None
    evidence = parse_evidence(method, value, origin="ledger")
    if evidence is None:
        raise LedgerError(f"{wrong} (method {method!r}, status {value.get('status')!r}); remove it or restore the file")
    return LedgerLine(str(label), str(identity), evidence)
