"""One point of the design space: the kernel that is asked for and every choice of how to run it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Cluster",
    "Design",
    "EpilogueStep",
    "Kernel",
    "Operand",
    "Point",
    "Registers",
    "Scheduler",
    "Tile",
]

InputDtype = Literal["f16", "bf16"]
OutputDtype = Literal["f16", "bf16", "f32"]


class Frozen(BaseModel):
    """Immutable, strictly typed, closed to unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Operand(Frozen):
    """Element type and the mode of stride 1 of one matrix: m or k for A, n or k for B, m or n for C and D."""

    dtype: OutputDtype
    major: Literal["m", "n", "k"]


class EpilogueStep(Frozen):
    """One operation of the epilogue chain; `dtype` is that of its vector operand, where it has one."""

    op: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    dtype: OutputDtype = "f32"


class Kernel(Frozen):
    """What is computed: D = epilogue(A B), accumulated in `accumulator`."""

    family: Literal["gemm"] = "gemm"
    arch: Literal["sm_90a"] = "sm_90a"
    a: Operand
    b: Operand
    c: Operand | None = None  # only for chains with a tile operand
    d: Operand
    accumulator: Literal["f32"] = "f32"
    epilogue: tuple[EpilogueStep, ...] = ()


class Tile(Frozen):
    """Elements of D per CTA (m, n) and depth of one stage (k)."""

    m: Annotated[int, Field(ge=1)]
    n: Annotated[int, Field(ge=1)]
    k: Annotated[int, Field(ge=1)]


class Cluster(Frozen):
    """CTAs of one cluster along M and N."""

    m: Annotated[int, Field(ge=1)] = 1
    n: Annotated[int, Field(ge=1)] = 1


class Registers(Frozen):
    """Registers per thread after setmaxnreg."""

    producer: int
    consumer: int


class Scheduler(Frozen):
    """Which CTA computes which tile, and in what order."""

    kind: Literal["persistent", "one_tile"] = "persistent"
    raster: Literal["m", "n"] = "m"  # the direction in which consecutive tiles walk
    group: Annotated[int, Field(ge=1)] = 8  # clusters that walk together, so that L2 is shared


class Design(Frozen):
    """How it is computed."""

    tile: Tile
    cluster: Cluster = Cluster()
    stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    producer_warps: Annotated[int, Field(ge=1)] = 1
    consumer_warps: Annotated[int, Field(ge=1)] = 8
    schedule: Literal["cooperative", "pingpong"] = "cooperative"
    registers: Registers | Literal["auto", "none"] = "auto"
    scheduler: Scheduler = Scheduler()
    store: Literal["tma", "direct"] = "tma"
    epilogue_n: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"  # columns of one epilogue subtile
    epilogue_stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"


class Point(Frozen):
    """One combination of a sweep."""

    kernel: Kernel
    design: Design
