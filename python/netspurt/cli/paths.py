"""`netspurt delays report`, `lengths` and `bursts`: what recorded delays show about paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli import path_report as report_of
from netspurt.cli.one_way import share_of
from netspurt.cli.options import READ_AS, Column, Interval, LostAfter, columns_of, number_from
from netspurt.cli.output import columns, complain, paint, width, wrapped
from netspurt.cli.programs import AsCsv, AsJson, Form, Row
from netspurt.cli.recordings import How, read_all
from netspurt.wording import counted, number, rate

if TYPE_CHECKING:
    from netspurt.analysis import Fit, Period
    from netspurt.delays import Delays

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Recordings, folders of them, or - for the standard input: see `netspurt delays`.",
        show_default=False,
    ),
]
Format = Annotated[str | None, typer.Option("--format", metavar="NAME", help=READ_AS)]
Times = Annotated[
    float,
    typer.Option(
        parser=number_from(1.1, example="3"),
        metavar="X",
        help="A delay above X times the typical delay is long.",
    ),
]
Chance = Annotated[
    float,
    typer.Option(
        parser=number_from(1e-9, 0.5, example="0.001"),
        metavar="P",
        help="The accepted probability that random bursts look periodic.",
    ),
]

#: The lengths of RFC 889's first table, in octets: the shortest, the longest on the first of two
#: regression lines, and the longest of all.
_MEMO = (40, 125, 256)
#: A note suggests two lines if their residuals are below `_WORTH` times the residuals of one line.
_WORTH = 0.8


#: If recordings of a file are left out, at most `_TOLD` of them are named.
_TOLD = 5


def each(
    files: list[Path],
    how: How,
    about: Callable[[Delays], tuple[Any, list[str]]],
    form: Form,
    rows: Callable[[Any], Iterable[Row]] = lambda _: (),
) -> None:
    """Print the result of `about` for each recording, for programs or for people.

    `rows` makes the rows for CSV from the data that `about` returns. `about` raises `ValueError`
    for a recording that it cannot use, for example for a connection of a capture with few round
    trips. This recording is left out, if another recording of the same file or folder can be used.

    Raises
    ------
    typer.Exit
        With status 2, after all recordings, if a file had an error, or if no recording of a file or
        folder could be used.
    """
    told, wrong = list[Any](), False
    for path in files:
        before, failed = len(told), list[ValueError]()
        for _, reading in read_all([path], how):
            if isinstance(reading, Exception):
                complain(reading)
                wrong = True
                continue
            for recording in reading:
                try:
                    data, lines = about(recording)
                except ValueError as error:
                    failed.append(ValueError(f"{recording.name}: {error}"))
                    continue
                for line in ([""] if told else []) + lines if form.for_people else ():
                    typer.echo(line)
                told.append(data)
        used = len(told) > before
        # If no recording could be used, the first reason is the error.
        for place, reason in enumerate(failed[:_TOLD]):
            complain(reason, "left out:" if used or place else "error:")
        if len(failed) > _TOLD:
            more = counted(len(failed) - _TOLD, "more recording")
            complain(ValueError(f"{more} of {path}"), "left out:")
        wrong = wrong or (bool(failed) and not used)
    if not form.for_people:
        form.print(told, (row for data in told for row in rows(data)))
    if wrong:
        raise typer.Exit(2)


def report(
    files: Files,
    times: Times = 3.0,
    chance: Chance = 0.01,
    format_: Format = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    as_json: AsJson = False,
) -> None:
    """Show the histogram, delay against length, every burst of long delays, and their period.

    The same file gives the same text, byte for byte.
    """
    how = How(format_, interval, columns_of(column), lost_after)

    def about(recording: Delays) -> tuple[Any, list[str]]:
        data = head_data(recording) | report_of.path_data(recording, times=times)
        data["period"] = _period_data(recording, times, chance)
        return data, list(_report_lines(recording, data))

    each(files, how, about, Form(as_json))


def head_data(recording: Delays) -> dict[str, Any]:
    """Return a recording's name, format and counts, for programs."""
    keys = ("name", "format", "measure", "order", "send_times")
    counts = ("sent", "received", "lost", "late", "duplicates")
    return {key: getattr(recording, key) for key in (*keys, *counts)} | {"notes": recording.notes}


