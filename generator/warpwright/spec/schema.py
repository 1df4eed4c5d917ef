"""The schema of a YAML file: the one description that loading, error messages and the JSON Schema share.

What a kernel, a design and a problem are, the family's models say; the classes here add what is around them.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, create_model

from warpwright import families
from warpwright.frozen import Frozen

__all__ = ["RESERVED", "SpecHead", "file_model", "point_model"]

#: Names that out/NAME cannot have: the ledger's folder, and those that Windows keeps for devices, with whose machines
#: trees of results are shared.
RESERVED = ("ledger", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)))


def _free(name: str) -> str:
    if name in RESERVED:
        raise ValueError("reserved")
    return name


def _no_lookalike(value: object) -> object:
    """Literals compare by ==, also in strict mode: True and 1.0 would pass for 1."""
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


class SpecHead(Frozen):
    """What a file says beside its kernel, its design, its sweep and its problems."""

    version: Annotated[Literal[1], BeforeValidator(_no_lookalike)]
    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z][a-z0-9_]*$",
            max_length=64,
            description="a name of lower-case letters, digits and underscores that starts with a letter, 64 at most, "
            f"and none that is kept for other things ({', '.join(RESERVED[:2])}, nul, com1, ...)",
            json_schema_extra={"not": {"enum": list(RESERVED)}},
        ),
        AfterValidator(_free),
    ]
    purpose: Annotated[str, Field(pattern=r"^[^\s].*$", description="one line of text that says what the file is for")]
    where: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    #: What `ci` demands of every variant, beside what it can renew itself.
    evidence: tuple[Literal["compared", "gpu-validated", "benchmarked"], ...] = ()


def _model(name: str, doc: str, base: type[Frozen], **fields: Any) -> type[Frozen]:
    return cast(type[Frozen], create_model(name, __base__=base, __doc__=doc, **fields))


@functools.cache
def file_model(family: str) -> type[Frozen]:
    """Return the model of a family's YAML files, without the sweep's content: its paths are checked one by one."""
    found = families.family(family)
    problems = Annotated[tuple[found.problem, ...], Field(min_length=1)]  # type: ignore[name-defined]
    validation = _model(
        "Validation",
        "Problems on which a variant must be right, and how often each runs (bitwise equal each time).",
        Frozen,
        problems=(Literal["standard"] | problems, "standard"),
        repeats=(Annotated[int, Field(ge=1)], 3),
    )
    bench = _model("Bench", "Problems that are timed.", Frozen, problems=(problems, found.bench))
    return _model(
        "SpecFile",
        "A YAML file.",
        SpecHead,
        kernel=(found.kernel, ...),
        design=(found.design, ...),
        sweep=(Any, None),
        validation=(validation, Field(default=validation(), alias="validate")),
        bench=(bench, bench()),
    )


@functools.cache
def point_model(family: str) -> type[Frozen]:
    """Return the model of the two parts of a point, as a file writes them."""
    found = families.family(family)
    return _model("PointFields", "A point.", Frozen, kernel=(found.kernel, ...), design=(found.design, ...))
