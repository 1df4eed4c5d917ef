"""The form of what each method records: one model per method, closed to unknown keys, nothing converted.

No number is other than finite but where the writers spell one out ("inf"). Rules between keys are in `schema.py`.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PlainValidator

from warpwright.frozen import Frozen

__all__ = ["DYNAMIC", "SIZES", "Benchmarked", "Built", "Compared", "Emulated", "Envelope", "Gpu", "Timing", "Validated"]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(allow_inf_nan=False, gt=0)]
NotNegative = Annotated[float, Field(allow_inf_nan=False, ge=0)]
Megahertz = Annotated[float, Field(allow_inf_nan=False, ge=0, lt=10_000)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Some = Annotated[int, Field(ge=1, lt=2**63)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**64)]
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(min_length=1)]
#: As drivers and libraries call themselves: no letter that only looks like another.
Plain = Annotated[str, Field(pattern=r"^[ -~]+$")]


def _error(value: Any) -> Any:
    if value in ("inf", "nan"):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and 0 <= value <= sys.float_info.max):
        raise ValueError("a number from 0 on, 'inf' or 'nan'")
    return value


#: An error, which may be beyond all bounds.
Error = Annotated[float | str, PlainValidator(_error)]


class Envelope(Frozen):
    """What every result says, in a folder and in the ledger; what else stands beside it is no evidence."""

    model_config = ConfigDict(extra="ignore")

    source_sha: Sha
    arch: Text
    toolchain: dict[Text, Text]
    cubin_sha: Sha | Literal[""] | None = None
    diagnosis: str | None = None


class Finding(Frozen):
    rule: Text
    expected: str
    found: str


class BuildFinding(Finding):
    wrong: bool


class Failure(Frozen):
    reason: Text
    detail: str


class Built(Frozen):
    """Of a build, what the ledger repeats; bytes, and registers per thread."""

    registers: Count | None = None
    spill_bytes: Count | None = None
    stack_bytes: Count | None = None
    static_shared_bytes: Count | None = None
    dynamic_shared_bytes: Count | None = None
    findings: list[BuildFinding] = Field(default=[])
    failure: Failure | None = None


#: Figures of a build that has a kernel, and the one that it has where its launch could be captured too.
SIZES, DYNAMIC = ("registers", "spill_bytes", "stack_bytes", "static_shared_bytes"), "dynamic_shared_bytes"


class Missed(Frozen):
    line: Count
    instruction: str
    what: str
    behind: Count


class Coverage(Frozen):
    taken: Count
    total: Count
    missed: list[Missed]


class Defect(Frozen):
    kind: Text
    message: str
    case: str
    seed: Seed
    lines: list[int]
    details: dict[str, Any]
    source_lines: list[int | None] = Field(default=[])


class Emulated(Frozen):
    problems: list[Text]
    runs: Some
    seeds: Some
    warp_instructions: Count
    coverage: Coverage
    elements: Count
    ratio: Error
    relative: Error
    defects: list[Defect]
    findings: list[Finding]


class Distances(Frozen):
    equal: Annotated[float, Field(ge=0, le=1)]
    difference: Error
    relative: Error
    ulps: Error
    ratio: Error
    device: Error
    emulator: Error


class Compared(Distances):
    cases: dict[Text, Distances]
    elements: Count
    seconds: NotNegative
    runs: Some = 1


class Validated(Frozen):
    problems: Count
    correct: Count
    incorrect: list[Text]
    skipped: list[Text]
    launches: Count
    elements: Count
    ratio: Error
    relative: Error
    repeats: Some
    seed: Seed
    seconds: NotNegative
    runs: Some = 1
    asked: Literal["standard"] | list[dict[Text, Count]] | None = None
    names: list[Text] | None = None


class Summary(Frozen):
    """Of samples in microseconds."""

    median: Positive
    p5: Positive
    p95: Positive
    p99: Positive


class Peer(Frozen):
    name: Text
    cold_us: Summary
    speed: Positive
    ratio: Positive
    noise: NotNegative
    tie: bool
    sustained_us: Summary | None = None
    sustained_ratio: Positive | None = None


class Clocks(Frozen):
    """What nvidia-smi said while it was timed: MHz, W and degrees C, those that it knew."""

    clocks_sm: Megahertz | None = None
    clocks_mem: Megahertz | None = None
    power_draw: NotNegative | None = None
    power_limit: NotNegative | None = None
    temperature_gpu: Finite | None = None


class Timing(Frozen):
    problem: dict[Text, Count]
    cold_us: Summary
    speed: Positive
    rate: Text
    rounds: Some
    clocks: list[Clocks]
    sustained_us: Summary | None = None
    sustained_speed: Positive | None = None
    peer: Peer | None = None
    further_peers: Annotated[list[Peer], Field(min_length=1)] | None = None
    shared: Text | None = None


class Benchmarked(Frozen):
    problems: list[Timing]


class Gpu(Frozen):
    gpu: Plain
    compute_capability: Annotated[str, Field(pattern=r"^[1-9][0-9]?\.[0-9]$")]
    sms: Some
    memory_bytes: Some
    driver: Plain
    torch: Plain
    cuda: Plain
    tvm_ffi: str
    python: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+")]
    uuid: Annotated[str, Field(pattern=r"^((GPU|MIG)-[0-9a-f]{8})?$")] = ""
