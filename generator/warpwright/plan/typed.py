"""Makes frozen dataclasses of stored JSON, each field of the type that it is declared with: nothing else gets through.

Standard library only: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeVar, Union, cast

__all__ = ["typed"]

T = TypeVar("T")


def typed(kind: type[T], value: Any, where: str = "") -> T:
    """Return the dataclass `kind` with the fields of `value`; lists become tuples.

    Raises ValueError that names the place below `where` and what it should be.
    """
    if not isinstance(value, Mapping):
        raise _wrong(where, value, f"an object ({kind.__name__})")
    types_of = _types(cast(Hashable, kind))
    unknown = [str(name) for name in value if name not in types_of]
    if unknown:
        raise ValueError(f"{where or kind.__name__} has {', '.join(sorted(unknown)[:3])}, which is not known")
    fields = {
        name: _value(types_of[name], inner, f"{where}.{name}" if where else str(name)) for name, inner in value.items()
    }
    try:
        return kind(**fields)
    except TypeError as error:  # a field is missing
        raise ValueError(f"{where or kind.__name__}: {error}") from None


@functools.cache
def _types(kind: Hashable) -> dict[str, Any]:
    hints = typing.get_type_hints(cast(Any, kind))
    return {field.name: hints[field.name] for field in dataclasses.fields(cast(Any, kind))}


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is Literal:
        if not isinstance(value, str | int) or value not in arguments:
            raise _wrong(where, value, f"one of {', '.join(map(str, arguments))}")
        return value
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is tuple:
        return _tuple(arguments, value, where)
    if dataclasses.is_dataclass(hint):
        return typed(cast(Any, hint), value, where)
    wanted: Any = Mapping if (origin or hint) is Mapping or origin is not None else hint
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise _wrong(where, value, "an object" if wanted is Mapping else wanted.__name__)
    return value


def _one_of(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    for hint in hints:
        try:
            return _value(type(None) if hint is None else hint, value, where)
        except ValueError:
            continue
    raise _wrong(where, value, " or ".join(getattr(hint, "__name__", str(hint)) for hint in hints))


def _tuple(hints: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(where, value, "a list")
    if len(hints) == 2 and hints[1] is Ellipsis:
        hints = (hints[0],) * len(value)
    if len(hints) != len(value):
        raise _wrong(where, value, f"a list of {len(hints)}")
    return tuple(_value(hint, inner, f"{where}[{i}]") for i, (hint, inner) in enumerate(zip(hints, value, strict=True)))


def _wrong(where: str, value: Any, wanted: str) -> ValueError:
    shown = repr(value)
    return ValueError(f"{where or 'it'} is {shown if len(shown) <= 60 else shown[:57] + '...'}: it must be {wanted}")
