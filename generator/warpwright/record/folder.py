"""One variant's folder, `out/<kernel>/<label>-<identity>/`: one file per stage, each written by rename.

The folder is the record; everything else (manifest, ledger) is derived from folders. A reader must expect any file to
be missing: the variant is then simply known less well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.record.atomic import read_json, write_json, write_text
from warpwright.record.evidence import METHODS, STATUSES, Evidence
from warpwright.record.reading import read_evidence
from warpwright.record.wrong import SchemaError
from warpwright.sealed import DamagedError, Stored, load_record, read_regular, sha256, unseal

__all__ = ["Damage", "Folder", "adopt", "by_identity", "configurations_in", "folders_in"]

#: What a machine gets again within seconds: without a seal, that is from before there were any, it does not count.
_CHEAP = ("built", "emulated")
_NAME = re.compile(r"(?P<label>.+)-(?P<identity>[0-9a-f]{8,12})")


@dataclass(frozen=True)
class Damage:
    """A file of a result that does not say what a result must say, and in a sentence why."""

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{self.path.name} counts for nothing: {self.why}"

    def set_aside(self) -> Path:
        """Keep the file beside its place, which is then free, and return where it is."""
        kept = unused(self.path.parent, f"{self.path.name}.damaged", "")
        self.path.replace(kept)
        return kept


@dataclass(frozen=True)
class Folder:
    """The record of one variant; `path` need not exist yet."""

    path: Path

    @property
    def label(self) -> str:
        return self._parts()[0]

    @property
    def identity(self) -> str:
        """The head of the variant's identity, as far as the folder's name gives it."""
        return self._parts()[1]

    @property
    def source_path(self) -> Path:
        return self.path / "kernel.py"

    def source(self) -> str | None:
        """Return the rendered module's text, None when there is none, or what is there is no text."""
        try:
            return read_regular(self.source_path).decode()
        except (FileNotFoundError, DamagedError, UnicodeDecodeError):
            return None

    def write_source(self, text: str) -> Path | None:
        """Write the rendered module, unless it is there already: its time stamp then says when it last changed.

        A module that lies there and is not what was rendered last is a person's work: it is kept under another name,
        which is returned.
        """
        found, kept = self._source_bytes(), None
        if found != text.encode():
            if found is not None and sha256(found) != self._rendered():
                kept = unused(self.path, "kernel.edited", ".py")
                self.source_path.rename(kept)
            write_text(self.source_path, text)
        self.write("rendered.json", {"source_sha": digest(text)})
        return kept

    def edited(self) -> bool:
        """Say whether the module differs from what was rendered last; False where that is not known."""
        source, rendered = self._source_bytes(), self.read("rendered.json")
        return source is not None and rendered is not None and sha256(source) != rendered.get("source_sha")

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a stage's file (`plan.json`, ...), None when it is missing or damaged."""
        return read_json(self.path / name)

    def write(self, name: str, value: Any) -> None:
        """Write a stage's file, unless that is what it says already."""
        if self._stored(name) != Stored(value, sealed=True):
            write_json(self.path / name, value)

    def results(self) -> Iterator[tuple[str, Evidence | Damage]]:
        """Yield the methods that have a file, from cheap to dear: with what it says, or why that counts for nothing.

        Builds and emulations from before results had seals are passed over.
        """
        for method, file in METHODS.items():
            path = self.path / file
            try:
                found = _read(method, read_regular(path))
            except FileNotFoundError:
                continue
            except DamagedError as error:
                found = error.what
            if found is not None:
                yield method, Damage(path, found) if isinstance(found, str) else found

    def evidence(self) -> list[Evidence]:
        """Return every method's result that the folder holds, valid or not, from cheap to dear."""
        return [found for _, found in self.results() if isinstance(found, Evidence)]

    def damaged(self) -> list[Damage]:
        """Return the files of results that do not say what a result must say: they decide nothing."""
        return [found for _, found in self.results() if isinstance(found, Damage)]

    def result(self, method: str) -> dict[str, Any] | None:
        """Return a method's file, None when it is missing or damaged."""
        found = _result(self.path, method)
        return found[0] if found else None

    def unsealed(self) -> list[str]:
        """Return the names of results that do not count since they are from before results had seals."""
        found = {name: self._stored(name) for name in (METHODS[method] for method in _CHEAP)}
        return [name for name, stored in found.items() if stored is not None and not stored.sealed]

    def seal_results(self) -> None:
        """Give results of a GPU from before there were seals theirs: what changes from here on is noticed."""
        for name in (name for method, name in METHODS.items() if method not in _CHEAP):
            stored = self._stored(name)
            if stored is not None and not stored.sealed:
                write_json(self.path / name, stored.value)

    def _stored(self, name: str) -> Stored | None:
        try:
            return load_record(self.path / name)
        except (FileNotFoundError, DamagedError):
            return None

    def _source_bytes(self) -> bytes | None:
        try:
            return read_regular(self.source_path)
        except (FileNotFoundError, DamagedError):
            return None

    def _rendered(self) -> str:
        """The digest of what was rendered last, or, in folders from before that was kept, of what was built last."""
        known = self.read("rendered.json") or self.read("build.json") or {}
        return str(known.get("source_sha") or "")

    def _parts(self) -> tuple[str, str]:
        match = _NAME.fullmatch(self.path.name)
        return (match["label"], match["identity"]) if match else (self.path.name, "")


