"""Folders of variants that were built otherwise than they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.record import read_json, write_json
from warpwright.sealed import sha256

__all__ = ["rewrite"]


def rewrite(folder: Path, name: str, content: bytes | str | dict[str, Any]) -> None:
    """Change a file of a built folder, and the record with it, as though that had been built."""
    build = read_json(folder / "build.json") or {}
    if isinstance(content, dict):
        write_json(folder / name, content)
        write_json(folder / "build.json", {**build, "plan_sha": digest(content)})
        return
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    source = {"source_sha": sha256(data)} if name == "kernel.py" else {}
    write_json(folder / "build.json", {**build, **source, "files": {**build.get("files", {}), name: sha256(data)}})
