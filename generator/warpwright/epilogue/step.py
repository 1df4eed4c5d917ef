"""One step of an epilogue chain as a YAML file writes it: `relu`, or `{op: bias_n, dtype: f16}`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from warpwright.epilogue import registry
from warpwright.frozen import Frozen

__all__ = ["EpilogueStep"]


def _known(name: str) -> str:
    if name not in registry.names():
        raise ValueError("unknown epilogue operation")
    return name


class _Known:
    """Lists the operations in the JSON Schema, and where they are from, so that editors and messages offer them."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "enum": list(registry.names()), "$comment": registry.searched()}


class EpilogueStep(Frozen):
    """One operation of the epilogue chain; a bare name is short for `{op: name}`.

    `dtype` is that of its vector operand, where it has one.
    """

    #: The field that a bare name gives, and that stands for the step in predicates.
    shorthand: ClassVar[str] = "op"

    op: Annotated[str, AfterValidator(_known), _Known]
    dtype: Literal["f16", "bf16", "f32"] = "f32"

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, value: Any) -> Any:
        return {"op": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        written_out = handler(core)
        return {"anyOf": [_Known.__get_pydantic_json_schema__(core, handler), written_out]}
