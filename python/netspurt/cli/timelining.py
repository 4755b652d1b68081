"""`netspurt timeline` and `netspurt delays --timeline`: files that links of scenarios follow.

Such a file holds a timeline: a list of delays, rates or losses, each with the time at which it
begins.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netspurt.cli.options import LinkDirection, count, loaded, span_of
from netspurt.cli.output import fitted, named, width, wrapped
from netspurt.picture_files import IN_WORDS, check_ending
from netspurt.stored import write_new
from netspurt.wording import counted, number, rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from netspurt.delays import Delays, Recordings
    from netspurt.scenario import Scenario
    from netspurt.timelines import Timeline


Picture = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help=f"Draw the delay, the rate, the losses and the outages, as {IN_WORDS}.",
        show_default=False,
    ),
]


Source = Annotated[
    Path,
    typer.Argument(
        help="A CSV table with a column of instants, a series of round trips of Hypatia, a "
        "trace of Mahimahi, a timeline for a link as TOML, or a capture from the receiver's side "
        "of a link that is always busy. With --link: a scenario.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write to this file.", show_default=False),
]
ReverseSource = Annotated[
    Path | None,
    typer.Option(
        "--reverse",
        metavar="FILE",
        help="The file for the reverse direction, such as the second of two traces.",
        show_default=False,
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Read FILE as csv, hypatia, mahimahi or toml."),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--mahimahi",
        metavar="FILE",
        help="Write the rate of one direction as a trace of Mahimahi: instants in milliseconds, "
        "each for 1500 octets.",
        show_default=False,
    ),
]
Length = Annotated[
    float | None,
    typer.Option(
        "--for",
        parser=span_of,
        metavar="TIME",
        help="With --mahimahi: the length of the trace, after which the trace begins again.",
        show_default=False,
    ),
]
Linear = Annotated[bool, typer.Option("--linear", help="Join delays and losses by straight lines.")]
LinkName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Write how this link of a scenario changes: its delay, rate, losses, duplicates and "
        "handovers.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(parser=count, metavar="N", help="With --link: the seed of the draws."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="With --link: set a value of the scenario. May be repeated.",
    ),
]


def timeline(
    file: Source,
    out: Out = None,
    plot: Picture = None,
    reverse: ReverseSource = None,
    format_: FormatName = None,
    linear: Linear = False,
    link: LinkName = None,
    seed: Seed = None,
    set_: Changes = None,
    mahimahi: Trace = None,
    direction: LinkDirection = None,
    for_: Length = None,
) -> None:
    """Turn another tool's timeline into a file that a link of a scenario follows, or draw it.

    A table begins with t_s (or t_ms, t_us, t_ns). The other columns are delay_ms or rtt_ms (or
    _s, _us, _ns), rate_mbps (or _kbps, _bps), loss and outage (1 or 0). A name that ends in
    _forward or _reverse is for one direction.

    `netspurt delays FILE --timeline OUT` does the same for a recording of delays.
    """
    from netspurt.shipped import resolve

    if mahimahi is None and for_ is not None:
        raise typer.BadParameter("--for needs --mahimahi")
    wanted = Wanted(out, plot, mahimahi, direction, for_)
    if link is not None:
        if format_ is not None or linear or reverse is not None:
            raise typer.BadParameter("--format, --linear and --reverse do not apply with --link")
        scenario = loaded(resolve(file), set_, seed, alone=True)
        _write_link(Linked(file, link, scenario), wanted)
        return
    if seed is not None or set_:
        raise typer.BadParameter("--seed and --set need --link")
    read = _read(file, format_, direction)
    if reverse is not None:
        from netspurt.timelines import paired

        read = paired(read, _read(reverse, format_, direction))
    if linear:
        read = replace(read, between="linear")
    if plot is not None:
        check_ending(plot)
    if wanted.nothing:
        typer.echo(read.to_toml(), nl=False)
    if out is not None:
        write_new(out, read.to_toml())
        typer.echo(f"{out}: {', '.join(_contents(read))}")
    _write_trace(read, wanted)
    if plot is not None:
        _draw(read, plot)
    _tell(read.notes, aside=out is None)
    if out is not None:
        _tell_use(out)


@dataclass(frozen=True)
class Wanted:
    """The requested output: a file that links follow, a picture, a trace of one direction."""

    out: Path | None
    plot: Path | None
    trace: Path | None
    direction: str | None
    length_s: float | None

    @property
    def nothing(self) -> bool:
        """True if no file is requested. Then the file that links follow is printed."""
        return self.out is None and self.plot is None and self.trace is None


def _read(file: Path, format_: str | None, direction: str | None) -> Timeline:
    """Read another tool's file, or the deliveries in a capture."""
    from netspurt.captures import is_capture
    from netspurt.cli.opening import recorded_as
    from netspurt.timelines import TimelineError, read_timeline

    if format_ is None and is_capture(file):
        return _delivered(file, direction)
    try:
        return read_timeline(file, format_=format_)
    except TimelineError:
        # A CSV file may be meant as a timeline. Then this error names the wrong column.
        if format_ is not None or recorded_as(file) in (None, "CSV"):
            raise
        name = named(str(file))
        fix = f"`netspurt delays {name} --timeline OUT` makes a timeline of it"
        raise ValueError(f"{name} is a recording of delays: {fix}") from None


