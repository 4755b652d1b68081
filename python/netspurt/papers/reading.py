"""Reads papers: `paper.toml`, and the claims in `expected.csv`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netspurt.papers.data import (
    SHELF,
    Claim,
    Paper,
    PaperError,
    Shape,
    Tolerance,
    Value,
    table_rows,
    unknown,
)
from netspurt.papers.settings import read_settings
from netspurt.wording import unknown_name

#: The kinds of evidence for a measured value.
EVIDENCE = ("arithmetic", "configuration", "simulation", "surrogate", "kernel", "capture")

#: The columns of `expected.csv`. The last two may be missing.
_COLUMNS = (
    *("id", "group", "says", "printed", "unit", "measure", "arguments", "compare", "tolerance"),
    *("corrected", "evidence", "note", "threshold", "shape"),
)
_REQUIRED = _COLUMNS[:-2]


def shelf(folder: Path = SHELF) -> list[str]:
    """Return the keys of all papers."""
    return sorted(path.parent.name for path in folder.glob("*/paper.toml"))


def read_paper(key: str, folder: Path = SHELF) -> Paper:
    """Read an installed paper, or a folder of your own that has a `paper.toml`.

    Raises
    ------
    PaperError
        If there is no such paper, or its data are inconsistent.
    """
    own = Path(key)
    if not (own / "paper.toml").is_file() and key not in shelf(folder):
        names = [*shelf(folder), "and folders with a paper.toml"]
        raise PaperError(unknown_name("paper", key, names))
    paper_folder = own if (own / "paper.toml").is_file() else folder / key
    settings = read_settings(paper_folder / "paper.toml")
    claims = _read_claims(paper_folder / "expected.csv")
    return Paper(folder=paper_folder, claims=claims, **{"runs": {}, **settings})


def _read_claims(file: Path) -> list[Claim]:
    claims: dict[str, Claim] = {}
    for line, row in table_rows(file):
        place = f"{file}, line {line}"
        if not claims:
            _check_columns(file, row)
        claim = _claim(f"{place}, {row['id']}" if row["id"] else place, row)
        if claim.id in claims:
            raise PaperError(f"{place}: an earlier claim has the id {claim.id!r}, too")
        claims[claim.id] = claim
    if not claims:
        raise PaperError(f"{file} has no claims: write a row for each claim below the heading")
    return list(claims.values())


def _check_columns(file: Path, row: Mapping[str, str]) -> None:
    for column in row:
        if column not in _COLUMNS:
            raise PaperError(f"{file}: {unknown('column', column, _COLUMNS)}")
    missing = [column for column in _REQUIRED if column not in row]
    if missing:
        raise PaperError(f"{file}: the heading lacks the columns {', '.join(missing)}")


def _claim(place: str, row: Mapping[str, str]) -> Claim:
    try:
        return Claim(
            id=_filled("id", row["id"]),
            group=row["group"],
            says=row["says"],
            printed=_value("printed", row["printed"]),
            unit=row["unit"],
            measure=row["measure"],
            arguments=_arguments(row["arguments"]),
            compare=row["compare"],
            tolerance=_tolerance(row["tolerance"]),
            corrected=_value("corrected", row["corrected"]) if row["corrected"] else None,
            evidence=_evidence(row["evidence"], row["measure"]),
            note=row["note"],
            threshold=_value("threshold", row["threshold"]) if row.get("threshold") else None,
            shape=_shape(row.get("shape") or ""),
        )
    except ValueError as error:
        raise PaperError(f"{place}: {error}") from error


def _filled(column: str, text: str) -> str:
    if not text:
        raise ValueError(f"the column `{column}` is empty")
    return text


def _value(column: str, text: str) -> Value:
    """Read a number, a text or a list of numbers from JSON."""
    fix = "write a number, a text in double quotes, or a list of numbers such as [1, 2]"
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, str) and not all(map(_is_number, _items(value))):
        raise ValueError(f"{column} {text!r}: {fix}")
    result: Value = value
    return result


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_number(value: Any) -> bool:
    # In Python `True` is a number, but in JSON it is not.
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _arguments(text: str) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"argument {word!r}: write NAME=VALUE, with spaces between arguments")
        if name in arguments:
            raise ValueError(f"the argument `{name}` is there twice: leave one out")
        arguments[name] = value
    return arguments


def _tolerance(text: str) -> Tolerance:
    """Read a number or a list of numbers from JSON."""
    try:
        tolerance = json.loads(text or "0")
    except ValueError:
        tolerance = None
    if not all(_is_number(each) and each >= 0 for each in _items(tolerance)):
        fix = "write a number such as 0.5 that is not negative, or a list with one for each value"
        raise ValueError(f"tolerance {text!r}: {fix}")
    return [float(each) for each in tolerance] if isinstance(tolerance, list) else float(tolerance)


def _evidence(text: str, measure: str) -> str:
    known = ", ".join(EVIDENCE)
    if measure and not text:
        raise ValueError(f"a claim with a measure needs a kind of evidence: {known}")
    if text and text not in EVIDENCE:
        raise ValueError(f"unknown kind of evidence: {text}; the kinds are {known}")
    return text


def _shape(text: str) -> Shape | None:
    """Read `COMPARISON: VALUE`, such as `above: 0`."""
    if not text:
        return None
    compare, colon, value = text.partition(": ")
    if not colon:
        raise ValueError(f"shape {text!r}: write a comparison and a value, such as 'above: 0'")
    return Shape(compare, _value("shape", value))
