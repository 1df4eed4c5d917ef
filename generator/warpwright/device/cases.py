"""The emulator's cases as a bundle carries them: a problem, a digest of its inputs, and what the emulator made of it.

Inputs are not stored: random ones do not compress, and both machines draw them from the same seeds. The digest
says whether they are the same to the bit. Outputs are stored as they were: bits, dense, in the shape of their modes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from warpwright.device.problem import Problem
from warpwright.device.tensors import quiet_nan
from warpwright.device.xp import Array, NumpyXp
from warpwright.families import workload
from warpwright.plan.types import Plan

__all__ = [
    "CASES", "LISTED", "StoredCase", "add_cases", "case_inputs", "cases_of", "inputs_digest", "read_case", "write_case",
]  # fmt: skip

#: Folder of the cases, in a bundle; equal ones of several variants are one file.
CASES = "cases"
#: A variant's cases, in its folder: {name: path of the file from there}.
LISTED = "cases.json"
#: Digits of its content's SHA-256 that are a case's name.
_NAME = 16
#: Ahead of an output's name in a case's file.
_OUTPUT = "output_"


@dataclass(frozen=True)
class StoredCase:
    """clusters: the kernel's grid limit. seed: of the inputs, whose digest is `inputs`. emulator: its version.

    outputs: by argument.
    """

    problem: Problem
    clusters: int
    seed: int
    inputs: str
    emulator: str
    outputs: Mapping[str, Array]


def case_inputs(plan: Plan, problem: Problem, seed: int) -> dict[str, Array]:
    """Draw the inputs of a case on the CPU: bits, dense, by argument. What must not be read is NaN throughout."""
    family = workload(plan.family)
    unread = family.unread(plan, problem)
    found = {}
    for argument in plan.arguments:
        if argument.kind == "scalar" or argument.role != "input":
            continue
        bits = family.inputs(NumpyXp(), plan, argument, problem, seed)
        found[argument.name] = np.full_like(bits, quiet_nan(argument)) if argument.name in unread else bits
    return found


def inputs_digest(inputs: Mapping[str, Array]) -> str:
    """SHA-256 of inputs, names included."""
    digest = hashlib.sha256()
    for name in sorted(inputs):
        digest.update(f"{name}{inputs[name].shape}".encode())
        digest.update(np.ascontiguousarray(inputs[name]).tobytes())
    return digest.hexdigest()


def write_case(case: StoredCase) -> bytes:
    """Return the bytes of a case's file (npz)."""
    described = {
        "problem": asdict(case.problem),
        **{name: getattr(case, name) for name in ("clusters", "seed", "inputs", "emulator")},
    }
    file = io.BytesIO()
    outputs: dict[str, Any] = {f"{_OUTPUT}{name}": bits for name, bits in case.outputs.items()}
    np.savez_compressed(file, description=np.array(json.dumps(described, sort_keys=True)), **outputs)
    return file.getvalue()


def read_case(path: Path) -> StoredCase:
    """Read a case's file, which is named by its content in a bundle. Raises OSError, or ValueError where it is none, or
    was changed."""
    data = path.read_bytes()
    if path.parent.name == CASES and hashlib.sha256(data).hexdigest()[:_NAME] != path.stem:
        raise ValueError(f"{path.name}: its content is not what it was packed with; copy the bundle again")
    try:
        return _parse(data)
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path.name}: not a case ({error}); make the bundle again") from None


def _parse(data: bytes) -> StoredCase:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        described = json.loads(str(stored["description"]))
        outputs = {name[len(_OUTPUT) :]: stored[name] for name in stored.files if name.startswith(_OUTPUT)}
    problem = described.pop("problem")
    sizes = tuple((mode, extent) for mode, extent in problem["sizes"])
    named = {field: tuple(problem[field]) for field in ("zero", "special")}
    problem = Problem(**{**problem, **named, "sizes": sizes})
    return StoredCase(problem, **described, outputs=outputs)


def add_cases(bundle: Path, folder: Path, files: Mapping[str, bytes]) -> None:
    """Put a variant's cases, by name, into a bundle; `folder` is the variant's in it."""
    (bundle / CASES).mkdir(exist_ok=True)
    listed = {}
    for name, data in files.items():
        path = bundle / CASES / f"{hashlib.sha256(data).hexdigest()[:_NAME]}.npz"
        path.write_bytes(data)
        listed[name] = os.path.relpath(path, folder)
    (folder / LISTED).write_text(json.dumps(listed, indent=1, sort_keys=True), encoding="utf-8")


def cases_of(folder: Path, glob: str = "*") -> list[Path]:
    """Return the files of a variant's cases, by name; none where its bundle carries none.

    Raises OSError, or ValueError where the list of them is damaged.
    """
    try:
        listed = json.loads((folder / LISTED).read_text(encoding="utf-8"))
        return [folder / path for name, path in sorted(listed.items()) if fnmatchcase(name, glob)]
    except FileNotFoundError:
        return []
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise ValueError(f"{folder / LISTED}: not a list of cases; copy the bundle again") from None
