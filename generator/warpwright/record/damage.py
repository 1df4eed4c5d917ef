"""What of a variant's folder counts for nothing, or cannot be written: one line a file, and never an error."""

from __future__ import annotations

import contextlib

from warpwright.record.evidence import METHODS
from warpwright.record.folder import Damage, Folder
from warpwright.sealed import DamagedError, load_built, load_record, read_regular

__all__ = ["damage", "obstacles"]

_OTHERS = ("plan.json", "point.json", "rendered.json")
_FILES = ("kernel.py", "kernel.ptx", "kernel.cubin", "kernel.o", "kernel.so", "compile.log")


def damage(folder: Folder) -> list[Damage]:
    """Return the stored files that were changed since they were written, that cannot be read, or that are gone.

    A source or a plan that is another than was built is none of them: it may be a person's work, or be rendered anew.
    """
    found = folder.damaged()
    for name in _OTHERS:
        try:
            load_record(folder.path / name)
        except FileNotFoundError:
            pass
        except DamagedError as error:
            found.append(Damage(error.path, error.what))
    try:
        read_regular(folder.source_path).decode()
    except FileNotFoundError:
        pass
    except DamagedError as error:
        found.append(Damage(error.path, error.what))
    except UnicodeDecodeError:
        found.append(Damage(folder.source_path, "damaged: it is not text (UTF-8)"))
    with contextlib.suppress(FileNotFoundError, DamagedError):
        build = load_built(folder.path)
        for name in sorted(build.files):
            try:
                if name != folder.source_path.name:
                    build.read(name)
            except DamagedError as error:
                found.append(Damage(error.path, error.what))
    return found


def obstacles(folder: Folder) -> list[Damage]:
    """Return the directories that lie where the folder's files are to be written: no rename replaces those."""
    paths = [folder.path / name for name in (*_OTHERS, *METHODS.values(), *_FILES)]
    lying = [path for path in paths if not path.is_symlink() and path.is_dir()]
    return [Damage(path, "a directory, where a file should be") for path in lying]
