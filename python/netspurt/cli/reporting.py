"""`netspurt report`: one page of HTML that shows runs, captures, recordings and sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.opening import is_explained, is_run, open_tables
from netspurt.cli.output import named

if TYPE_CHECKING:
    from netspurt.report import Section
    from netspurt.report.compared import Subject

#: The name of a page without `--out`.
_PAGE = "report.html"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Run folders and captures; two of them stand side by side.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page; by default report.html in the run, beside the capture, or of several "
            "here.",
        ),
    ] = None,
) -> None:
    """Write a page of HTML with words, tables and linked pictures, which opens without a network.

    An existing file is never overwritten.
    """
    from netspurt.report import page
    from netspurt.stored import check_free, write_new

    file = check_free(out or _usual(paths), "file")
    write_new(file, page(_sections(paths), file))
    typer.echo(file)


def _usual(paths: Sequence[Path]) -> Path:
    """Return where the page goes without `--out`."""
    if len(paths) > 1:
        return Path(_PAGE)
    only = paths[0]
    return only / _PAGE if only.is_dir() else only.with_name(f"{only.name}-{_PAGE}")


def _sections(paths: Sequence[Path]) -> list[Section]:
    """Return what is told of the paths, in their order; two are compared."""
    from netspurt.report import capture_section, compared_section, run_section
    from netspurt.report.drawn import BUDGET

    subjects = _subjects(paths)
    if len(subjects) == 2:
        return [compared_section(subjects)]
    room = BUDGET // len(subjects)
    sections = []
    for one in subjects:
        if is_run(one.run):
            sections.append(run_section(one.run, one.name, room))
        elif is_explained(one.run):
            sections.append(capture_section(one.run, one.name, one.lines, room))
    return sections


def _subjects(paths: Sequence[Path]) -> list[Subject]:
    """Open the paths; names tell them apart."""
    from netspurt.cli.explained import pooled
    from netspurt.report.compared import Subject

    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    subjects = []
    for path, name in zip(paths, names, strict=True):
        opened = open_tables(path)
        lines = list(pooled(opened)) if is_explained(opened) else []
        subjects.append(Subject(opened, named(name), lines))
    return subjects