def _delivered(file: Path, direction: str | None) -> Timeline:
    """Return a timeline of the opportunities that a capture's busiest connection used.

    An opportunity is the instant at which another 1500 octets have passed. Only packets of one
    direction count: of `direction`, or of the direction with more data.
    """
    from netspurt.cli.opening import busiest, open_tables
    from netspurt.timelines import delivered

    opened = open_tables(file)
    flow, busier = busiest(opened) or (None, None)
    segments = opened.table("segments").where(flow=flow, direction=direction or busier)
    return delivered(
        f"{file}, {flow} {direction or busier}", segments["t_ns"], segments["size_bytes"]
    )


def _write_trace(read: Timeline, wanted: Wanted) -> None:
    """Write one direction as a trace of Mahimahi, if this is requested."""
    from netspurt.timelines import OPPORTUNITY_BYTES, mahimahi, silence_at_end

    if wanted.trace is None:
        return
    values = read.ways[-1 if wanted.direction == "reverse" else 0]
    span = None if wanted.length_s is None else round(wanted.length_s * 1e9)
    try:
        lines = mahimahi(values, span)
    except ValueError as error:
        raise ValueError(f"{read.name}: {error}") from error
    write_new(wanted.trace, "".join(f"{line}\n" for line in lines))
    seconds = lines[-1] / 1e3
    mean = rate(len(lines) * OPPORTUNITY_BYTES * 8 / seconds)
    noun = "opportunity" if len(lines) == 1 else "opportunities"
    typer.echo(f"{wanted.trace}: {number(len(lines))} {noun} in {seconds:g} s, {mean} on average")
    if span is not None and values.rate and (outage_ns := silence_at_end(values, span)):
        note = (
            f"the trace ends with an outage of {outage_ns / 1e9:g} s: a last opportunity is added "
            "at its end, because without it the trace would begin again too early"
        )
        _tell([note])


def _contents(read: Timeline) -> Iterator[str]:
    """Yield the contents of a timeline, for each direction if the directions differ."""
    for name in ("delay", "rate", "loss", "opportunities"):
        series = [getattr(values, name) for values in read.ways]
        sizes = [0 if isinstance(points, float) else len(points) for points in series]
        if any(sizes):
            same = series[0] == series[-1]
            sizes_text = number(sizes[0]) if same else " and ".join(map(number, sizes))
            noun = name if name == "opportunities" else f"points of {name}"
            yield f"{sizes_text} {noun}"
    outages = read.outages()
    if outages:
        yield counted(len(outages), "outage")


def _draw(
    read: Timeline, file: Path, *, title: str | None = None, end: float | None = None
) -> None:
    from netspurt.plots import save
    from netspurt.plots.moving import draw_timeline

    save(draw_timeline(read, title=title or Path(read.name).name, end_s=end), [file])
    typer.echo(file)


@dataclass(frozen=True)
class Linked:
    """A link of a scenario: the scenario's file, the link's name, and the scenario."""

    file: Path
    name: str
    scenario: Scenario


