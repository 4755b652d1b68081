"""The keys of `paper.toml` and the checks of their values. The file describes a paper's runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netspurt.papers.data import PaperError, read_utf8, unknown
from netspurt.pictures.view import View
from netspurt.typed import read

#: The types of the values of keys, with their names in errors.
_TEXT, _WHOLE, _NUMBER, _TABLE, _LIST = "a text", "a whole number", "a number", "a table", "a list"
_PATHS = "a text or a list"
_TYPES: dict[str, tuple[type, ...]] = {
    _TEXT: (str,),
    _WHOLE: (int,),
    _NUMBER: (int, float),
    _TABLE: (dict,),
    _LIST: (list,),
    _PATHS: (str, list),
}


@dataclass(frozen=True)
class _Keys:
    """The keys that a table must have and may have, each with the type of its value."""

    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)


_PAPER = _Keys(
    dict.fromkeys(("key", "title", "authors", "published"), _TEXT),
    {
        **dict.fromkeys(("runs", "grids", "sweeps", "surrogates", "contacts", "study"), _TABLE),
        "pictures": _LIST,
    },
)
_RUN = _Keys({"scenario": _TEXT}, {"title": _TEXT, "set": _TABLE, "contact": _TEXT})
_GRID = _Keys({"scenario": _TEXT, "over": _TABLE}, {"set": _TABLE})
_AXIS = _Keys({"path": _PATHS, "values": _LIST})
_SWEEP = _Keys(
    {"scenario": _TEXT, "over": _TABLE, "seeds": _WHOLE, "quick": _TABLE}, {"set": _TABLE}
)
_QUICK = _Keys({"seeds": _WHOLE, "stop": _TEXT})
_FIGURE = _Keys({"figure": _TEXT, "file": _TEXT}, {"arguments": _TABLE})
_PICTURE = _Keys({"run": _TEXT, "kind": _TEXT, "file": _TEXT}, {"view": _TABLE})
_CONTACTS = _Keys(dict.fromkeys(("table", "orbits", "day"), _TEXT))
_STUDY = _Keys(
    {
        **dict.fromkeys(("sizes", "clocks"), _LIST),
        **dict.fromkeys(("every", "shift"), _NUMBER),
        **dict.fromkeys(("seed", "quick"), _WHOLE),
    }
)
_SURROGATES = _Keys(
    {
        **dict.fromkeys(("accounts", "lines", "hosts"), _TEXT),
        **dict.fromkeys(("probes", "seeds"), _WHOLE),
        "variants": _LIST,
    }
)
_VARIANT = _Keys({"structure": _TEXT}, {"burst": _WHOLE})


def read_settings(file: Path) -> dict[str, Any]:
    """Return the values of a `paper.toml` after checks of its keys and of the values' types.

    Raises
    ------
    PaperError
        If the file is not TOML in UTF-8, if a key is missing or unknown, if a value has the wrong
        type, or if a picture has an unknown run or a wrong view.
    """
    try:
        settings = tomllib.loads(read_utf8(file))
    except tomllib.TOMLDecodeError as error:
        raise PaperError(f"{file}: {error}") from error
    _check(str(file), settings, _PAPER)
    for name, run in settings.get("runs", {}).items():
        _check(f"{file}, [runs.{name}]", run, _RUN)
    for name, grid in settings.get("grids", {}).items():
        place = f"{file}, [grids.{name}]"
        _check(place, grid, _GRID)
        for axis, values in grid["over"].items():
            _check(f"{place}, over.{axis}", values, _AXIS)
    for name, sweep in settings.get("sweeps", {}).items():
        place = f"{file}, [sweeps.{name}]"
        _check(place, sweep, _SWEEP)
        _check(f"{place}, quick", sweep["quick"], _QUICK)
    for nth, picture in enumerate(settings.get("pictures", []), 1):
        _check_picture(f"{file}, [[pictures]] {nth}", picture, settings.get("runs", {}))
    for name, keys in (("contacts", _CONTACTS), ("study", _STUDY), ("surrogates", _SURROGATES)):
        if name in settings:
            _check(f"{file}, [{name}]", settings[name], keys)
    for nth, variant in enumerate(settings.get("surrogates", {}).get("variants", []), 1):
        _check(f"{file}, [surrogates], variant {nth}", variant, _VARIANT)
    return settings


def _check(place: str, table: Any, keys: _Keys) -> None:
    """Raise an error if a table does not have the keys and types that it should have."""
    known = {**keys.required, **keys.optional}
    if not isinstance(table, dict):
        raise PaperError(f"{place}: write a table with the keys {', '.join(known)}")
    for key, value in table.items():
        if key not in known:
            raise PaperError(f"{place}: {unknown('key', key, known)}")
        if not isinstance(value, _TYPES[known[key]]) or isinstance(value, bool):
            raise PaperError(f"{place}: the value of `{key}` is not {known[key]}")
    for key in keys.required:
        if key not in table:
            raise PaperError(f"{place}: the key `{key}` is missing: write {known[key]}")


def _check_picture(place: str, picture: Any, runs: Mapping[str, Any]) -> None:
    is_figure = isinstance(picture, dict) and "figure" in picture
    _check(place, picture, _FIGURE if is_figure else _PICTURE)
    if is_figure:
        return
    if picture["run"] not in runs:
        raise PaperError(f"{place}: {unknown('run', picture['run'], runs)}")
    try:
        read(View, picture.get("view", {}))
    except ValueError as error:
        raise PaperError(f"{place}, view: {error}") from error