def _report_lines(recording: Delays, data: dict[str, Any]) -> Iterator[str]:
    yield from heading(recording)
    if data["delay"] is None or data["delay"]["median_ms"] is None:
        return
    yield from folded(report_of.delay_line(data, recording.measure))
    yield ""
    yield from report_of.bars(report_of.histogram_of(recording))
    yield ""
    if data["line"] is not None:
        yield from folded(report_of.length_text(data["line"], recording.measure))
    yield from (
        report_of.burst_lines(data["bursts"]) if data["bursts"] else ["no bursts of long delays"]
    )
    yield from _period_lines(data["period"])


def folded(text: str) -> Iterator[str]:
    """Yield the lines of a sentence, folded to the width of the terminal."""
    return wrapped([[text]], [width(100)])


def heading(recording: Delays) -> Iterator[str]:
    """Yield a recording's name, counts and notes."""
    counts = (
        (recording.sent, "probes"),
        (recording.received, "answered"),
        (recording.lost, "lost"),
        (recording.late, "late"),
        (recording.duplicates, "duplicates"),
    )
    text = ", ".join(f"{number(count)} {what}" for count, what in counts)
    read_as = f" · read as {recording.format}" if recording.format else ""
    yield from folded(paint(f"{recording.name}: {text}{read_as}", "bold"))
    for note in recording.notes:
        yield from folded(paint(note, "dim"))