def _write_link(link: Linked, wanted: Wanted) -> None:
    """Write the timeline of a scenario's link, its trace and its picture, if requested."""
    from netspurt.timelines import printable, read_followed

    changes = link.scenario.link_changes(link.name)
    heading = f"Link {link.name} of {link.file}, seed {link.scenario.seed}."
    text = f"# {printable(heading)}\n{changes}"
    out, plot = wanted.out, wanted.plot
    if plot is not None:
        check_ending(plot)
    if wanted.nothing:
        typer.echo(text, nl=False)
    if out is not None:
        write_new(out, text)
        typer.echo(f"{out}: {', '.join(sorted(tomllib.loads(changes)))} of link {link.name}")
    if wanted.trace is not None:
        _write_trace(read_followed(changes, str(link.file)), wanted)
    if plot is not None:
        title = f"{link.scenario.title or link.file}: link {link.name}, seed {link.scenario.seed}"
        _draw(read_followed(changes, str(link.file)), plot, title=title, end=link.scenario.stop)
    if out is not None:
        _tell_use(out)


def write_recorded(
    readings: Iterable[Recordings | Exception],
    out: Path,
    chosen: int | None = None,
    plot: Path | None = None,
) -> None:
    """Write a timeline for a link; probes over this link have the recorded delays again.

    Parameters
    ----------
    readings
        The result of reading each file.
    out
        The file to write.
    chosen
        The number of the recording, counted from 1, or `None` if there is only one recording.
    plot
        The file for a picture of the timeline; `None` for no picture.

    Raises
    ------
    ValueError
        If `chosen` is not the number of a recording, or if no link can be made from the recording.
        Also if `chosen` is `None` and there is not exactly one recording.
    Exception
        The error of reading a file, if a file could not be read.
    """
    from netspurt.timelines import follow

    recordings: list[Delays] = []
    for each in readings:
        if isinstance(each, Exception):
            raise each
        recordings += each
    if chosen is None and len(recordings) != 1:
        raise ValueError(
            f"--timeline takes one recording, and there are {len(recordings)}: name one file, or "
            "choose a recording with --recording N; the first is 1"
        )
    nth = (chosen or 1) - 1
    if chosen == 0 or nth >= len(recordings):
        numbers = f"the numbers are 1 to {len(recordings)}" if len(recordings) > 1 else "write 1"
        raise ValueError(f"no recording has the number {chosen}; {numbers}")
    read = follow(recordings[nth])
    if plot is not None:
        check_ending(plot)
    write_new(out, read.to_toml())
    told = f"{out}: {'; '.join(_of_recording(recordings[nth], read))}"
    typer.echo("\n".join(fitted([told])))
    if plot is not None:
        _draw(read, plot)
    _tell([*recordings[nth].notes, *read.notes])
    _tell_use(out)


def _tell(notes: Iterable[str], *, aside: bool = False) -> None:
    for note in notes:
        for line in wrapped([["note:", note]], [5, max(40, width() - 7)]):
            typer.echo(line, err=aside)


def _of_recording(recording: Delays, timeline_made: Timeline) -> Iterator[str]:
    """Yield the contents of a link that was made from a recording."""
    halves = ", half of each round trip in each direction" * (timeline_made.reverse is not None)
    if timeline_made.measured:
        halves = ", and each direction has its own delays"
    steps = counted(len(timeline_made.forward.delay), "step")
    yield f"{counted(recording.received, 'delay')} in {steps}{halves}"
    yield _outages(timeline_made)
    losses = [float(own.loss) for own in timeline_made.ways if isinstance(own.loss, float)]
    if not any(losses):
        yield "no other loss"
    elif len(set(losses)) == 1:
        yield f"other losses as a probability of {_share(losses[0])} in each direction"
    else:
        both = f"{_share(losses[0])} forward and {_share(losses[1])} in reverse"
        yield f"other losses as a probability of {both}"
    if timeline_made.duplicates:
        yield f"duplicates as a probability of {_share(timeline_made.duplicates)} in each direction"


def _outages(timeline_made: Timeline) -> str:
    counts = [len(own.outages) for own in timeline_made.ways]
    if not any(counts):
        return "no outage"
    text = counted(counts[0], "outage")
    if len(set(counts)) > 1:
        text += f" forward and {number(counts[1])} in reverse"
    return f"{text} (two or more lost probes in a row)"


def _share(share: float) -> str:
    return f"{share:.2%}" if share >= 1e-4 else f"{100 * share:.2g}%"


def _tell_use(out: Path) -> None:
    told = (
        f'To use it, write `follows = "{out.name}"` in a link of a scenario in the same folder, '
        "instead of a delay, rate or loss."
    )
    typer.echo("\n".join(fitted([told])))
