"""JSON objects read as dataclasses. If a key or a type is wrong, the error names the key."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


#: The bounds of whole numbers: 64 bits, signed or unsigned. Other whole numbers are errors.
_WHOLE_MIN, _WHOLE_MAX = -(2**63), 2**64 - 1


class TypedError(ValueError):
    """A text that is not JSON, or JSON that does not have the keys and types it should have."""


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises
    ------
    TypedError
        If the text is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise TypedError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise TypedError(str(error)) from error


def read(kind: type[T], value: object) -> T:
    """Return a JSON value as a dataclass.

    Parameters
    ----------
    kind
        The dataclass. Its fields may be dataclasses, `list[...]`, `dict[str, ...]`, unions, `Any`
        and the types of JSON. A field with a default may be missing. If a key is not a valid name
        in Python, the field has the key as `metadata={"key": ...}`.
    value
        A value that `parse` returned.

    Raises
    ------
    TypedError
        If a key is missing or unknown, or a value has another type or more than 64 bits.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Reply:
    ...     rtt_ns: int
    ...     by: str = "kernel"
    >>> read(Reply, {"rtt_ns": 5})
    Reply(rtt_ns=5, by='kernel')
    >>> read(Reply, {"rtt_ns": "5"})
    Traceback (most recent call last):
    netspurt.typed.TypedError: `rtt_ns` is not a value of type int
    """
    result: T = _read(kind, value, "")
    return result


def _read(kind: Any, value: Any, key: str) -> Any:
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, key)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments, value, key)
    if origin is list:
        items = _each(value, list, key)
        return [_read(arguments[0], item, f"{key}[{n}]") for n, item in items]
    if origin is dict:
        pairs = _each(value, dict, key)
        return {name: _read(arguments[1], item, _below(key, name)) for name, item in pairs}
    # In Python `True` is an `int`, but in JSON it is not a number. A field of type `float` also
    # takes a whole number.
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise TypedError(f"`{key}` is not a value of type {kind.__name__}")
    if isinstance(value, int) and not _WHOLE_MIN <= value <= _WHOLE_MAX:
        raise TypedError(f"`{key}` is a number of more than 64 bits")
    return value


def _object(kind: Any, value: Any, key: str) -> Any:
    if not isinstance(value, dict):
        raise TypedError(f"`{key}` is not an object" if key else "the text is not a JSON object")
    hints = typing.get_type_hints(kind)
    fields = {field.metadata.get("key", field.name): field for field in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise TypedError(f"the key `{_below(key, name)}` is unknown")
    for name, field in fields.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and name not in value:
            raise TypedError(f"the key `{_below(key, name)}` is missing")
    arguments = {}
    for name, item in value.items():
        field_name = fields[name].name
        arguments[field_name] = _read(hints[field_name], item, _below(key, name))
    return kind(**arguments)


def _one_of(kinds: tuple[Any, ...], value: Any, key: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    mistakes: list[TypedError] = []
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(kind, value, key)
        except TypedError as error:
            mistakes.append(error)
    raise mistakes[0]


def _each(value: Any, kind: type[Any], key: str) -> Any:
    if not isinstance(value, kind):
        raise TypedError(f"`{key}` is not a value of type {kind.__name__}")
    return value.items() if kind is dict else enumerate(value)


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
