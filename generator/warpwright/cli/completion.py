"""What the shell offers after TAB for configurations and variants; it must answer at once, and never fail."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from warpwright import resources

__all__ = ["SUFFIXES", "configurations", "variants"]

#: What the name of a configuration's file ends with.
SUFFIXES = (".yaml", ".yml")


def configurations(incomplete: str) -> list[str]:
    """Return shipped and recorded configurations, and YAML files here, that begin with what was typed."""
    shipped = [path.stem for path in resources.configs().glob("*.yaml")]
    found = {*shipped, *_recorded(), *_files(incomplete)}
    return sorted(name for name in found if name.startswith(incomplete))


def variants(incomplete: str) -> list[str]:
    """Return what `configurations` does and, once something is typed, the recorded variants by their folders' names."""
    if not incomplete:
        return configurations("")
    names = [name for folder in _recorded().values() for name in _folders(folder)]
    return configurations(incomplete) + sorted(name for name in names if name.startswith(incomplete))


def _recorded() -> dict[str, Path]:
    out = Path(os.environ.get("WARPWRIGHT_OUT") or "out")
    return {name: out / name for name in _folders(out) if name != "ledger"}


def _folders(folder: Path) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_dir()]
    return []


def _files(incomplete: str) -> list[str]:
    folder = os.path.dirname(incomplete)
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        return [os.path.join(folder, each.name) for each in entries if each.name.endswith(SUFFIXES)]
    return []
