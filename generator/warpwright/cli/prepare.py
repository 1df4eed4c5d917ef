"""What every command that writes kernels starts with: load, plan, render, and say what a person should know of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpwright.cli.terminal import say

if TYPE_CHECKING:
    from warpwright.pipeline import Exploration

__all__ = ["rendered"]


def rendered(config: str, out: Path, only: Sequence[str] | None = None) -> Exploration:
    """Return the exploration of `config` with every legal variant rendered; raises what loading and planning raise."""
    from warpwright import pipeline

    exploration = pipeline.plan(*pipeline.load(config), out, only or ())
    for note in pipeline.render(exploration):
        say(note, style="yellow")
    return exploration
