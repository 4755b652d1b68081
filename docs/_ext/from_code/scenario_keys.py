"""Lists the keys of scenarios, from the JSON Schema that `netspurt schema` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from from_code.markdown import code, heading, table

Schema = dict[str, Any]

#: The kinds of quantities, each with its units; the unit of an example tells the kind.
_UNITS = {
    "a time": {"ns", "us", "ms", "s", "min", "h"},
    "a bit rate": {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"},
    "a size": {"B", "kB", "MB", "GB", "KiB", "MiB", "GiB"},
    "a count": {"packets", "segment", "segments"},
}
#: The tables that another page explains.
_ON_OTHER_PAGES = {"TcpSpec": "switches: see [mechanisms](mechanisms.md)"}


def schema() -> Schema:
    """Return the JSON Schema of scenarios."""
    from netspurt import _core

    parsed: Schema = json.loads(_core.schema())
    return parsed


def scenario_keys() -> str:
    """Return a section for each table of a scenario, with a row for each of its keys."""
    whole = schema()
    parts = []
    for path, part in tables_of(whole):
        rows = [_row(key, one, part, whole) for key, one in part["properties"].items()]
        title = code(path) if path else "At the top"
        parts += [heading(2, title, anchor(path)), part.get("description", ""), ""]
        parts += [table(["key", "value", "default", "meaning"], rows)]
    return "\n".join(parts)


def anchor(path: str) -> str:
    """Return the anchor of a table's section."""
    kept = "".join(sign if sign.isalnum() else "-" for sign in path.lower())
    return "keys-" + ("-".join(filter(None, kept.split("-"))) or "top")


def tables_of(whole: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield each table once, from the top down, with the first path at which the table may be."""
    waiting, seen = [("", whole)], set[str]()
    while waiting:
        path, part = waiting.pop(0)
        yield path, part
        below = []
        for key, one in part["properties"].items():
            for name, inner in _tables_in(one, whole):
                if name not in seen and name not in _ON_OTHER_PAGES:
                    seen.add(name)
                    below.append((_below(path, key, one), inner))
        waiting = below + waiting


def _below(path: str, key: str, one: Schema) -> str:
    named = isinstance(one.get("additionalProperties"), dict)
    return ".".join(filter(None, [path, key, "NAME" if named else ""]))


def _tables_in(one: Any, whole: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the tables that a value may be or contain, with their names in the schema."""
    if isinstance(one, list):
        for part in one:
            yield from _tables_in(part, whole)
    elif isinstance(one, dict):
        if "$ref" in one:
            name = one["$ref"].rpartition("/")[2]
            target = whole["$defs"][name]
            if "properties" in target:
                yield name, target
            else:
                yield from _tables_in(target, whole)
        for part in ("anyOf", "oneOf", "items", "prefixItems", "additionalProperties"):
            yield from _tables_in(one.get(part), whole)


def _row(key: str, one: Schema, part: Schema, whole: Schema) -> tuple[str, str, str, str]:
    required = key in part.get("required", ())
    default = one.get("default")
    default_text = "required" if required else "-" if default is None else code(toml(default))
    return code(key), forms(one, whole), default_text, one.get("description", "")


def toml(value: Any) -> str:
    """Return a value in the notation of scenario files (TOML)."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def forms(one: Schema, whole: Schema) -> str:
    """Return the forms that a value may have, in words."""
    texts = list(dict.fromkeys(_form_list(one, whole)))
    pairs = f"a pair of: {'; '.join(texts[:-1])}"
    # A link's value is for both directions, or a pair of values in the same forms.
    return "; ".join([*texts[:-1], "or a pair of these"] if texts[-1:] == [pairs] else texts)


def _form_list(one: Schema, whole: Schema) -> Iterator[str]:
    if "$ref" in one:
        yield from _referred(one["$ref"].rpartition("/")[2], whole)
    elif "anyOf" in one or ("oneOf" in one and "type" not in one):
        for part in one.get("anyOf") or one["oneOf"]:
            yield from _form_list(part, whole)
    else:
        yield from _plain(one, whole)


def _referred(name: str, whole: Schema) -> Iterator[str]:
    target = whole["$defs"][name]
    if name in _ON_OTHER_PAGES:
        yield _ON_OTHER_PAGES[name]
    elif "properties" in target:
        path = next(path for path, part in tables_of(whole) if part is target)
        yield f"[a table](#{anchor(path)})"
    else:
        yield from _form_list(target, whole)


def _plain(one: Schema, whole: Schema) -> Iterator[str]:
    kinds = one.get("type", "string")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if "oneOf" in one:
            yield from (code(f'"{word["const"]}"') for word in one["oneOf"])
        elif "const" in one:
            yield code(json.dumps(one["const"]))
        elif "enum" in one:
            yield from (code(json.dumps(word)) for word in one["enum"])
        elif kind == "array":
            yield _list(one, whole)
        elif kind == "object":
            yield _named(one, whole)
        elif kind in ("integer", "number"):
            yield _number(kind, one)
        elif kind == "boolean":
            yield "`true` or `false`"
        elif kind == "string":
            yield _text(one)


def _list(one: Schema, whole: Schema) -> str:
    if "prefixItems" in one:
        return "`[` " + ", ".join(forms(part, whole) for part in one["prefixItems"]) + " `]`"
    if one["items"] is True:
        return "a list"
    inner = forms(one["items"], whole)
    return f"a pair of: {inner}" if one.get("maxItems") == 2 else f"a list of: {inner}"


def _named(one: Schema, whole: Schema) -> str:
    inner = one.get("additionalProperties")
    return f"for each name: {forms(inner, whole)}" if isinstance(inner, dict) else "a table"


def _number(kind: str, one: Schema) -> str:
    minimum, maximum = one.get("minimum"), one.get("maximum")
    words = "a whole number" if kind == "integer" else "a number"
    if minimum is not None and maximum is not None and maximum < 2**31:
        return f"{words} from {minimum} to {maximum}"
    return f"{words} of {minimum} or more" if minimum is not None else words


def _text(one: Schema) -> str:
    examples = one.get("examples", ())[:2]
    shown = " or ".join(code(f'"{text}"') for text in examples)
    unit = examples[0].rpartition(" ")[2] if examples else ""
    words = next((kind for kind, units in _UNITS.items() if unit in units), "a text")
    return f"{words}, such as {shown}" if shown else words
