"""Puts templates, configurations and the evidence ledger into the wheel, where warpwright.resources finds them.

An editable installation takes them from the checkout. Of the raw results, those behind the ledger's lines: `ci` takes
the lines apart again.
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
        ledger = top / "out" / "ledger"
        for path in ledger.glob("*.jsonl"):
            for found in (path, ledger / "raw" / path.name, ledger / "contrast" / path.name):
                if found.is_file():
                    build_data["force_include"][str(found)] = f"warpwright/_data/{found.relative_to(top / 'out')}"
        for path in (ledger / "timelines").glob("*.json"):
            build_data["force_include"][str(path)] = f"warpwright/_data/{path.relative_to(top / 'out')}"
