"""What of a variant's folder cannot be believed, or cannot be written: one line a file, and never an error."""

from __future__ import annotations

import contextlib

from warpwright.record.evidence import METHODS
from warpwright.record.folder import Folder
from warpwright.sealed import DamagedError, load_built, load_record, read_regular

__all__ = ["damage", "obstacles"]

_RECORDS = ("plan.json", "point.json", "rendered.json", *METHODS.values())
_FILES = ("kernel.py", "kernel.ptx", "kernel.cubin", "kernel.o", "kernel.so", "compile.log")


def damage(folder: Folder) -> list[DamagedError]:
    """Return what is wrong with each stored file that was changed since it was written, or cannot be read.

    A source or a plan that is another than was built is none: it may be a person's work, or be rendered anew.
    """
    found = []
    for name in _RECORDS:
        try:
            load_record(folder.path / name)
        except FileNotFoundError:
            pass
        except DamagedError as error:
            found.append(error)
    try:
        read_regular(folder.source_path).decode()
    except FileNotFoundError:
        pass
    except DamagedError as error:
        found.append(error)
    except UnicodeDecodeError:
        found.append(DamagedError(folder.source_path, "damaged: it is not text (UTF-8)"))
    with contextlib.suppress(FileNotFoundError, DamagedError):
        build = load_built(folder.path)
        for name in sorted(build.files):
            try:
                if name != folder.source_path.name:
                    build.read(name)
            except DamagedError as error:
                found.append(error)
    return found


def obstacles(folder: Folder) -> list[DamagedError]:
    """Return the directories that lie where the folder's files are to be written: no rename replaces those."""
    paths = [folder.path / name for name in (*_RECORDS, *_FILES)]
    lying = [path for path in paths if not path.is_symlink() and path.is_dir()]
    return [DamagedError(path, "a directory, where a file is to be written: remove it") for path in lying]
