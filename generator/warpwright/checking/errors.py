"""The errors of checking a program, for those who call it from Python."""

from __future__ import annotations

__all__ = ["CheckError", "FindingsError"]


class CheckError(Exception):
    """The program cannot be checked; the text says what stands in the way. Not a verdict on its kernels."""


class FindingsError(AssertionError):
    """Something is wrong with a kernel; the text has the findings."""
