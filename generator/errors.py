"""The one error that a command turns into a message: something asked for that cannot be done, and the way out."""

from __future__ import annotations

__all__ = ["UserError"]


class UserError(Exception):
    """A request that cannot be carried out; its text names the thing, what is wrong and what to do (exit code 2)."""
