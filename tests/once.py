"""What is dear to build is built once for all workers of a run, and not once for each."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["Once", "once_below"]

#: once(name, make): `make` fills a folder and returns what it has built, paths by name, to be left as it is.
Once = Callable[[str, Callable[[Path], Mapping[str, Path]]], Mapping[str, Path]]


def once_below(top: Path) -> Once:
    """Return a function that makes each name once below `top`, whichever process asks first; others wait for it."""
    top.mkdir(exist_ok=True)

    def once(name: str, make: Callable[[Path], Mapping[str, Path]]) -> Mapping[str, Path]:
        with (top / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = top / f"{name}.json"
            if not done.exists():
                (top / name).mkdir()  # a second attempt fails here: the first has told why
                done.write_text(json.dumps({key: str(path) for key, path in make(top / name).items()}))
            return {key: Path(path) for key, path in json.loads(done.read_text()).items()}

    return once
