"""What every line of results says of whose it is and when it was obtained, and what of that can be true."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from warpwright.frozen import Frozen
from warpwright.record import read_json
from warpwright.record.forms import Sha, Text
from warpwright.record.wrong import SchemaError

__all__ = ["Origin", "check_names", "check_time", "newer_there", "other_build"]

#: Seconds by which the clocks of two machines may be apart.
_CLOCKS_APART = 86_400


class Origin(Frozen):
    """The built variant that a result is for."""

    config: Text
    variant: Text
    source_sha: Sha
    cubin_sha: Sha
    library_sha: Sha
    arch: Text
    toolchain: dict[Text, Text]
    edited: bool = False


def check_names(value: Mapping[str, Any], path: str = "") -> None:
    """Raise SchemaError unless `config` and `variant`, which lead to a folder, are plain names. path: of `value`."""
    for name in ("config", "variant"):
        told = value[name]
        if told in (".", "..") or PurePath(told).name != told or not told.isprintable() or len(told.encode()) > 255:
            raise SchemaError(f"{path}{name}", told, "it must be the plain name of a folder")


def check_time(text: str) -> None:
    """Raise SchemaError unless `text` is a time in UTC that has been."""
    try:
        told = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", text)
        seconds = calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) if told else None
    except ValueError:
        seconds = None
    if seconds is None:
        raise SchemaError("time", text, "it must be a time as 2026-11-29T12:00:00Z")
    if seconds > time.time() + _CLOCKS_APART:
        raise SchemaError("time", text, "it is yet to come, and would count before all that is obtained until then")


def other_build(folder: Path, origin: Mapping[str, Any]) -> str:
    """Say why what was obtained with the build that `origin` names is not for the one in `folder`, "" where it is."""
    build = read_json(folder / "build.json")
    if build is None:
        return f"there is no build of it in {folder.parent}; `warpwright build {origin['config']}` first"
    for key, what in (("source_sha", "source"), ("cubin_sha", "cubin")):
        if build.get(key) != origin[key]:
            return f"it is for {what} {origin[key][:12]}, the local build has {str(build.get(key))[:12]}; measure anew"
    return ""


def newer_there(path: Path, there: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Say why a result gives way to what is in `path`, of the same build but obtained later, "" where it does not.

    there, result: `source_sha`, `cubin_sha` and `time` of each; {} where there is nothing.
    """
    same = all(there.get(key) == result[key] for key in ("source_sha", "cubin_sha"))
    if same and isinstance(there.get("time"), str) and there["time"] > result["time"]:
        return f"it is of {result['time']}, and {path} is newer, of {there['time']}; remove that to take this"
    return ""
