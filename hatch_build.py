"""Puts templates, configurations and the evidence ledger into the wheel, where warpwright.resources finds them.

An editable installation takes them from the checkout. The raw results below the ledger stay out: they are large, and
nothing reads them but people.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DataHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the project's data files to a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        top = Path(self.root)
        found = [path for name in ("templates", "configs") for path in (top / name).rglob("*") if path.is_file()]
        for path in found:
            build_data["force_include"][str(path)] = f"warpwright/_data/{path.relative_to(top).as_posix()}"
        for path in (top / "out" / "ledger").glob("*.jsonl"):
            build_data["force_include"][str(path)] = f"warpwright/_data/ledger/{path.name}"
