"""The schema of a YAML file: the one description that loading, error messages and the JSON Schema share.

The kernel and design models of `warpwright.point` say what a point is; the classes here narrow them to what a
user may write (which major suits which operand), and add what is around a point.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from warpwright.epilogue import registry
from warpwright.point import Design, EpilogueStep, Frozen, InputDtype, Kernel, Operand, OutputDtype

__all__ = ["Bench", "PointFields", "Problem", "SpecFile", "SpecHead", "Validation"]

#: Extents are 32-bit in the kernels' interface.
Extent = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Problem(Frozen):
    """Extents of one problem: D (l, m, n) = A (l, m, k) B (l, k, n); any of them may be 0."""

    m: Extent
    n: Extent
    k: Extent
    l: Extent = 1  # noqa: E741 - the field's own name for the batch


class Validation(Frozen):
    """Problems on which a variant must be right, and how often each runs (bitwise equal each time)."""

    problems: Literal["standard"] | Annotated[tuple[Problem, ...], Field(min_length=1)] = "standard"
    repeats: Annotated[int, Field(ge=1)] = 3


class Bench(Frozen):
    """Problems that are timed; the defaults are large enough for the tensor cores to be the limit."""

    problems: Annotated[tuple[Problem, ...], Field(min_length=1)] = (
        Problem(m=4096, n=4096, k=4096),
        Problem(m=8192, n=8192, k=8192),
    )


def _known_operation(name: str) -> str:
    if name not in registry.names():
        raise ValueError("unknown epilogue operation")
    return name


class StepFields(EpilogueStep):
    """One operation of the epilogue chain; a bare name is short for `{op: name}`."""

    op: Annotated[str, AfterValidator(_known_operation)]


class OperandA(Operand):
    """Element type of A and its mode of stride 1."""

    dtype: InputDtype
    major: Literal["m", "k"]


class OperandB(Operand):
    """Element type of B and its mode of stride 1."""

    dtype: InputDtype
    major: Literal["n", "k"]


class OperandD(Operand):
    """Element type of C or D and its mode of stride 1."""

    dtype: OutputDtype
    major: Literal["m", "n"]


class KernelFields(Kernel):
    """What is computed, as a file writes it."""

    a: OperandA
    b: OperandB
    c: OperandD | None = None
    d: OperandD
    epilogue: tuple[StepFields, ...] = ()


class PointFields(Frozen):
    """The two parts of a point, as a file writes them."""

    kernel: KernelFields
    design: Design


def _no_lookalike(value: object) -> object:
    """Literals compare by ==, also in strict mode: True and 1.0 would pass for 1."""
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


class SpecHead(Frozen):
    """What a file says beside its kernel, its design and its sweep."""

    version: Annotated[Literal[1], BeforeValidator(_no_lookalike)]
    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z][a-z0-9_]*$",
            max_length=64,
            description="a name of lower-case letters, digits and underscores that starts with a letter",
        ),
    ]
    purpose: Annotated[str, Field(pattern=r"^[^\s].*$", description="one line of text that says what the file is for")]
    where: tuple[str, ...] = ()
    validation: Validation = Field(default=Validation(), alias="validate")
    bench: Bench = Bench()


class SpecFile(SpecHead):
    """A YAML file without its sweep, whose keys are dotted paths: they are checked one by one."""

    kernel: KernelFields
    design: Design
    sweep: Any = None
