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
import stat

sys.dont_write_bytecode = True  # compiled modules would lie beside those that were packed, and be taken for them
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # nor does the child process write any

ROOT = os.path.dirname(os.path.realpath(__file__))


def main() -> int:
    """Check this Python and the bundle's own files, then run it. Returns the exit code."""
    try:
        told = json.loads(content("bundle.json").decode("utf-8"))
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
    strange = [name for part in ("lib", "ops") for name in sorted(found_in(part)) if name not in files]
    if strange:
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        return refuse(f"{strange[0]!a}{more}: no part of the bundle, and Python would import it; remove it")
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or os.curdir) != ROOT]
    sys.path.insert(0, os.path.join(ROOT, "lib"))
    try:
        from pathlib import Path

        from warpwright.device.runner import main as run
    except ImportError as error:
        return refuse(f"{error}; the bundle needs numpy, and torch to use the GPU")
    return run(Path(ROOT), sys.argv[1:])


def content(name: str) -> bytes:
    """Return what a file of the bundle holds, never waiting for one. Raises OSError where it is none."""
    descriptor = os.open(os.path.join(ROOT, name), os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        return file.read()


def content_sha(name: str) -> str:
    """Return the SHA-256 of a file of the bundle, "" where it cannot be read."""
    try:
        return hashlib.sha256(content(name)).hexdigest()
    except (OSError, ValueError):
        return ""


def found_in(part: str) -> "list[str]":
    """Return what lies in a folder of the bundle, by path from there: files, and links whatever they lead to."""
    found = []
    for folder, folders, names in os.walk(os.path.join(ROOT, part)):
        for name in names + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
            found.append(os.path.relpath(os.path.join(folder, name), ROOT))
    return found


def refuse(why: str) -> int:
    """Say in a sentence why nothing is run."""
    sys.stderr.write(f"run.py: {why}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
