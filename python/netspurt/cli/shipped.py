"""`netspurt scenarios`: the scenarios that come with netspurt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli import completing
from netspurt.cli.output import columns, paint
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.scenario import Scenario


def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A scenario to print; by default all are listed.",
            show_default=False,
            autocompletion=completing.shipped,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the scenario to this file, and beside it the files that it names with "
            "`follows`.",
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """List the scenarios that come with netspurt, or print one to copy it."""
    form = Form(as_json, as_csv)
    if name is None:
        if out is not None:
            raise typer.BadParameter("name the scenario to write", param_hint="--out")
        _list(form)
    elif not form.for_people:
        hint = "--json" if as_json else "--csv"
        raise typer.BadParameter("it applies to the list: leave NAME out", param_hint=hint)
    else:
        _copy(name, out)


def _list(form: Form) -> None:
    from netspurt.scenario import load
    from netspurt.shipped import names

    rows = [_row(name, load(name)) for name in names()]
    if not form.for_people:
        form.print(rows, rows)
        return
    cells = [
        (row["name"], row["command"], number(row["cases"]) if row["cases"] else "", row["title"])
        for row in rows
    ]
    head, *lines = columns([("scenario", "netspurt", "cases", "title"), *cells], right=[2])
    typer.echo(paint(head, "bold"))
    typer.echo("\n".join(lines))


def _row(name: str, scenario: Scenario) -> dict[str, Any]:
    """Return the row of a scenario in the list. Without a sweep, `cases` is `None`."""
    from netspurt.scenario import cases

    swept = cases(scenario)
    if scenario.programs_flow is not None:
        command = "live exec"
    elif scenario.kernel_flow is not None:
        command = "live run"
    else:
        command = "run" if swept is None else "sweep"
    return {"name": name, "command": command, "cases": swept, "title": scenario.title}


def _copy(name: str, out: Path | None) -> None:
    """Print a scenario, or write it together with the files that it names with `follows`.

    Raises
    ------
    UnknownScenarioError
        If no scenario has the name.
    FileExistsError
        If one of the files to write exists.
    """
    from netspurt.scenario import followed_names, read_text
    from netspurt.shipped import file_of
    from netspurt.stored import write_new

    file = file_of(name)
    text = read_text(file)
    followed = followed_names(text)
    if out is None:
        typer.echo(text, nl=False)
        if followed:
            needs = f"This scenario needs {', '.join(followed)} (`follows`)"
            told = f"{needs}: `--out FILE` writes the scenario and these files."
            print(told, file=sys.stderr)
        return
    copies = {out: text} | {out.parent / one: read_text(file.parent / one) for one in followed}
    for copy in copies:
        if copy.exists():
            other = "file" if copy == out else "folder"
            raise FileExistsError(f"{copy} exists: name another {other}")
    for copy, content in copies.items():
        write_new(copy, content)
    typer.echo("\n".join(f"wrote {copy}" for copy in copies))
