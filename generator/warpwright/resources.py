"""Where templates, configurations and their evidence lie: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

__all__ = ["cache_root", "checkout", "config_label", "configs", "ledger", "resolve_config", "templates"]

_PACKAGE = Path(__file__).resolve().parent
_DATA = _PACKAGE / "_data"


def checkout() -> Path | None:
    """Return the top of the checkout that this package runs from, or None when it is installed."""
    top = _PACKAGE.parents[1]
    return top if (top / "pyproject.toml").is_file() and (top / "templates").is_dir() else None


def templates() -> Path:
    """Return the folder of kernel templates, one folder per family."""
    return (checkout() or _DATA) / "templates"


def configs() -> Path:
    """Return the folder of shipped configurations."""
    return (checkout() or _DATA) / "configs"


def ledger() -> Path:
    """Return the folder of the shipped configurations' evidence ledger (it may not exist)."""
    top = checkout()
    return top / "out" / "ledger" if top else _DATA / "ledger"


def resolve_config(name: str) -> Path:
    """Return the YAML file that `name` means: a shipped configuration by its name (`quickstart`), else a path.

    A plain name is a shipped configuration's whatever lies in the current directory; with a folder or a suffix it is
    the file there, and the shipped one only where there is none. A path that does not exist is returned as it stands:
    who opens it reports that.
    """
    path = Path(name)
    shipped = configs() / (path.name if path.suffix else f"{path.name}.yaml")
    ours = path.parent.name in ("", "configs") and not path.is_absolute() and shipped.is_file()
    plain_name = path.name == name and not path.suffix
    return shipped if ours and (plain_name or not path.exists()) else path


def config_label(path: Path) -> str:
    """Return the name under which a rendered kernel mentions its YAML file.

    It must not depend on the machine or the working directory, because the header is part of the source and its
    hash: relative to the project for its own files, else the bare file name.
    """
    resolved = path.resolve()
    for top in (checkout(), _DATA):
        if top is not None and resolved.is_relative_to(top):
            return resolved.relative_to(top).as_posix()
    return resolved.name


def cache_root() -> Path:
    """Return WARPWRIGHT_CACHE, or warpwright/ in the user's cache folder (XDG_CACHE_HOME, ~/.cache).

    Without a home, a folder of this user alone among the temporary files; where another user has made that, one that
    cannot be: what others write there is not to be trusted.
    """
    own = os.environ.get("WARPWRIGHT_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if Path(base).is_absolute():  # others are to be ignored, says the XDG Base Directory Specification
        return Path(base) / "warpwright"
    home = os.path.expanduser("~")
    if Path(home).is_absolute() and home != "/":  # what an empty HOME gives, and users without one often have
        return Path(home) / ".cache" / "warpwright"
    return _homeless()


def _homeless() -> Path:
    nowhere = Path(os.devnull) / "warpwright"
    try:
        folder = Path(tempfile.gettempdir()) / f"warpwright-cache-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return nowhere
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if mine else nowhere