def bursts(
    files: Files,
    times: Times = 3.0,
    chance: Chance = 0.01,
    format_: Format = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """List every burst of long delays, and test whether they come at regular intervals.

    If the delay grows with the length of the probes, netspurt first corrects the delays for the
    lengths. The typical delay is the median of the hundred probes around a probe.
    """
    how = How(format_, interval, columns_of(column), lost_after)

    def about(recording: Delays) -> tuple[Any, list[str]]:
        found = _bursts(recording, times)
        period = _period_data(recording, times, chance)
        data = head_data(recording) | {"bursts": found, "period": period}
        return data, [
            *heading(recording),
            *(_burst_table(found) if found else ["no bursts of long delays"]),
            *_period_lines(period),
        ]

    each(files, how, about, Form(as_json, as_csv), _rows_of("bursts"))


def _rows_of(key: str) -> Callable[[Any], Iterable[Row]]:
    """Return a function that makes rows for CSV from the list `key` of a recording's data."""
    return lambda data: ({"recording": data["name"], **row} for row in data[key])


def _bursts(recording: Delays, times: float) -> list[dict[str, Any]]:
    from netspurt.probe import bursts as bursts_of
    from netspurt.probe import length_line

    found = bursts_of(recording, length_line(recording), times=times)
    starts = recording.sent_s
    return [
        {"start_s": None if _are_times_unknown(recording) else float(starts[one.start])}
        | report_of.burst_data(recording, one)
        for one in found
    ]


def _are_times_unknown(recording: Delays) -> bool:
    return recording.send_times == "unknown"


def _burst_table(found: list[dict[str, Any]]) -> Iterator[str]:
    rows = [["begins at", "first probe", "last probe", "longest delay", "times the typical delay"]]
    rows += [
        [
            "-" if one["start_s"] is None else f"{one['start_s']:.3f} s",
            str(one["first"]),
            str(one["last"]),
            report_of.ms(one["peak_ms"]),
            f"{one['times']:.1f}",
        ]
        for one in found
    ]
    lines = columns(rows, right=range(5))
    yield paint(next(lines), "dim")
    yield from lines


def _period_data(recording: Delays, times: float, chance: float) -> dict[str, Any]:
    """Return the best period of the bursts, its significance, and whether it is significant."""
    from netspurt.analysis import find_period
    from netspurt.probe import bursts as bursts_of
    from netspurt.probe import length_line

    found = bursts_of(recording, length_line(recording), times=times)
    unknown = _are_times_unknown(recording)
    instants = [float(one.start if unknown else recording.sent_s[one.start]) for one in found]
    # A period that may be chance is also reported, with its significance.
    best: Period | None = find_period(instants, chance=1 - 1e-12)
    return {
        "events": len(found),
        "unit": "probes" if unknown else "s",
        "least_chance": chance,
        "found": best is not None and best.chance <= chance,
        "period": None if best is None else best.period_s,
        "chance": None if best is None else best.chance,
        "strength": None if best is None else best.strength,
    }


def _period_lines(period: dict[str, Any]) -> Iterator[str]:
    if period["period"] is None:
        if period["events"]:
            told = "1 burst is" if period["events"] == 1 else f"{period['events']} bursts are"
            yield f"{told} too few to look for a period"
        return
    unit = " probes" if period["unit"] == "probes" else " s"
    span = f"{period['period']:.4g}{unit}"
    if period["found"]:
        text = (
            f"the bursts come every {span}; chance alone gives as good a fit with a probability "
            f"{_chance(period)}; strength {period['strength']:.2f}"
        )
    else:
        text = (
            f"no period: {span} fits the {period['events']} bursts best, but chance alone gives as "
            f"good a fit with a probability {_chance(period)}"
        )
    yield from folded(text)


def _chance(period: dict[str, Any]) -> str:
    chance = period["chance"]
    return f"of {chance:.2g}" if chance >= 1e-9 else "below 1e-9"


def _break(text: Any) -> Any:
    if not isinstance(text, str) or text in ("find", "none"):
        return text
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise typer.BadParameter(
            f"{text!r} is not a number of octets from 1 to 65535, `find` or `none`"
        )
    return text


def lengths(
    files: Files,
    break_: Annotated[
        str,
        typer.Option(
            "--break",
            parser=_break,
            metavar="OCTETS",
            help="The length at which a second line begins, such as RFC 889's 126. find searches "
            "for the best length, and none fits one line.",
        ),
    ] = "none",
    out: Annotated[
        Path | None,
        typer.Option(help="A picture, .png, .svg or .pdf: a point for each probe, and the lines."),
    ] = None,
    format_: Format = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Fit one or two lines of delay against length, and draw a point for each answered probe."""
    how = How(format_, interval, columns_of(column), lost_after)
    drawn: list[Path] = []

    def about(recording: Delays) -> tuple[Any, list[str]]:
        fit, points = _fit(recording, break_)
        data = head_data(recording) | {
            "points": points,
            "break_octets": fit.break_octets,
            "lines": [report_of.line_data(line) for line in fit.lines],
            "memo": _memo(fit, recording.measure),
        }
        lines = [*heading(recording), *_length_lines(recording, fit, data)]
        if out is not None:
            drawn.append(_draw(recording, fit, out, drawn))
            lines.append(str(drawn[-1]))
        return data, lines

    each(files, how, about, Form(as_json, as_csv), _rows_of("lines"))


def _fit(recording: Delays, break_: str) -> tuple[Fit, int]:
    """Return the lines, and the number of probes with a delay and a length.

    Raises
    ------
    ValueError
        If the lengths are unknown or differ too little.
    """
    import numpy as np

    from netspurt.analysis import fit_lengths

    octets = recording.wire_bytes.astype(float)
    known = (octets > 0) & np.isfinite(recording.rtt_s)
    if not known.any():
        raise ValueError("no answered probe has a known length: there is nothing to fit")
    at: Any = {"none": None, "find": "find"}.get(break_, break_)
    at = int(at) if isinstance(at, str) and at.isdecimal() else at
    rtt = np.where(known & ~recording.late_replies, recording.rtt_s, np.nan)
    try:
        return fit_lengths(octets, rtt, break_at=at), int(known.sum())
    except ValueError as error:
        hint = "" if at is None else "; --break none fits one line to all"
        raise ValueError(f"{error}{hint}") from None


def _memo(fit: Fit, measure: str) -> dict[str, Any] | None:
    """Return a fit as a row of RFC 889's first table, with one-way delays.

    The result is `None` if a length is outside the lengths of the table. It is also `None` if there
    is a second line that does not begin at the same length as in the table.
    """
    from netspurt.analysis import rate_table

    shortest, last, longest = _MEMO
    lengths_fit = fit.lines[0].shortest >= shortest and fit.lines[-1].longest <= longest
    if not lengths_fit or fit.break_octets not in (None, last + 1):
        return None
    table = rate_table(fit, shortest=shortest, last=last, longest=longest)
    share = share_of(measure)
    return {
        "octets": list(table.octets),
        "delay_ms": [share * delay * 1e3 for delay in table.delay_s],
        "rate_bps": [None if r == float("inf") else r / share for r in table.rates_bps],
    }


def _length_lines(recording: Delays, fit: Fit, data: dict[str, Any]) -> Iterator[str]:
    heading = f"rate{report_of.each_way(recording.measure)}"
    rows = [["length", "probes", "at length 0", "µs an octet", heading, "deviation"]]
    for line, told in zip(fit.lines, data["lines"], strict=True):
        rows.append(
            [
                f"{line.shortest} to {line.longest} B",
                number(line.probes),
                report_of.ms(told["intercept_ms"]),
                f"{told['us_per_octet']:.4g}",
                report_of.rate_text(told, recording.measure),
                report_of.ms(told["residual_ms"]),
            ]
        )
    yield ""
    lines = columns(rows, right=(1, 2, 3, 5))
    yield paint(next(lines), "dim")
    yield from lines
    if data["memo"] is not None:
        yield from folded(f"as in RFC 889, one way: {_memo_text(data['memo'])}")
    yield from _two_lines(recording, fit)


def _memo_text(memo: dict[str, Any]) -> str:
    parts = []
    for place, bps in enumerate(memo["rate_bps"]):
        ends = slice(2 * place, 2 * place + 2)
        (a, b), (here, there) = memo["octets"][ends], memo["delay_ms"][ends]
        parts.append(
            f"{report_of.ms(here)} at {a} B, {report_of.ms(there)} at {b} B, "
            f"{'no rate' if bps is None else rate(bps)}"
        )
    return "; ".join(parts)


def _two_lines(recording: Delays, fit: Fit) -> Iterator[str]:
    """Yield a note if two lines fit much better than the one line that was fitted."""
    if len(fit.lines) > 1:
        return
    try:
        two, _ = _fit(recording, "find")
    except ValueError:
        return
    squares = [
        sum(line.probes * line.residual_s**2 for line in which.lines) for which in (fit, two)
    ]
    if squares[1] < _WORTH**2 * squares[0]:
        part = 100 * (1 - (squares[1] / squares[0]) ** 0.5)
        yield (
            f"two lines with a break at {two.break_octets} B leave {part:.0f} % less scatter: "
            f"--break {two.break_octets}"
        )


def _draw(recording: Delays, fit: Fit, out: Path, drawn: list[Path]) -> Path:
    from netspurt.plots import save
    from netspurt.plots.lengths import draw_lengths

    what = "one-way delay" if recording.measure == "one-way" else "round trip"
    # The file of each picture after the first gets a number.
    file = out.with_name(f"{out.stem}-{len(drawn) + 1}{out.suffix}") if drawn else out
    save(draw_lengths(recording, fit.lines, what=what), [file])
    return file
