"""A paper's folder: `paper.toml`, `expected.csv`, scenarios."""

from __future__ import annotations

import csv
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netspurt.scenario import Scenario, load
from netspurt.wording import unknown_name

#: The papers that are installed with netspurt.
SHELF = Path(__file__).parent.parent / "shelf" / "papers"

#: The kinds of evidence for a measured value.
EVIDENCE = ("arithmetic", "configuration", "simulation", "surrogate", "kernel", "capture")

Value = float | str | list[float]


class PaperError(ValueError):
    """A paper does not exist, or its data are inconsistent."""


@dataclass(frozen=True)
class Shape:
    """A weaker condition for a claim whose number does not agree: a comparison and a value."""

    compare: str
    value: Value


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a paper.

    Attributes
    ----------
    id, group, says
        The name of the claim, the part of the paper in which it stands, and its statement in our
        words.
    printed, unit
        The value in the paper, and its unit.
    threshold
        The value that we use if the paper has a phrase instead of a number.
    measure, arguments
        The measure that finds the value in runs, and its arguments. Without a measure no run can
        decide the claim.
    compare, tolerance
        The condition under which the measured value agrees with the printed one, and the permitted
        difference. The difference is in the claim's unit, or a share if the condition is `within`.
    corrected
        The value that the paper should have printed, if it contradicts itself.
    shape
        A weaker condition. If the number does not agree and this condition holds, the claim is
        reproduced in shape only.
    evidence
        The kind of evidence for the measured value.
    note
        A remark for the reader. If no run can decide the claim, the remark is the reason.
    """

    id: str
    group: str
    says: str
    printed: Value
    unit: str
    measure: str
    arguments: Mapping[str, str]
    compare: str
    tolerance: float
    corrected: Value | None
    evidence: str
    note: str
    threshold: Value | None = None
    shape: Shape | None = None

    @property
    def yardstick(self) -> Value:
        """The value for the comparison: `threshold` if it is given, otherwise `printed`."""
        return self.printed if self.threshold is None else self.threshold


@dataclass(frozen=True)
class Paper:
    """A paper's claims, and the runs that decide them.

    `folder` is the paper's folder. The fields after `claims` hold the tables of `paper.toml` that
    have the same names.
    """

    key: str
    title: str
    authors: str
    published: str
    folder: Path
    claims: list[Claim]
    runs: Mapping[str, Mapping[str, Any]]
    grids: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    surrogates: Mapping[str, Any] = field(default_factory=dict)
    pictures: list[Mapping[str, Any]] = field(default_factory=list)
    contacts: Mapping[str, Any] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)
    sweeps: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, file: str) -> list[dict[str, str]]:
        """Return the rows of a table of the paper.

        Raises
        ------
        PaperError
            If there is no such table.
        """
        path = self.folder / file
        if not path.is_file():
            raise PaperError(f"{self.key}: no table in {self.folder} is called {file!r}")
        with path.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def scenario(self, run: str) -> Scenario:
        """Return the scenario of a named run."""
        if run not in self.runs:
            raise PaperError(f"{self.key}: no run in paper.toml is called {run!r}")
        settings = self.runs[run]
        title = {"title": settings["title"]} if "title" in settings else {}
        return self._scenario(settings["scenario"], {**settings.get("set", {}), **title})

    def grid(self, name: str) -> Iterator[tuple[dict[str, Any], Scenario]]:
        """Yield each combination of a grid's values, and its scenario.

        A combination has the value of each axis, by the name of the axis. The `path` of an axis is
        a dotted path, or a list of paths that all get the same value. The grid's own `set` applies
        to each combination.
        """
        if name not in self.grids:
            raise PaperError(f"{self.key}: no grid in paper.toml is called {name!r}")
        grid = self.grids[name]
        axes = grid["over"]
        for values in itertools.product(*(axis["values"] for axis in axes.values())):
            case = dict(zip(axes, values, strict=True))
            overrides = dict(grid.get("set", {}))
            for axis, value in zip(axes.values(), values, strict=True):
                paths = [axis["path"]] if isinstance(axis["path"], str) else axis["path"]
                overrides |= dict.fromkeys(paths, value)
            yield case, self._scenario(grid["scenario"], overrides)

    def _scenario(self, file: str, values: Mapping[str, Any]) -> Scenario:
        return load(self.folder / file).replace(self.placed(values))

    def placed(self, values: Mapping[str, Any], beside: Path | None = None) -> dict[str, Any]:
        """Return a scenario's values, with the paths of the files that links follow.

        These files are in the paper's folder, or in the folder `beside` if it is given.
        """
        folder = beside or self.folder
        return {
            path: str(folder / value) if path.endswith(".follows") else value
            for path, value in values.items()
        }


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
        known = unknown_name("paper", key, shelf(folder))
        raise PaperError(f"{known}, and folders with a paper.toml")
    paper_folder = own if (own / "paper.toml").is_file() else folder / key
    settings = tomllib.loads((paper_folder / "paper.toml").read_text(encoding="utf-8"))
    with (paper_folder / "expected.csv").open(encoding="utf-8", newline="") as file:
        claims = [_claim(row) for row in csv.DictReader(file)]
    return Paper(
        key=settings["key"],
        title=settings["title"],
        authors=settings["authors"],
        published=settings["published"],
        folder=paper_folder,
        claims=claims,
        runs=settings.get("runs", {}),
        grids=settings.get("grids", {}),
        surrogates=settings.get("surrogates", {}),
        pictures=settings.get("pictures", []),
        contacts=settings.get("contacts", {}),
        study=settings.get("study", {}),
        sweeps=settings.get("sweeps", {}),
    )


def _claim(row: Mapping[str, str]) -> Claim:
    try:
        if row["evidence"] and row["evidence"] not in EVIDENCE:
            known = ", ".join(EVIDENCE)
            raise ValueError(f"unknown kind of evidence: {row['evidence']}; the kinds are {known}")
        pairs = (word.partition("=") for word in row["arguments"].split())
        return Claim(
            id=row["id"],
            group=row["group"],
            says=row["says"],
            printed=json.loads(row["printed"]),
            unit=row["unit"],
            measure=row["measure"],
            arguments={name: value for name, _, value in pairs},
            compare=row["compare"],
            tolerance=float(row["tolerance"] or 0),
            corrected=json.loads(row["corrected"]) if row["corrected"] else None,
            evidence=row["evidence"],
            note=row["note"],
            threshold=json.loads(row["threshold"]) if row.get("threshold") else None,
            shape=_shape(row.get("shape") or ""),
        )
    except (KeyError, ValueError) as error:
        raise PaperError(f"expected.csv, {row.get('id')}: {error}") from error


def _shape(text: str) -> Shape | None:
    """Read `COMPARISON: VALUE`, such as `above: 0`."""
    if not text:
        return None
    compare, colon, value = text.partition(": ")
    if not colon:
        raise ValueError(f"shape {text!r}: write a comparison and a value, such as 'above: 0'")
    return Shape(compare, json.loads(value))
