#!/usr/bin/env python3
"""Validates the variants of this bundle on this machine's GPU, compares and times them: see --help."""

# Written for any Python from 3.6 on, and for a bundle of which anything may be missing or changed: it says so, and
# imports of the bundle only what is as it was packed.

import sys

if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # this folder: whatever else lies here is nobody's module

import hashlib
import json
import os

ROOT = os.path.dirname(os.path.realpath(__file__))


def main() -> int:
    """Check this Python and the bundle's own files, then run it. Returns the exit code."""
    try:
        with open(os.path.join(ROOT, "bundle.json"), encoding="utf-8") as file:
            told = json.load(file)
        made, files = str(told["python"]), {str(name): str(sha) for name, sha in told["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return refuse(f"bundle.json cannot be read ({type(error).__name__}: {error}); make the bundle again")
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if made != here:
        return refuse(f"the bundle is for Python {made}, this is {here}: `warpwright bundle ... --python {here}`")
    wrong = [name for name in sorted(files) if content_sha(name) != files[name]]
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return refuse(f"{wrong[0]}{more}: missing, or changed since it was packed; copy the bundle again")
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or os.curdir) != ROOT]
    sys.path.insert(0, os.path.join(ROOT, "lib"))
    try:
        from pathlib import Path

        from warpwright.device.runner import main as run
    except ImportError as error:
        return refuse(f"{error}; the bundle needs numpy, and torch to use the GPU")
    return run(Path(ROOT), sys.argv[1:])


def content_sha(name: str) -> str:
    """Return the SHA-256 of a file of the bundle, "" where it cannot be read."""
    try:
        with open(os.path.join(ROOT, name), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except (OSError, ValueError):
        return ""


def refuse(why: str) -> int:
    """Say in a sentence why nothing is run."""
    sys.stderr.write(f"run.py: {why}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
