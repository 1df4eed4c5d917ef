"""Finds epilogue operations: one file each, in the package's `ops` folder and in the folders of WARPWRIGHT_OPS."""

from __future__ import annotations

import functools
import importlib.util
import os
import warnings
from pathlib import Path

from warpwright.epilogue.check import clashes, faults
from warpwright.epilogue.idle import idle
from warpwright.epilogue.op import EpilogueOp
from warpwright.errors import VocabularyError
from warpwright.text import printable

__all__ = ["OPS_VARIABLE", "OpError", "OpWarning", "folders", "get", "names", "searched", "source_path"]

OPS_VARIABLE = "WARPWRIGHT_OPS"

_OWN = Path(__file__).parent / "ops"


class OpError(VocabularyError):
    """An operation's file cannot be used; the message names the file, the fault and the way out."""

    field = "kernel.epilogue"

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class OpWarning(UserWarning):
    """An operation can be used, and proves little: the message names the file, where, and what to change."""


def folders() -> list[Path]:
    """Return the folders that are searched, the package's own first."""
    return [_OWN, *(Path(p).expanduser() for p in os.environ.get(OPS_VARIABLE, "").split(os.pathsep) if p)]


def _load(path: Path) -> EpilogueOp:
    spec = importlib.util.spec_from_file_location(f"warpwright_op_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise OpError(f"{path}: not a Python file that can be loaded")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a file that ends the program would end it as if all were well
        raise OpError(f"{path}: {type(error).__name__}: {error}; an operation's file must import cleanly") from error
    op = getattr(module, "OP", None)
    if not isinstance(op, EpilogueOp):
        raise OpError(f"{path}: assigns no EpilogueOp to OP; see docs/epilogue.md")
    if op.name != path.stem:
        raise OpError(f"{path}: OP.name is {op.name!r}; it must be the file's name, {path.stem!r}")
    found = list(faults(op))
    if found:
        raise OpError(f"{path}: {'; '.join(found)}; see docs/epilogue.md")
    return op


@functools.cache
def _index(search: tuple[Path, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in search:
        if not folder.is_dir():
            raise OpError(f"{OPS_VARIABLE}: {folder} is not a folder")
        for path in sorted(folder.glob("[a-z]*.py")):
            if path.stem in found:
                raise OpError(f"{path}: the operation {path.stem!r} exists already in {found[path.stem]}; rename it")
            found[path.stem] = path
    return found


@functools.cache
def _get(path: Path) -> EpilogueOp:
    return _load(path)


def names() -> tuple[str, ...]:
    """Return the names of all operations, sorted. Raises OpError for a folder or name that cannot be used."""
    return tuple(sorted(_index(tuple(folders()))))


def searched() -> str:
    """Say where else than in the package operations were looked for, for who misses one."""
    own = [str(folder) for folder in folders()[1:]]
    return f"{OPS_VARIABLE}: {printable(', '.join(own))}" if own else f"{OPS_VARIABLE} is not set"


def source_path(name: str) -> Path:
    """Return the file of an operation. Raises OpError when there is none."""
    index = _index(tuple(folders()))
    if name not in index:
        raise OpError(f"epilogue operation {name!r} is unknown; known: {', '.join(sorted(index))} ({searched()})")
    return index[name]


def get(name: str, taken: frozenset[str] = frozenset()) -> EpilogueOp:
    """Return an operation by name. Raises OpError when there is none or its file is faulty.

    It is faulty, too, where one of its names is `taken` by the kernel that it is to become a part of. Of such a one an
    OpWarning is given, once, where its bound would let a wrong result pass.
    """
    path = source_path(name)
    op = _get(path)
    if taken:
        found = list(clashes(op, taken))
        if found:
            raise OpError(f"{path}: {'; '.join(found)}; see docs/epilogue.md")
        _tell(path)
    return op


@functools.cache
def _tell(path: Path) -> None:
    """Warn of a user's operation whose bound is idle; those of the package are held by its tests."""
    if path.parent != _OWN and (found := idle(_get(path))):
        warnings.warn(f"{path}: {found}; see docs/epilogue.md", OpWarning, stacklevel=3)
