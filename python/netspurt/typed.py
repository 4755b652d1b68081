"""JSON objects read as dataclasses. If a key or a type is wrong, the error names the key."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


#: The bounds of whole numbers: 64 bits, signed or unsigned. A larger one is not read as a float.
_LEAST, _MOST = -(2**63), 2**64 - 1


class TypedError(ValueError):
    """JSON that does not have the keys and types that it should have."""


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
        raise TypedError("it is nested too deeply") from None
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
    found: T = _read(kind, value, "")
    return found


def _read(kind: Any, value: Any, key: str) -> Any:
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, key)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments, value, key)
    if origin is list:
        return [_read(arguments[0], one, f"{key}[{n}]") for n, one in _each(value, list, key)]
    if origin is dict:
        pairs = _each(value, dict, key)
        return {name: _read(arguments[1], one, _below(key, name)) for name, one in pairs}
    # In Python `True` is an `int`, but in JSON it is not a number. A whole number may be a float.
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise TypedError(f"`{key}` is not a value of type {kind.__name__}")
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise TypedError(f"`{key}` is a number of more than 64 bits")
    return value


def _object(kind: Any, value: Any, key: str) -> Any:
    if not isinstance(value, dict):
        raise TypedError(f"`{key}` is not an object" if key else "it holds no JSON object")
    hints = typing.get_type_hints(kind)
    fields = {field.metadata.get("key", field.name): field for field in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise TypedError(f"there is no key `{_below(key, name)}`")
    for name, field in fields.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and name not in value:
            raise TypedError(f"it lacks `{_below(key, name)}`")
    named = ((fields[name].name, name, one) for name, one in value.items())
    return kind(**{own: _read(hints[own], one, _below(key, name)) for own, name, one in named})


def _one_of(kinds: tuple[Any, ...], value: Any, key: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    wrong: list[TypedError] = []
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(kind, value, key)
        except TypedError as error:
            wrong.append(error)
    raise wrong[0]


def _each(value: Any, kind: type[Any], key: str) -> Any:
    if not isinstance(value, kind):
        raise TypedError(f"`{key}` is not a value of type {kind.__name__}")
    return value.items() if kind is dict else enumerate(value)


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
