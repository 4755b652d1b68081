"""`netspurt plot` draws a run or a capture.

A spied node is a node whose packets the run recorded.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli import crossing
from netspurt.cli.opening import busiest, flow_of, is_explained, is_run, open_tables
from netspurt.cli.options import Direction, From, To, some_of
from netspurt.cli.output import hint_at_direction, named, paint
from netspurt.picture_files import check_ending
from netspurt.wording import number, unknown_name

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.run import Run

#: Kinds of plots that need only packets, whether they were simulated or captured.
TRAFFIC = ("outstanding", "throughput", "density", "flows")

#: Kinds of plots.
_KINDS = ("time-sequence", "cwnd", "rto", "queue", "path", *TRAFFIC)
#: The kinds that show links.
_OF_LINKS = ("queue", "path")
#: The kinds that need a run, because a capture does not have their values.
_OF_RUNS = ("cwnd", "queue", "path")
_OF_CAPTURES = tuple(kind for kind in _KINDS if kind not in _OF_RUNS)
_ALL = "all"

#: For each word that users may write instead of a kind: the kind that shows its values.
_SHOWN_BY = {
    **dict.fromkeys(("rtt", "rtts", "delay", "delays", "timer", "timers"), "rto"),
    **dict.fromkeys(("window", "ssthresh"), "cwnd"),
    **dict.fromkeys(("goodput", "rate"), "throughput"),
    **dict.fromkeys(("sequence", "segments", "retransmissions"), "time-sequence"),
    **dict.fromkeys(("flight", "flight_size", "pipe"), "outstanding"),
}


def _kinds_of(text: str) -> str:
    """Return the kinds that the user names. For a word of `_SHOWN_BY` the error names its kind."""
    for word in (part.strip() for part in text.split(",")):
        if kind := _SHOWN_BY.get(word):
            raise typer.BadParameter(f"{word!r} is not a kind: `--kind {kind}` shows it")
    return some_of((*_KINDS, _ALL))(text)


Kind = Annotated[
    str,
    typer.Option(
        parser=_kinds_of,
        metavar="KIND",
        help=f"What to draw: {', '.join(_KINDS)}; or several of these, as A,B; or all, which "
        "draws each kind whose tables were recorded.",
        autocompletion=lambda: [*_KINDS, _ALL],
    ),
]


def plot(
    run: Annotated[Path, typer.Argument(help="A run folder or a capture.", show_default=False)],
    kind: Kind = _KINDS[0],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The picture: .png, .svg or .pdf, or .xpl for xplot. By default a .png and a .svg "
            "in the run folder or beside the capture. An existing picture is replaced."
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow. By default the first flow of a run, or the connection of a capture "
            "with the most data. c0 is the first connection of a capture. The kind flows takes "
            "several, as A,B."
        ),
    ] = None,
    direction: Direction = None,
    node: Annotated[
        str | None,
        typer.Option(
            help="The spied node whose packets are drawn. By default the sender's node, or the "
            "first spied node if the sender's node was not spied."
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            help="The link. By default the links with drops or long queues; for the kind path, the "
            "first link that changes in time."
        ),
    ] = None,
    start: From = None,
    end: To = None,
) -> None:
    """Draw a run or a capture, by default as PNG and SVG."""
    flow, is_chosen = flow_of(run, flow), flow is not None
    opened = open_tables(run, flow)
    kinds = list(dict.fromkeys(kind.split(",")))
    _check_out(out, kinds)
    captured = is_explained(opened)
    if is_explained(opened) and not opened.tcp:
        raise ValueError(f"{named(str(run))}: the capture has no packets of TCP: nothing to draw")
    if unseen := [one for one in kinds if captured and one in _OF_RUNS]:
        what, instead = ", ".join(unseen), ", ".join(_OF_CAPTURES)
        raise ValueError(f"a capture does not show {what}: choose among {instead}")
    if captured and flow is None and direction is None and kinds != ["flows"]:
        flow, direction = busiest(opened) or (None, None)
    given = {"flow": flow, "direction": direction, "node": node, "link": link}
    request = _PlotRequest(run, opened, given, (start, end), out)
    if _ALL in kinds:
        _draw_all(request)
    else:
        for one in kinds:
            _check_tables(request, one)
        for one in kinds:
            request.draw(one, given if len(kinds) == 1 else request.applied(one))
    if is_explained(opened):
        if kinds != ["flows"] and flow is not None and not is_chosen:
            _name_the_connection(opened, flow)
    elif is_run(opened) and flow is None and direction is None and {*kinds} - {*_OF_LINKS}:
        _name_the_flow(opened, kinds)


def _note(text: str) -> None:
    """Print a note about the pictures to the standard error."""
    print(f"{paint('note:', 'yellow', sys.stderr)} {text}", file=sys.stderr)


@dataclass(frozen=True)
class _PlotRequest:
    """What the user asked to draw, and the file for it.

    Attributes
    ----------
    path, opened
        The run or the capture: its path, and its tables.
    given
        The flow, the direction, the node and the link that the user named.
    during
        The start and the end of the drawn time [s].
    out
        The file; `None` for the usual names.
    """

    path: Path
    opened: Run | Explained
    given: dict[str, str | None]
    during: tuple[float | None, float | None]
    out: Path | None

    def missing(self, kind: str) -> list[str]:
        """Return the tables that a kind needs and that the run did not record."""
        from netspurt.plots import NEEDS

        there = self.opened.tables if is_run(self.opened) else NEEDS.get(kind, ())
        return [table for table in NEEDS.get(kind, ()) if table not in there]

    def to_record(self, tables: Iterable[str]) -> str:
        """Return the option that makes a run record these tables in addition to its own tables."""
        from netspurt.run import OF_SEGMENTS, RECORDED

        kept = {*tables, *(self.opened.tables if is_run(self.opened) else ())}
        names = [name for name in RECORDED if name in kept and name not in OF_SEGMENTS]
        return f"--set record.tables='{json.dumps(names)}'"

    def applied(self, kind: str) -> dict[str, str | None]:
        """Return the values of `given` that apply to one of several drawn kinds."""
        from netspurt.plots import OPTIONS

        applied = {name: self.given[name] for name in OPTIONS.get(kind, ("link",))}
        return applied | ({"flow": None} if kind == "flows" else {})

    def draw(self, kind: str, applied: dict[str, Any]) -> None:
        """Draw a kind, write its files, and print their names."""
        from netspurt.plots import View, busier, draw, draw_path, save
        from netspurt.plots.xplot import write_xplot

        (start, end), opened = self.during, self.opened
        with _naming(self.path):
            view = View(start=start, end=end, **applied)
            if self.out is not None and self.out.suffix == ".xpl":
                write_xplot(self.out, opened, kind, view)
                typer.echo(self.out)
                return
            figure = draw_path(opened, view) if kind == "path" else draw(opened, kind, view)
        name = f"{self.path.name}-{kind}"
        stem = self.path / kind if is_run(opened) else self.path.parent / name
        files = [self.out] if self.out else [Path(f"{stem}.png"), Path(f"{stem}.svg")]
        replaced = [named(str(file)) for file in files if file.exists()]
        save(figure, files)
        for file in files:
            typer.echo(file)
        if replaced:
            _note(f"replaced {' and '.join(replaced)}")
        if kind == "rto" and is_run(opened):
            flow = self.given["flow"]
            shown = self.given["direction"] or busier(opened, flow)
            found = opened.crossings(flow, shown, start=start, end=end)
            words = ["netspurt", "table", str(self.path), crossing.NAME]
            words += ["--flow", flow] if flow else []
            words += ["--direction", shown] if shown == "reverse" else []
            words += [] if start is None else ["--from", f"{start:.9g}"]
            words += [] if end is None else ["--to", f"{end:.9g}"]
            for line in crossing.crossing_lines(found, named(shlex.join(words))):
                _note(line)


def _check_tables(request: _PlotRequest, kind: str) -> None:
    """Check that a run has the tables of a kind.

    Raises
    ------
    ValueError
        If the run lacks a table. The message names the option that records the table.
    """
    if missing := request.missing(kind):
        raise ValueError(
            f"{named(str(request.path))}: this run did not record the {_tables(missing)}, which "
            f"{kind} plots need: run it again with {request.to_record(missing)}"
        )


def _tables(names: Sequence[str]) -> str:
    return f"table{'' if len(names) == 1 else 's'} {' and '.join(names)}"


def _draw_all(request: _PlotRequest) -> None:
    """Draw each kind that the tables allow. Print which kinds are left out, and why.

    Raises
    ------
    ValueError
        If nothing can be drawn, or an option names something that does not exist.
    """
    _check_names(request)
    # The kinds that are left out, by the reason.
    left_out: dict[str, list[str]] = {}
    lacking, drawn = list[str](), list[str]()
    failed: dict[str, ValueError] = {}
    for kind in _KINDS:
        if kind in _OF_RUNS and not is_run(request.opened):
            left_out.setdefault("captures do not show them", []).append(kind)
            continue
        if missing := request.missing(kind):
            left_out.setdefault(f"{_tables(missing)} not recorded", []).append(kind)
            lacking += missing
            continue
        try:
            request.draw(kind, request.applied(kind))
        except ValueError as error:
            failed[kind] = error
            reason = str(error).removeprefix(f"{named(str(request.path))}: ")
            left_out.setdefault(reason.partition(": ")[0], []).append(kind)
        else:
            drawn.append(kind)
    if failed and not drawn and not lacking:
        raise next(iter(failed.values()))
    if left_out:
        told = (f"{', '.join(kinds)} ({reason})" for reason, kinds in left_out.items())
        _note(f"left out: {'; '.join(told)}")
    if lacking and drawn:
        _note(f"to record these tables: {request.to_record(lacking)}")
    elif lacking:
        what = f"{named(str(request.path))}: this run did not record what plots need"
        raise ValueError(f"{what}: run it again with {request.to_record(lacking)}")


def _check_names(request: _PlotRequest) -> None:
    """Check that the tables contain each flow, node and link that an option names.

    Raises
    ------
    ValueError
        If a name is not in the tables. The message lists the names in the tables.
    """
    from netspurt.table import optional

    tables = [optional(request.opened, name) for name in ("flows", "links", "segments")]
    for name in ("flow", "node", "link"):
        if (given := request.given[name]) is None:
            continue
        having = [table for table in tables if table is not None and name in table]
        known = dict.fromkeys(value for table in having for value in table[name].tolist())
        if given not in known:
            problem = unknown_name(name, given, known, most=8)
            raise ValueError(f"{named(str(request.path))}: {problem}")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the name of the run or the capture to errors of drawing."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{named(str(path))}: {error}") from error


def _name_the_flow(run: Run, kinds: Sequence[str]) -> None:
    """Print which of several flows was drawn, and which direction if the flow has both."""
    from netspurt.plots import View, settled

    of_one = [kind for kind in kinds if kind not in {"flows", *_OF_LINKS}]
    if not of_one:
        return
    names = set(run.flows["flow"].tolist())
    shown = settled(run, _KINDS[0] if of_one[0] == _ALL else of_one[0], View())
    if shown.flow is None:
        return
    if len(names) > 1:
        count = number(len(names))
        _note(f"flow {named(shown.flow)} is drawn, one of {count}; --flow chooses another")
    hint_at_direction(run, shown.flow, shown.direction)


def _check_out(out: Path | None, kinds: Sequence[str]) -> None:
    """Check the file of a picture.

    Raises
    ------
    ValueError
        If there are several pictures, or the file's ending belongs neither to a picture nor to
        xplot.
    """
    if out is None:
        return
    if _ALL in kinds or len(kinds) > 1:
        what = ",".join(kinds)
        raise ValueError(f"--kind {what} draws several pictures: omit --out, or name one kind")
    if out.suffix != ".xpl":
        check_ending(out, ", or in .xpl for xplot")


def _name_the_connection(opened: Explained, flow: str) -> None:
    """Print which connection was drawn, if the capture has several."""
    count = len(set(opened.table("connections")["connection"].tolist()))
    if count > 1:
        _note(f"{flow} is drawn, one of {number(count)} connections; --flow chooses another")
