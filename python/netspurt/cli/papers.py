"""`netspurt papers`: published experiments, number by number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.options import count
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.cli.words import App

if TYPE_CHECKING:
    from netspurt.papers import Paper

app = App(help="Reproduce published experiments, number by number.")

RUNS = Path("runs") / "papers"


def _keys(incomplete: str) -> list[str]:
    from netspurt.papers import shelf

    return [key for key in shelf() if key.startswith(incomplete)]


def _ids(incomplete: str) -> list[str]:
    from netspurt.papers import read_paper, shelf

    ids = [claim.id for key in shelf() for claim in read_paper(key).claims]
    return [claim_id for claim_id in ids if claim_id.startswith(incomplete)]


@app.command("list")
def list_papers(as_csv: AsCsv = False, as_json: AsJson = False) -> None:
    """List the papers."""
    from netspurt.cli import paper_report

    paper_report.list_papers(Form(as_json, as_csv))


@app.command("show")
def show(
    key: Annotated[
        str, typer.Argument(help="The paper.", show_default=False, autocompletion=_keys)
    ],
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Show what a paper claims, and how each claim is judged."""
    from netspurt.cli import paper_report

    paper_report.show(key, Form(as_json, as_csv))


@app.command("check")
def check(
    key: Annotated[
        str | None,
        typer.Argument(
            help="A paper, or a folder with a paper of your own; by default all papers.",
            autocompletion=_keys,
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Show how one claim got its verdict.", autocompletion=_ids),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for pictures; by default runs/papers/KEY.")
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(help="Use the results in this folder, which `netspurt papers study` made."),
    ] = None,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief", help="Print the counts of verdicts, and the claims that are not reproduced."
        ),
    ] = False,
) -> None:
    """Run a paper's experiments and judge every claim."""
    from netspurt.cli import paper_report
    from netspurt.papers import read_paper, shelf

    form = Form(as_json, as_csv)
    if out is not None and (brief or explain is not None or not form.for_people):
        others = "--json, --csv, --brief and --explain"
        raise ValueError(f"--out is for pictures: leave it out, because {others} draw none")
    if brief and (explain is not None or not form.for_people):
        raise ValueError("--brief prints text: leave --json, --csv and --explain out")
    if explain is not None and as_csv:
        raise ValueError("--explain shows one claim and prints no CSV: use --json")
    if study is not None and key is None and explain is None:
        raise ValueError("--study applies to one paper: name its key")
    if study is not None and not study.is_dir():
        raise ValueError(f"{study} is not a folder: `netspurt papers study` makes one")
    papers = [read_paper(k) for k in ([key] if key else shelf())]
    if explain is not None:
        paper_report.explain(papers, explain, as_json=as_json, study=study)
    elif not form.for_people:
        paper_report.check_for_programs(papers, form, study)
    else:
        for paper in papers:
            if brief:
                paper_report.check_in_brief(paper, study)
                continue
            paper_report.check_for_people(paper, out or RUNS / _folder_name(paper), study)


def _folder_name(paper: Paper) -> str:
    """Return the name of the folder for pictures.

    A user's own paper gets another folder than an installed paper with the same key.
    """
    from netspurt.papers import shelf

    return paper.key if paper.is_shipped or paper.key not in shelf() else f"{paper.key}-own"


def _rows(ctx: typer.Context, incomplete: str) -> list[str]:
    from netspurt.cli.paper_paths import rows_of

    return [name for name in rows_of(ctx.params["key"]) if name.startswith(incomplete)]


@app.command("path")
def path(
    key: Annotated[
        str, typer.Argument(help="The paper.", show_default=False, autocompletion=_keys)
    ],
    row: Annotated[
        str,
        typer.Argument(
            help="A row of the paper's table of delay against length.",
            show_default=False,
            autocompletion=_rows,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The scenario file; by default it is named after the row.")
    ] = None,
) -> None:
    """Write a scenario whose probes have nearly the delays that a row of a paper's table prints."""
    from netspurt.cli.paper_paths import write_path

    write_path(key, row, out)


@app.command("curves")
def curves(
    key: Annotated[
        str, typer.Argument(help="The paper.", show_default=False, autocompletion=_keys)
    ],
    out: Annotated[Path | None, typer.Option(help="The folder; by default curves/KEY.")] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Compute when a paper's satellites can be reached, and write a file for each contact.

    Each file has the delay during one contact. A link can follow such a file.
    """
    from netspurt.cli.paper_study import write_curves

    write_curves(key, out, Form(as_json, as_csv))


@app.command("study")
def study(
    key: Annotated[
        str, typer.Argument(help="The paper.", show_default=False, autocompletion=_keys)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the results. If it has a part of the study, only the rest is run. "
            "By default runs/papers/KEY/study."
        ),
    ] = None,
    threads: Annotated[
        int,
        typer.Option(parser=count, metavar="N", help="The number of threads; 0 for one per core."),
    ] = 0,
) -> None:
    """Run a paper's whole study. `check --study` uses its results; `check` alone runs a part."""
    from netspurt.cli.paper_study import run_study

    run_study(key, out, threads)