def unused(folder: Path, stem: str, suffix: str) -> Path:
    """Return a path of that name that does not exist yet."""
    path, number = folder / f"{stem}{suffix}", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}.{number}{suffix}"
    return path


def folders_in(directory: Path) -> list[Folder]:
    """Return the variant folders below out/<kernel>/, by name, numbers in it as numbers (64 before 128)."""
    if not directory.is_dir():
        return []
    found = (path for path in directory.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())
    return [Folder(path) for path in sorted(found, key=lambda path: _natural(path.name))]


def adopt(folder: Folder, others: Iterable[Path]) -> None:
    """Take over results of the same variant from other folders, where the folder has none of the method itself.

    A configuration that was renamed, or that shares a variant with another, need not obtain again what is known. Only
    results for exactly the source in the folder are taken, the worst of several; whether they still hold is judged like
    any other's. Not builds: their files lie beside them, and the cache has them.
    """
    source = folder.source()
    elsewhere = [other for other in others if other != folder.path] if source is not None else []
    for method, name in METHODS.items():
        if method == "built" or not elsewhere or (folder.path / name).exists():
            continue
        known = filter(None, (_result(other, method) for other in elsewhere))
        own = [(STATUSES.index(result.status), value) for value, result in known if _is_for(result, source)]
        if own:
            write_json(folder.path / name, min(own, key=lambda one: one[0])[1])


def _is_for(result: Evidence, source: str | None) -> bool:
    """Whether a result with a verdict is for exactly this source."""
    return result.status in STATUSES and source is not None and result.subject.source_sha == digest(source)


def _result(folder: Path, method: str) -> tuple[dict[str, Any], Evidence] | None:
    """A method's file, and what it says; None where it is missing or damaged, or counts for nothing."""
    path = folder / METHODS[method]
    try:
        data = read_regular(path)
    except (FileNotFoundError, DamagedError):
        return None
    found = _read(method, data)
    return (unseal(path, data).value, found) if isinstance(found, Evidence) else None


@functools.lru_cache(maxsize=2048)
def _read(method: str, data: bytes) -> Evidence | str | None:
    """What the content of a method's file says, or is wrong with it; None where it is passed over. Kept, since who
    lists variants asks for the same a dozen times; the evidence is not to be altered."""
    try:
        stored = unseal(Path(METHODS[method]), data)
        return read_evidence(method, stored.value) if stored.sealed or method not in _CHEAP else None
    except DamagedError as error:
        return error.what
    except SchemaError as error:
        return str(error)


def configurations_in(out: Path) -> list[Path]:
    """Return the folders of configurations below `out`, sorted.

    The ledger's is none: it is committed, and nothing in it was obtained on this machine.
    """
    return sorted(path for path in out.iterdir() if path.name != "ledger" and path.is_dir()) if out.is_dir() else []


def by_identity(out: Path) -> dict[str, list[Path]]:
    """Return the variant folders of every configuration below `out`, by the identity that their names end with."""
    found: dict[str, list[Path]] = {}
    for directory in configurations_in(out):
        for path in directory.iterdir():
            match = _NAME.fullmatch(path.name)
            if match:
                found.setdefault(match["identity"], []).append(path)
    return found


def _natural(name: str) -> tuple[list[str | int], str]:
    """Text at even places, numbers at odd ones; the identity, whose digits are no numbers, at the end."""
    label, _, identity = name.rpartition("-")
    return [int(part) if part.isdecimal() else part for part in re.split("([0-9]+)", label)], identity
