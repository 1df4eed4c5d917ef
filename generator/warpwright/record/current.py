"""Which of a configuration's folders its file still asks for: out/<name>/current.json, by configuration file.

Folders of plans that no file has any more stay, since they hold evidence and perhaps a person's work; but who looks
for a variant by its label means the one that the configuration has now.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from warpwright.record.atomic import read_json, write_json
from warpwright.sealed import load_record

__all__ = ["CURRENT", "note_current", "obsolete_in", "origins"]

CURRENT = "current.json"


def note_current(directory: Path, config: Path, names: Iterable[str]) -> list[str]:
    """Record the folders that `config` asks for now below out/<name>/, if they changed.

    Returns the other existing files that share the folder, since a name should belong to one file. Raises DamagedError
    where what was recorded was changed: written anew, it would call the variants of those others obsolete.
    """
    with contextlib.suppress(FileNotFoundError):
        load_record(directory / CURRENT)
    before = _configs(directory)
    own = os.path.relpath(config.resolve(), directory.resolve())  # relative: so a copy of the whole tree is sound
    others = {file: told for file, told in before.items() if file != own and (directory / file).is_file()}
    after = {**others, own: sorted(names)}
    if after != before:
        write_json(directory / CURRENT, {"version": 1, "configs": after})
    return sorted(str((directory / file).resolve()) for file in others)


def origins(directory: Path, name: str = "") -> list[Path]:
    """Return the configuration files, as far as they exist, that out/<name>/ is recorded for; those with a variant."""
    found = [(directory / file).resolve() for file, names in _configs(directory).items() if not name or name in names]
    return sorted(file for file in found if file.is_file())


def obsolete_in(directory: Path) -> set[str]:
    """Return the names of the entries below out/<name>/ that none of its configuration files has any more.

    The empty set where no file is known: nothing is called obsolete on a guess.
    """
    configs = _configs(directory)
    if not configs or not directory.is_dir():
        return set()
    current = {name for names in configs.values() for name in names}
    return {path.name for path in directory.iterdir() if path.is_dir()} - current


def _configs(directory: Path) -> dict[str, list[str]]:
    value = (read_json(directory / CURRENT) or {}).get("configs")
    if not isinstance(value, dict):
        return {}
    return {str(file): [str(name) for name in names] for file, names in value.items() if isinstance(names, list)}
