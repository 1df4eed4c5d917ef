"""What one build yields, as a frozen value with a JSON form: the content of a variant's build.json."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpwright.build.toolchain import Toolchain
from warpwright.canonical import canonical_json
from warpwright.errors import naming
from warpwright.scratch import beside
from warpwright.sealed import DamagedError, load_record, seal

__all__ = ["COMPILED_FILES", "Artifact", "Failure", "Finding", "Unbuilt", "read_artifact", "write_file"]

#: Files of a successful build beside build.json and kernel.py; the object is for callers that link statically.
COMPILED_FILES = ("kernel.ptx", "kernel.cubin", "kernel.o", "kernel.so", "compile.log")


@dataclass(frozen=True)
class Finding:
    """A place where the built kernel is not what its plan says.

    `wrong` marks contradictions of the synchronisation or launch contract, which make results unreliable; the
    others cost speed or resources only.
    """

    rule: str
    expected: str
    found: str
    wrong: bool = False

    def __str__(self) -> str:
        return f"{self.rule}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True)
class Failure:
    """Why there is no kernel. `reason` is one of error (the source or the compiler refused), signal (the compiler
    process died of it), machine (it could not be compiled here and now: see `trouble`).

    The first two repeat for the same key, and are recorded; the last never is.
    """

    reason: str
    detail: str

    @property
    def final(self) -> bool:
        return self.reason in ("error", "signal")


@dataclass(frozen=True)
class Unbuilt:
    """What the machine could not do for a variant: no verdict. `why` is for people."""

    why: str


@dataclass(frozen=True)
class Artifact:
    """The outcome of building one variant.

    `status` is None where nothing speaks against the variant so far (what it computes is for later evidence to
    say), compile_failed where there is no kernel (see `failure`), incorrect where some finding is `wrong`,
    degraded where there are other findings. `kernels` are the compiled names, as in the PTX. Sizes are bytes, registers
    are per thread at launch, each being that of the kernel with the most. `spill_bytes` is what LDL and STL move per
    thread, each instruction counted once. `static_shared_bytes` leaves out the KiB that the driver reserves in each
    block; `dynamic_shared_bytes` is what the host code asked for in a captured launch. `launch` has the extents and the
    launches of that, `census` what each kernel contains. `cpu` is the level of CPUs that the host code needs, as read
    off its instructions, "" where there are no levels. `files` maps file names to SHA-256 digests.
    """

    status: str | None
    key: str
    source_sha: str
    plan_sha: str
    arch: str
    symbol: str
    toolchain: Toolchain
    cpu: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    cubin_sha: str = ""
    kernels: tuple[str, ...] = ()
    registers: int | None = None
    spill_bytes: int | None = None
    stack_bytes: int | None = None
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    launch: Mapping[str, Any] = field(default_factory=dict)
    census: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    failure: Failure | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def built(self) -> bool:
        """True where there is a kernel to run."""
        return self.failure is None

    def to_json(self) -> str:
        """Return what build.json says, with its seal."""
        return seal(canonical_json(self))

    @staticmethod
    def from_value(data: dict[str, Any]) -> Artifact:
        """Read the object that `to_json` wrote; ValueError where it is anything else."""
        try:
            names = {f.name for f in dataclasses.fields(Artifact)}
            if set(data) != names:
                raise ValueError(f"its keys differ by {sorted(names.symmetric_difference(data))}")
            data["toolchain"] = Toolchain(**data["toolchain"])
            data["kernels"] = tuple(data["kernels"])
            data["findings"] = tuple(Finding(**f) for f in data["findings"])
            data["failure"] = Failure(**data["failure"]) if data["failure"] else None
            return Artifact(**data)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise ValueError(f"not the JSON form of a build artifact: {error}") from None


def read_artifact(out_dir: Path) -> Artifact | None:
    """Return the artifact recorded in `out_dir`, or None where there is none that can be read and is as it was written.

    One without a seal, from before there were any, counts as none: the cache has what it says.
    """
    try:
        stored = load_record(out_dir / "build.json")
        return Artifact.from_value(stored.value) if stored.sealed else None
    except (FileNotFoundError, DamagedError, ValueError):
        return None


def write_file(path: Path, data: bytes) -> None:
    """Write `path` so that a reader, or a kill, sees the old file or the whole new one."""
    temporary = beside(path)
    try:
        with naming(path):
            temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
