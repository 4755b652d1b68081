"""`netspurt sweep`: cases run, continued, and looked at."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from netspurt.cli.options import count, one_of, setting
from netspurt.cli.output import columns, number, paint, print_json, progress

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.sweep import Engine, Sweep, SweepFolder, Tally


class _Words(TyperGroup):
    """A group in which what is no command of its own is the file to sweep."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Words,
    no_args_is_help=True,
    help="Run a scenario's [sweep]: netspurt sweep FILE --out DIR. The same command continues one "
    "that was interrupted.",
)

Dir = Annotated[str, typer.Argument(metavar="DIR", help="A sweep's folder.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Measure = Annotated[
    list[str],
    typer.Option(
        "--measure", "-m", help="A column, or a ratio as in dropped/sent. May be repeated."
    ),
]
By = Annotated[
    list[str] | None, typer.Option(help="What was varied and makes groups. May be repeated.")
]


@app.command("run", hidden=True)
def run(
    scenario: Annotated[
        Path, typer.Argument(help="A scenario file with a [sweep].", show_default=False)
    ],
    out: Annotated[
        str,
        typer.Option(
            help="The folder, new or unfinished; or an object store's URL.", show_default=False
        ),
    ],
    threads: Annotated[
        int, typer.Option(parser=count, metavar="N", help="Threads; 0 for one a core.")
    ] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set a value. May be repeated."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first case that fails.")
    ] = False,
    chunk: Annotated[
        int | None, typer.Option(parser=count, metavar="N", help="Cases a file, in a new folder.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(parser=one_of(("threads", "ray")), metavar="ENGINE", help="threads or ray."),
    ] = "threads",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster; by default one is started here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the cases of a sweep that its folder does not have yet."""
    from netspurt.scenario import load
    from netspurt.sweep import Sweep, SweepFailedError, run_sweep

    chosen = load(scenario)
    if set_:
        chosen = chosen.set_text(dict(setting(text) for text in set_))
    sweep = Sweep.of(chosen)
    began = time.monotonic()
    try:
        with progress(f"sweeping {scenario.name}", unit="cases") as update:
            folder, tally = run_sweep(
                sweep,
                out,
                engine=_engine(engine, threads, address),
                chunk=chunk or None,
                strict=strict,
                progress=update,
            )
    except KeyboardInterrupt:
        typer.echo("interrupted: what was done is kept; the same command goes on", err=True)
        raise
    except OSError:
        typer.echo("ended: what was done is kept; the same command goes on", err=True)
        raise
    except SweepFailedError as error:
        typer.echo(f"{paint('error:', 'bold red', sys.stderr)} {error}", err=True)
        raise typer.Exit(1) from None
    _told(folder, tally, time.monotonic() - began, as_json=as_json)


def _engine(name: str, threads: int, address: str | None) -> Callable[[Sweep], Engine]:
    if name == "ray":
        from netspurt.sweep.cluster import Ray

        return partial(Ray, address=address, workers=threads)
    from netspurt.sweep import Threads

    return partial(Threads, threads=threads)


def _told(folder: SweepFolder, tally: Tally, seconds: float, *, as_json: bool) -> None:
    everything = folder.tally()
    if as_json:
        print_json(_state(folder, everything))
        return
    typer.echo(paint(folder.title or folder.where, "bold"))
    if not tally.cases:
        typer.echo(f"{folder.where} is finished: nothing is left to run")
    elif tally.cases < everything.cases:
        typer.echo(f"continued: {number(everything.cases - tally.cases)} cases were there already")
    if tally.cases:
        pace = f"{tally.cases / seconds:.3g} cases/s"
        typer.echo(f"{number(tally.cases)} cases run in {seconds:.1f} s, {pace}")
    _tally_lines(folder, everything)


def _tally_lines(folder: SweepFolder, tally: Tally) -> None:
    left = folder.cases - tally.cases
    parts = [(tally.done, "done"), (tally.cut, "cut"), (tally.errors, "failed"), (left, "to run")]
    told = " · ".join(f"{number(n)} {word}" for n, word in parts if n or word == "done")
    typer.echo(f"{told}   kept in {folder.where}")
    if tally.first_error is not None:
        case, words = tally.first_error
        typer.echo(f"the first that failed: case {case}: {words}")


def _state(folder: SweepFolder, tally: Tally) -> dict[str, Any]:
    return {
        "folder": folder.where,
        "title": folder.title,
        "cases": folder.cases,
        "done": tally.done,
        "cut": tally.cut,
        "errors": tally.errors,
        "first_error": tally.first_error,
        "finished": tally.cases == folder.cases,
        "names": folder.names,
        "seeds": folder.seeds,
        "paired": folder.paired,
    }


@app.command("status")
def status(folder: Dir, as_json: AsJson = False) -> None:
    """Tell how far a sweep has got, and how its cases ended."""
    from netspurt.sweep import open_sweep

    opened = open_sweep(folder)
    tally = opened.tally()
    if as_json:
        print_json(_state(opened, tally))
        return
    typer.echo(paint(opened.title or opened.where, "bold"))
    over = ", ".join(f"{name} ({len(opened.labels[name])})" for name in opened.names)
    seeds = f"{opened.seeds} runs each, {'paired' if opened.paired else 'not paired'}"
    typer.echo(f"{number(opened.cases)} cases: {over + ', ' if over else ''}{seeds}")
    _tally_lines(opened, tally)


@app.command("show")
def show(
    folder: Dir,
    measure: Measure,
    by: By = None,
    percentiles: Annotated[
        list[float] | None, typer.Option("--percentile", help="From 0 to 100. May be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Summarise measures of groups of cases, with 95 % intervals."""
    from netspurt.analysis.cases import summarise
    from netspurt.sweep import open_sweep

    opened = open_sweep(folder)
    cases = opened.read()
    names = _names(opened.names if by is None else by)
    chosen = percentiles or [5, 95]
    if any(not 0 <= p <= 100 for p in chosen):
        raise typer.BadParameter("from 0 to 100", param_hint="--percentile")
    head = (*names, "cases", "mean", "95 % interval", "median", *(f"{p:g} %" for p in chosen))
    documents = []
    for one in measure:
        scale, told = _shown(one)
        rows = summarise(cases, one, names, opened.labels, chosen)
        documents += [
            {
                "group": dict(zip(names, row.labels, strict=True)),
                "measure": one,
                "cases": row.cases,
                "without": row.without,
                **_interval_document(row.mean),
                "median": _or_none(row.median),
                "percentiles": {f"{p:g}": _or_none(v) for p, v in row.percentiles.items()},
            }
            for row in rows
        ]
        if not as_json:
            cells = [
                (
                    *row.labels,
                    number(row.cases),
                    _figure(row.mean.value, scale),
                    _interval(row.mean, row.cases, scale),
                    _figure(row.median, scale),
                    *(_figure(v, scale) for v in row.percentiles.values()),
                )
                for row in rows
            ]
            _print_table(told, [head, *cells], len(names))
            if without := sum(row.without for row in rows):
                typer.echo(f"{number(without)} cases have no such measure and are left out")
    if as_json:
        print_json(documents)
    else:
        _say_what_is_missing(opened, len(cases))


@app.command("compare")
def compare(
    folder: Dir,
    axis: Annotated[str, typer.Option(help="What was varied and is compared.", show_default=False)],
    measure: Measure,
    baseline: Annotated[
        str | None, typer.Option(help="The label to compare with; by default the first.")
    ] = None,
    by: By = None,
    better: Annotated[
        str | None,
        typer.Option(parser=one_of(("less", "more")), metavar="less|more", help="What is better."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say of each label whether it is better or worse than another, or that nobody can tell."""
    from netspurt.analysis.cases import compare as compared
    from netspurt.sweep import open_sweep

    opened = open_sweep(folder)
    cases = opened.read()
    names = _names([name for name in opened.names if name != axis] if by is None else by)
    documents, verdicts = [], 0
    for one in measure:
        scale, told = _shown(one)
        rows = compared(
            cases,
            one,
            axis,
            opened.labels,
            paired=opened.paired,
            baseline=baseline,
            by=names,
            better=better,
        )
        verdicts += len(rows)
        documents += [
            {
                "group": dict(zip(names, row.labels, strict=True)),
                "measure": one,
                "axis": axis,
                "label": row.label,
                "baseline": row.baseline,
                "cases": row.pairs,
                "without": row.without,
                **_interval_document(row.difference),
                "verdict": row.verdict,
            }
            for row in rows
        ]
        if not as_json and rows:
            head = (*names, axis, "cases", f"minus {rows[0].baseline}'s", "95 % interval", "")
            cells = [
                (
                    *row.labels,
                    row.label,
                    number(row.pairs),
                    _figure(row.difference.value, scale),
                    _interval(row.difference, row.pairs, scale),
                    row.verdict,
                )
                for row in rows
            ]
            _print_table(told, [head, *cells], len(names) + 1)
            if without := sum(row.without for row in rows):
                typer.echo(
                    f"{number(without)} times a case was left out, since it or its counterpart has "
                    "no such measure"
                )
    if as_json:
        print_json(documents)
        return
    pairing = "pair by pair, as the cases share their seeds" if opened.paired else "of two groups"
    typer.echo(f"\ndifferences {pairing}")
    if verdicts >= 10:
        typer.echo(
            f"{verdicts} verdicts at 95 %: about {verdicts / 20:.0f} would come of chance alone"
        )
    _say_what_is_missing(opened, len(cases))


@app.command("plot")
def plot(
    folder: Dir,
    measure: Annotated[
        str,
        typer.Option(
            "--measure", "-m", help="A column, or a ratio as in dropped/sent.", show_default=False
        ),
    ],
    by: By = None,
    kind: Annotated[
        str,
        typer.Option(
            parser=one_of(("bar", "line", "heat-map")),
            metavar="KIND",
            help="bar, line or heat-map.",
        ),
    ] = "bar",
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The picture: .png, .svg or .pdf.")
    ] = Path("sweep.png"),
) -> None:
    """Draw a measure of groups of cases with its intervals."""
    from netspurt.analysis.cases import summarise
    from netspurt.plots import save
    from netspurt.plots.cases import draw_cases
    from netspurt.sweep import open_sweep

    opened = open_sweep(folder)
    names = _names(opened.names if by is None else by)
    rows = summarise(opened.read(), measure, names, opened.labels)
    scale, told = _shown(measure)
    if all(math.isnan(row.mean.value) for row in rows):
        raise ValueError(f"no case has a {measure}: nothing to draw")
    figures = {row.labels: row.mean.scaled(scale) for row in rows}
    save(draw_cases(kind, figures, names, told, opened.title), [out])
    typer.echo(f"wrote {out}")


def _print_table(what: str, rows: list[tuple[str, ...]], labels: int) -> None:
    typer.echo("\n" + paint(what, "bold"))
    right = range(labels, len(rows[0]))
    typer.echo("\n".join(columns(rows, right=list(right))))


def _say_what_is_missing(folder: SweepFolder, there: int) -> None:
    if there < folder.cases:
        typer.echo(f"unfinished: {number(there)} of {number(folder.cases)} cases are there")


def _shown(measure: str) -> tuple[float, str]:
    """Return by what a measure's figures are multiplied, and what it is called then."""
    if "_ns" in measure and "/" not in measure:
        return 1e-9, f"{measure.replace('_ns', '')} [s]"
    return 1.0, measure


def _figure(value: float, scale: float = 1.0) -> str:
    return "-" if math.isnan(value) else number(value * scale)


def _names(by: list[str]) -> list[str]:
    return list(dict.fromkeys(by))


def _interval(interval: Interval, cases: int, scale: float = 1.0) -> str:
    if math.isnan(interval.low):
        return "too few runs" if cases else "-"
    return f"{number(interval.low * scale)} .. {number(interval.high * scale)}"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval_document(interval: Interval) -> dict[str, float | None]:
    return {name: _or_none(getattr(interval, name)) for name in ("value", "low", "high")}
