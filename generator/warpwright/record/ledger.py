"""The committed evidence of a shipped configuration: out/ledger/<name>.jsonl, made to be read as a text diff.

Toolchains and GPUs stand once at the top, and lines name them by the head of their digest. Then one line per variant
and method, keys and lines sorted, so that the same evidence gives the same bytes and a change of one variant's evidence
changes that variant's lines only. Lines are never dropped unless superseded: by a newer result of the same method for
the same variant, or, once a variant's plan has changed and with it its identity, for the one that now has its label.

A file is read as strictly as it is written: every field that a result must have, no other, one line per key. What a
merge of two branches, another program or a hand has made of it is an error that names the line, and never evidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpwright.canonical import digest, plain
from warpwright.record.atomic import write_text
from warpwright.record.evidence import METHODS, Evidence
from warpwright.record.ledger_form import LedgerError, WrongLineError, evidence_of, objects_in
from warpwright.record.reading import ON_DEVICE

__all__ = ["LedgerError", "LedgerLine", "ledger_text", "merge", "read_ledger", "write_ledger"]

#: What stands in a table, by the field of a line that refers to it.
_TABLES = ("toolchain", "gpu")
#: Hex digits of an identity in a variant's name, and of the digest by which a line refers to a table.
_HEAD = 8


@dataclass(frozen=True)
class LedgerLine:
    """One method's result for one variant; `place` is the file and line that it was read from, "" for a new one."""

    label: str
    identity: str
    evidence: Evidence
    place: str = field(default="", compare=False)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.label, self.identity, list(METHODS).index(self.evidence.method)

    @property
    def ledger(self) -> str:
        """The name of the ledger that it was read from, "" for a new one."""
        return Path(self.place.rpartition(":")[0]).stem

    @property
    def variant(self) -> str:
        """The variant's name, as its folder has it."""
        return f"{self.label}-{self.identity[:_HEAD]}"

    def value(self) -> dict[str, Any]:
        """Return the line's content, toolchain and GPU in full."""
        evidence = self.evidence
        fields = {
            "label": self.label,
            "identity": self.identity,
            "method": evidence.method,
            "status": evidence.status,
            "source_sha": evidence.subject.source_sha,
            "cubin_sha": evidence.subject.cubin_sha,
            "arch": evidence.subject.arch,
            "toolchain": evidence.subject.toolchain,
            "figures": evidence.figures,
            "gpu": _kind(evidence.gpu) if evidence.method in ON_DEVICE else {},
            "diagnosis": evidence.diagnosis,
            "protocol": evidence.protocol,
            "judged_by": evidence.judged_by,
        }
        kept: dict[str, Any] = plain({name: each for name, each in fields.items() if each not in (None, "", {})})
        return kept


def _kind(gpu: Mapping[str, Any]) -> dict[str, Any]:
    """A GPU's description without what tells it from others of its kind: that is no part of what was proved."""
    return {name: told for name, told in gpu.items() if name != "uuid"}


def read_ledger(path: Path) -> list[LedgerLine]:
    """Return a ledger's lines, none when there is no file; LedgerError for whatever is not a ledger's line."""
    tables: dict[tuple[str, str], Mapping[str, Any]] = {}
    lines: dict[tuple[str, str, int], LedgerLine] = {}
    for number, value in objects_in(path):
        try:
            if "table" in value:
                name, key = _read_table(value)
                if (name, key) in tables:
                    raise WrongLineError(f"a second {name} table of id {key}")
                tables[name, key] = value[name]
                continue
            line = _read_line(value, tables, f"{path}:{number}")
            if line.key in lines:
                method, first = line.evidence.method, lines[line.key].place
                raise WrongLineError(f"a second {method} line of {line.variant}, the first is {first}")
        except WrongLineError as error:
            raise LedgerError(path, number, str(error)) from None
        lines[line.key] = line
    return list(lines.values())


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
    return [line for _, line in sorted({**keep, **fresh}.items(), key=lambda item: item[0])]


def write_ledger(path: Path, lines: Iterable[LedgerLine]) -> None:
    """Write a ledger, sorted, by rename."""
    write_text(path, ledger_text(lines))


def ledger_text(lines: Iterable[LedgerLine]) -> str:
    """Return the one text of a ledger of these lines: tables that they refer to, then the lines, sorted."""
    values = [line.value() for line in sorted(lines, key=lambda line: line.key)]
    tables = {}
    for value in values:
        for name in _TABLES:
            if name in value:
                key = digest(value[name])[:_HEAD]
                tables[name, key] = {"table": name, "id": key, name: value[name]}
                value[name] = key
    texts = [json.dumps(value, sort_keys=True, allow_nan=False) for value in (*_sorted(tables), *values)]
    return "".join(text + "\n" for text in texts)


def _sorted(tables: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [tables[key] for key in sorted(tables)]


def _read_table(value: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a table line holds and its id, which is the head of the content's digest."""
    name = value["table"]
    if name not in _TABLES or set(value) != {"table", "id", name} or not isinstance(value[name], dict):
        raise WrongLineError(f"a table line has table ({' or '.join(_TABLES)}), id, and what the table names")
    key = digest(value[name])[:_HEAD]
    if value["id"] != key:
        raise WrongLineError(f"the table's id is {value['id']!r}, and its content is that of {key}")
    return name, key


def _read_line(value: Mapping[str, Any], tables: Mapping[tuple[str, str], Mapping[str, Any]], place: str) -> LedgerLine:
    for name in _TABLES:
        if name in value:
            if not (isinstance(value[name], str) and (name, value[name]) in tables):
                raise WrongLineError(f"{name} is {value[name]!r}, and no table above has that id")
            value = {**value, name: tables[name, value[name]]}
    evidence = evidence_of(value)
    return LedgerLine(str(value["label"]), str(value["identity"]), evidence, place)
