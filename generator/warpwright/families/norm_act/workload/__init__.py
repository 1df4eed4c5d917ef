"""Running a normalisation; what that takes is imported when it is asked for, since a plan needs the design alone."""

from __future__ import annotations

from typing import Any

__all__ = ["WORKLOAD"]


def __getattr__(name: str) -> Any:
    if name == "WORKLOAD":
        from warpwright.families.norm_act.workload.running import WORKLOAD

        return WORKLOAD
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
