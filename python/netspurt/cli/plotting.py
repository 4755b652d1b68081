"""`netspurt plot`: draw a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.crossing import crossing_lines
from netspurt.cli.opening import busiest, is_explained, is_run, open_tables
from netspurt.cli.options import Direction, From, To, one_of
from netspurt.cli.output import named
from netspurt.picture_files import check_ending

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.run import Run

#: Kinds of plots that any packets have, whether they were simulated or captured.
TRAFFIC = ("outstanding", "throughput", "density", "flows")

#: Kinds of plots.
_KINDS = ("time-sequence", "cwnd", "rto", "queue", "path", *TRAFFIC)
#: The kinds that show links.
_OF_LINKS = ("queue", "path")
#: The kinds that `all` draws, for runs and for captures.
_OF_RUNS = ("time-sequence", "cwnd", "rto", "queue")
_OF_CAPTURES = ("time-sequence", "rto", *TRAFFIC)
_ALL = "all"

Kind = Annotated[
    str,
    typer.Option(
        parser=one_of((*_KINDS, _ALL)),
        metavar="KIND",
        help=f"What to draw: {', '.join(_KINDS)}, or all.",
        autocompletion=lambda: [*_KINDS, _ALL],
    ),
]


def plot(
    run: Annotated[Path, typer.Argument(help="A run folder or a capture.", show_default=False)],
    kind: Kind = _KINDS[0],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file, .png, .svg or .pdf, or .xpl for xplot; by default .png and .svg in the "
            "run, or beside the capture. A picture of that name is replaced, in each form: the run "
            "or the capture makes it again."
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow. By default the first; in a capture the one with the most data. c0 is "
            "the first connection of a capture. `flows` plots take several, as A,B."
        ),
    ] = None,
    direction: Direction = None,
    node: Annotated[str | None, typer.Option(help="The spied node; by default the first.")] = None,
    link: Annotated[
        str | None,
        typer.Option(
            help="The link; by default all with queues, and for `path` the first that changes."
        ),
    ] = None,
    start: From = None,
    end: To = None,
) -> None:
    """Draw a run or a capture as PNG and SVG."""
    from netspurt.plots import OPTIONS, View, busier, draw, draw_path, save
    from netspurt.plots.xplot import write_xplot

    opened = open_tables(run, flow)
    _check_out(out, kind)
    captured = is_explained(opened)
    if captured and kind in ("cwnd", "queue", "path"):
        raise ValueError(f"a capture does not show {kind}: choose among {', '.join(_OF_CAPTURES)}")
    several = kind == "flows"
    if captured and flow is None and direction is None and not several:
        flow, direction = busiest(opened) or (None, None)
    given: dict[str, Any] = {"flow": flow, "direction": direction, "node": node, "link": link}
    for each in _all_of(captured=captured) if kind == _ALL else [kind]:
        applied = given
        if kind == _ALL:
            applied = {name: given[name] for name in OPTIONS[each]}
            applied |= {"flow": None} if each == "flows" else {}
        view = View(start=start, end=end, **applied)
        if out is not None and out.suffix == ".xpl":
            with _naming(run):
                write_xplot(out, opened, each, view)
            typer.echo(out)
            continue
        with _naming(run):
            figure = draw_path(opened, view) if each == "path" else draw(opened, each, view)
        stem = run.parent / f"{run.name}-{each}" if captured else run / each
        files = [out] if out else [Path(f"{stem}.png"), Path(f"{stem}.svg")]
        save(figure, files)
        for file in files:
            typer.echo(file)
        if each == "rto" and is_run(opened):
            shown = direction or busier(opened, flow)
            for line in crossing_lines(opened.crossings(flow, shown, start=start, end=end)):
                print(line, file=sys.stderr)
    if is_explained(opened):
        if not several:
            _name_the_connection(opened, flow)
    elif is_run(opened) and flow is None and direction is None and kind not in _OF_LINKS:
        _hint_at_the_other(opened)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the name of the run or the capture to errors from drawing it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{named(str(path))}: {error}") from error


def _all_of(*, captured: bool) -> tuple[str, ...]:
    return _OF_CAPTURES if captured else _OF_RUNS


def _hint_at_the_other(run: Run) -> None:
    """Print which direction was drawn, and how to draw the other, if the first flow has both."""
    from netspurt.plots import busier

    flows = run.flows
    if flows["direction"].tolist()[:2] != ["forward", "reverse"]:
        return
    reverse = busier(run) == "reverse"
    what = f"shown: data from {flows['from'][int(reverse)]} in flow {flows['flow'][0]}"
    other = "forward" if reverse else "reverse"
    print(f"{what}, which has more; for the other use --direction {other}", file=sys.stderr)


def _check_out(out: Path | None, kind: str) -> None:
    """Check the file of a picture.

    Raises
    ------
    ValueError
        If the pictures are several, or the file's ending is not one of a picture or of xplot.
    """
    if out is None:
        return
    if kind == _ALL:
        raise ValueError("--kind all draws several pictures: leave --out out, or name one kind")
    if out.suffix != ".xpl":
        check_ending(out, ", or in .xpl for xplot")


def _name_the_connection(opened: Explained, flow: str | None) -> None:
    """Print which connection was drawn, if the capture has several."""
    count = len(set(opened.table("connections")["connection"].tolist()))
    if count > 1:
        print(f"drawn: {flow} of {count} connections; --flow chooses another", file=sys.stderr)
