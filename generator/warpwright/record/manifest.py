"""The manifest of a kernel's variants: derived from the folders, and never trusted over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpwright.record.atomic import read_json, write_json
from warpwright.record.folder import folders_in

__all__ = ["MANIFEST", "rebuild"]

MANIFEST = "manifest.json"


def rebuild(directory: Path) -> dict[str, Any]:
    """Read every variant folder below out/<kernel>/, write the manifest if it changed, and return it.

    It lists each variant's folder, source and what each method said, for programs that look for a kernel.
    """
    variants = []
    for folder in folders_in(directory):
        evidence = {
            found.method: {"status": found.status, "source_sha": found.subject.source_sha, "arch": found.subject.arch}
            for found in folder.evidence()
        }
        plan = folder.read("plan.json") or {}
        variants.append(
            {
                "folder": folder.path.name,
                "label": folder.label,
                "identity": folder.identity,
                "symbol": plan.get("symbol"),
                "evidence": evidence,
            }
        )
    manifest = {"version": 1, "variants": variants}
    path = directory / MANIFEST
    if variants and read_json(path) != manifest:
        write_json(path, manifest)
    return manifest
