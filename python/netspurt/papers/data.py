"""A paper's folder: its description (`paper.toml`), its claims (`expected.csv`), its scenarios."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netspurt.scenario import Scenario, load

#: The papers that are installed with netspurt.
SHELF = Path(__file__).parent.parent / "shelf" / "papers"

Value = float | str | list[float]
#: One tolerance for all values of a claim, or a tolerance for each value.
Tolerance = float | list[float]


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
    id
        The name of the claim.
    group
        The part of the paper in which the claim stands.
    says
        The statement of the claim, in our words.
    printed
        The value in the paper.
    unit
        The unit of this value.
    threshold
        The value that we use if the paper has a phrase instead of a number.
    measure, arguments
        The measure that finds the value in runs, and its arguments. Without a measure, no run can
        decide the claim.
    compare, tolerance
        `compare` is the condition under which the measured value agrees with the printed value.
        `tolerance` is the permitted difference: one for all numbers of the value, or one for each
        number. A difference is in the claim's unit. But it is a share if the condition is `within`,
        and a factor if the condition is `factor`.
    corrected
        The value that the paper should have printed, if the paper contradicts itself.
    shape
        A weaker condition. If the number does not agree and this condition holds, the claim is
        reproduced in shape only.
    evidence
        The kind of evidence for the measured value.
    note
        A remark for the reader. If no run can decide the claim, the remark says why.
    """

    id: str
    group: str
    says: str
    printed: Value
    unit: str
    measure: str
    arguments: Mapping[str, str]
    compare: str
    tolerance: Tolerance
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

    @property
    def is_shipped(self) -> bool:
        """True if the paper is installed with netspurt."""
        return self.folder == SHELF / self.key

    @property
    def argument(self) -> str:
        """The argument with which commands find the paper: its key, or its folder."""
        return self.key if self.is_shipped else str(self.folder)

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
        return [row for _, row in table_rows(path)]

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


def read_utf8(file: Path) -> str:
    """Return the text of a file. A byte order mark is left out.

    Raises
    ------
    PaperError
        If the file is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        octet = error.start + 1
        raise PaperError(f"{file} is not UTF-8 at octet {octet}: save it as UTF-8") from None


def table_rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row of a CSV file: the number of its line, and its texts by their columns.

    Raises
    ------
    PaperError
        If the file is not UTF-8 or not CSV, if two columns have the same name, or if a row does not
        have a cell for each column.
    """
    lines = csv.reader(io.StringIO(read_utf8(file), newline=""), strict=True)
    try:
        heading = next(lines, [])
        if len(set(heading)) < len(heading):
            raise PaperError(f"{file}: two columns of the heading have the same name")
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(heading):
                raise PaperError(
                    f"{file}, line {lines.line_num}: the row has {len(cells)} cells, and the "
                    f"heading has {len(heading)} columns; write each text with a comma in double "
                    "quotes"
                )
            yield lines.line_num, dict(zip(heading, cells, strict=True))
    except csv.Error as error:
        raise PaperError(f"{file}, line {lines.line_num}: {error}") from error


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message of an error for an unknown name, with a similar name or all known names.

    Examples
    --------
    >>> unknown("key", "sett", ["set", "title"]), unknown("key", "x", ["set", "title"])
    ('unknown key `sett`: did you mean `set`?', 'unknown key `x`: the keys are set, title')
    """
    names = [*known]
    similar = difflib.get_close_matches(name, names, n=1)
    fix = f"did you mean `{similar[0]}`?" if similar else f"the {kind}s are {', '.join(names)}"
    return f"unknown {kind} `{name}`: {fix}"
