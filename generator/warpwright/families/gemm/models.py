"""What a YAML file says of a GEMM: the kernel, how it is run, and the problems it is tried on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from warpwright.epilogue.step import EpilogueStep
from warpwright.frozen import Frozen

__all__ = ["Cluster", "Design", "EpilogueStep", "Kernel", "Operand", "Problem", "Registers", "Scheduler", "Tile"]

#: The last four are block-scaled: elements with a scale for each block of them along K (dtypes.SCALED).
InputDtype = Literal["f16", "bf16", "tf32", "e4m3", "e5m2", "i8", "mxf8_e4m3", "mxf8_e5m2", "mxf4", "nvf4"]
TileDtype = Literal["f16", "bf16", "f32"]
OutputDtype = Literal["f16", "bf16", "f32", "i32"]


class Operand(Frozen):
    """Element type and the mode of stride 1 of one matrix."""

    dtype: InputDtype | OutputDtype
    major: Literal["m", "n", "k"]


class OperandA(Operand):
    """Element type of A and its mode of stride 1."""

    dtype: InputDtype
    major: Literal["m", "k"]


class OperandB(Operand):
    """Element type of B and its mode of stride 1."""

    dtype: InputDtype
    major: Literal["n", "k"]


class OperandC(Operand):
    """Element type of C and its mode of stride 1."""

    dtype: TileDtype
    major: Literal["m", "n"]


class OperandD(Operand):
    """Element type of D and its mode of stride 1."""

    dtype: OutputDtype
    major: Literal["m", "n"]


class Kernel(Frozen):
    """What is computed: D = epilogue(A B), accumulated in `accumulator`: i32 where A and B are i8, else f32."""

    family: Literal["gemm"] = "gemm"
    arch: Literal["sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a"] = "sm_90a"
    a: OperandA
    b: OperandB
    c: OperandC | None = None  # only for chains with a tile operand
    d: OperandD
    accumulator: Literal["f32", "i32"] = "f32"
    epilogue: tuple[EpilogueStep, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _integers_are_summed_as_such(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        a = value.get("a")
        dtype = a.get("dtype") if isinstance(a, Mapping) else getattr(a, "dtype", None)
        return {"accumulator": "i32", **value} if dtype == "i8" else value


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

    kind: Literal["persistent", "dynamic", "one_tile"] = "persistent"  # dynamic: cluster launch control
    raster: Literal["m", "n"] = "m"  # the direction in which consecutive tiles walk
    group: Annotated[int, Field(ge=1)] = 8  # clusters that walk together, so that L2 is shared
    snake: bool = False  # every second band is walked backwards


class Design(Frozen):
    """How it is computed."""

    tile: Tile
    cluster: Cluster = Cluster()
    stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    producer_warps: Annotated[int, Field(ge=1)] = 1
    consumer_warps: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    epilogue_warps: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"  # that drain tensor memory
    cta_group: Literal[1, 2] = 1  # CTAs of one MMA; 2 is a pair along M
    accumulator_stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"  # in tensor memory
    schedule: Literal["cooperative", "pingpong"] = "cooperative"
    registers: Registers | Literal["auto", "none"] = "auto"
    scheduler: Scheduler = Scheduler()
    store: Literal["tma", "direct"] = "tma"
    epilogue_n: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"  # columns of one epilogue subtile
    epilogue_stages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"


#: Extents are 32-bit in the kernels' interface.
Extent = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Problem(Frozen):
    """Extents of one problem: D (l, m, n) = A (l, m, k) B (l, k, n); any of them may be 0."""

    m: Extent
    n: Extent
    k: Extent
    l: Extent = 1  # noqa: E741 - the field's own name for the batch
