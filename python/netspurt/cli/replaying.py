"""`netspurt replay`: find a retransmission timer for recorded delays."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt import _core
from netspurt.cli import completing
from netspurt.cli.adapting import Adaptation, tell_adaptations
from netspurt.cli.one_way import HEADING, Rfc889, caption, share_of
from netspurt.cli.options import Column, Interval, LostAfter, columns_of, one_of
from netspurt.cli.output import (
    columns,
    complain,
    number,
    paint,
    print_json,
    progress,
    width,
    wrapped,
)
from netspurt.cli.recordings import How, read_all

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval as Bounds
    from netspurt.delays import Delays, Malformed
    from netspurt.timers import Algorithm, Replay, Versus

_ORDERS = ("sequence", "causal")
_PLOTS = ("timeline", "histogram", "scatter", "pareto")
_EPILOG = (
    "An estimator is a name with the constants that differ from the published ones, as in "
    "mills:g=3 or linux:rto_min=50ms. A range makes a grid: mills:g=1.5..3/16."
)

Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME[:KEY=VALUE,...]",
        help=f"A timer. {_EPILOG}",
        autocompletion=completing.estimators,
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Compare the efficiency of each timer with this one's.",
        autocompletion=completing.estimators,
    ),
]


def replay(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Recordings, or folders of them: see `netspurt delays`.", show_default=False
        ),
    ],
    estimators: Estimators = None,
    order: Annotated[
        str | None,
        typer.Option(
            parser=one_of(_ORDERS),
            metavar="ORDER",
            help="sequence: one probe in flight, as in RFC 889. causal: in the order of the "
            "replies' arrival. The default follows the recording.",
        ),
    ] = None,
    clock: Annotated[
        str, typer.Option(help="The host's clock: exact, linux-hz250, or a tick such as '10 ms'.")
    ] = "exact",
    told: Annotated[
        bool,
        typer.Option("--told", help="Tell the timers of their timeouts, so that they back off."),
    ] = False,
    read_as: Annotated[
        str | None, typer.Option("--format", help="Read the files as this format.")
    ] = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for pictures and for replay.parquet with all numbers."),
    ] = None,
    rfc889: Rfc889 = False,
    versus: Reference = None,
    adaptation: Adaptation = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Replay retransmission timers on recorded delays, and recommend one."""
    from netspurt.timers import USUAL

    named = [*(estimators or USUAL), *([versus] if versus else [])]
    _fit_together(out, versus, rfc889=rfc889, adaptation=adaptation)
    late = RFC889_LOST_AFTER if rfc889 and lost_after is None else lost_after
    read = How(read_as, interval, columns_of(column), late)
    replays, wrong = _replays(files, named, read, _How(order, clock, told, quiet=as_json))
    if adaptation:
        tell_adaptations(replays, as_json=as_json)
    else:
        _tell(replays, versus, rfc889=rfc889, as_json=as_json)
    if out is not None and replays:
        for path in _save(replays, out):
            if not as_json:
                typer.echo(path)
    if wrong:
        raise typer.Exit(2)


def _fit_together(out: Path | None, versus: str | None, *, rfc889: bool, adaptation: bool) -> None:
    """Check that options can be kept to together.

    Raises
    ------
    ValueError
        When they cannot.
    """
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: --out names a folder")
    if rfc889 and versus:
        raise ValueError("--rfc889 and --versus print different tables: leave one of them out")
    if adaptation and (rfc889 or versus):
        other = "--rfc889" if rfc889 else "--versus"
        raise ValueError(f"--adaptation and {other} print different tables: leave one of them out")


def _tell(replays: list[Replay], versus: str | None, *, rfc889: bool, as_json: bool) -> None:
    if as_json:
        print_json([_as_data(judged, versus) for judged in replays])
        return
    lines = _versus_lines(replays, versus) if versus else _report(replays, rfc889=rfc889)
    for line in lines:
        typer.echo(line)


#: In RFC 889 §2 a probe is lost half a minute after it left [s].
RFC889_LOST_AFTER = 30.0


@dataclass(frozen=True)
class _How:
    """How recordings are replayed."""

    order: str | None
    clock: str
    told: bool
    quiet: bool


def _replays(
    files: list[Path], named: list[str], read: How, how: _How
) -> tuple[list[Replay], bool]:
    """Return replays of all recordings, and whether any had an error, which is reported."""
    from netspurt.timers import replay as run

    replays, wrong = [], False
    for file, found in read_all(files, read):
        if isinstance(found, Exception):
            complain(found)
            wrong = True
            continue
        said = list(_left_out(file, found.malformed))
        for one in found:
            try:
                algorithms, notes = _algorithms(one, named, how)
                replays.append(
                    run(one, algorithms, order=how.order, clock=how.clock, told=how.told)
                )
            except _core.ReplayError as error:
                complain(error)
                wrong = True
                continue
            except Exception as error:
                raise _of_an_estimator(error) from error
            said += notes
        for line in () if how.quiet else said:
            typer.echo(line, err=True)
    return replays, wrong


def _of_an_estimator(error: Exception) -> Exception:
    """Return an exception of a user's own estimator as one line with its place, or the error."""
    notes = getattr(error, "__notes__", [])
    if not notes:
        return error
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename}:{last.lineno}: " if last.filename.endswith(".py") else ""
    return ValueError(f"{place}{type(error).__name__}: {error} ({'; '.join(notes)})")


def _report(replays: list[Replay], *, rfc889: bool) -> Iterator[str]:
    for place, judged in enumerate(replays):
        if place:
            yield ""
        yield from _rfc889_lines(judged) if rfc889 else _lines(judged)


def _left_out(file: Path, malformed: list[Malformed]) -> Iterator[str]:
    """Yield messages on malformed lines."""
    for bad in malformed[:_SHOWN]:
        yield f"{file}:{bad.line}: left out, {bad.why}: {bad.text}"
    if len(malformed) > _SHOWN:
        more = len(malformed) - _SHOWN
        yield f"{file}: {more} more lines left out; `netspurt delays --json` lists all"


def _algorithms(delays: Delays, named: list[str], how: _How) -> tuple[list[str], list[str]]:
    """Return the estimators to show (for grids only the front) and notes on the grids."""
    from netspurt.grids import is_grid
    from netspurt.timers import grid_front

    algorithms, notes = [], []
    for text in named:
        if not is_grid(text):
            algorithms.append(text)
            continue
        with progress(text, "timers") as tell:
            front, count = grid_front(
                delays, text, order=how.order, clock=how.clock, told=how.told, progress=tell
            )
        shown = _spread(front, _MOST_OF_A_GRID)
        algorithms += shown
        note = f"{text}: {_count(count, 'setting')}, {len(front)} that no other one beats"
        notes.append(note + (f", {len(shown)} of these shown" if len(shown) < len(front) else ""))
    return algorithms, notes


#: The number of settings of a grid that are shown.
_MOST_OF_A_GRID = 12


def _spread(items: list[str], most: int) -> list[str]:
    """Return some items, evenly spaced from first to last."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


#: The number of malformed lines that are shown.
_SHOWN = 5


def _lines(of: Replay) -> Iterator[str]:
    yield from wrapped([[_head(of.delays)]], [width(120)])
    for note in of.delays.notes:
        yield from wrapped([[paint(note, "dim")]], [width(120)])
    order = "order of arrival" if of.order == "causal" else "one probe in flight"
    backoff = "backoff" if of.told else "no backoff"
    yield paint(f"replies in {order}; {of.clock} clock; {backoff}", "dim")
    yield ""
    heading = ["", "spurious", "95 % interval", "mean timer", "waited per loss", "efficiency"]
    rows = [heading, *(_row(algorithm) for algorithm in of.algorithms)]
    lines = columns(rows, right=(1, 2, 3, 4, 5))
    yield paint(next(lines), "dim")
    yield from lines
    said = of.recommendation()
    if said:
        yield ""
        yield from wrapped([[" ".join(said)]], [width(100)])


def _head(delays: Delays) -> str:
    import numpy as np

    share = f" ({100 * delays.lost / delays.sent:.2f} %)" if delays.lost else ""
    text = f"{delays.name}: {_count(delays.sent, 'probe')}, {_grouped(delays.received)} answered, "
    text += f"{_grouped(delays.lost)} lost{share}"
    if delays.late:
        text += f", {_grouped(delays.late)} late"
    if delays.duplicates:
        text += f", {_grouped(delays.duplicates)} duplicates"
    rtt = delays.rtt_s[~np.isnan(delays.rtt_s)]
    if len(rtt):
        low, middle, high = np.percentile(rtt, [1, 50, 99])
        text += f" · {_span(middle)} median, {_span(low)}-{_span(high)} (1-99 %)"
    return text + (f" · read as {delays.format}" if delays.format else "")


def _row(algorithm: Algorithm) -> list[str]:
    ends = algorithm.spurious_share
    counts = (
        f"{_plain(ends.low * algorithm.answered)} .. {_plain(ends.high * algorithm.answered)}"
        if math.isfinite(ends.low)
        else "-"
    )
    return [
        algorithm.estimator,
        _grouped(algorithm.spurious),
        counts,
        _span(algorithm.timer.value),
        _span(algorithm.waited_per_loss),
        f"{algorithm.efficiency:.3f}",
    ]


def _rfc889_lines(of: Replay) -> Iterator[str]:
    """Yield the rows of RFC 889's table: s, 0.1 s and ms, and two digits, all truncated."""
    yield from wrapped([[_head(of.delays)]], [width(120)])
    for note in of.delays.notes:
        yield from wrapped([[paint(note, "dim")]], [width(120)])
    share = share_of(of.delays.measure)
    rows = [_rfc889_row(algorithm, share) for algorithm in of.algorithms]
    yield from columns([HEADING, *rows], right=range(1, 9))
    yield from wrapped([[paint(caption(of.delays.measure), "dim")]], [width(100)])


def _rfc889_row(algorithm: Algorithm, share: float) -> list[str]:
    """Return a row of times that are this share of the recorded ones."""
    return [
        algorithm.estimator,
        str(math.floor(share * algorithm.total)),
        str(algorithm.lost),
        f"{math.floor(share * algorithm.waited * 10) / 10:.1f}",
        str(algorithm.spurious),
        f"{math.floor(share * algorithm.spurious_time * 10) / 10:.1f}",
        str(math.floor(share * algorithm.mean * 1000)),
        f"{algorithm.cov:.2f}".removeprefix("0"),
        algorithm.printed_efficiency,
    ]


def _versus(of: Replay, reference: str) -> list[Versus]:
    """Return the comparison of each algorithm with the reference.

    Raises
    ------
    ValueError
        If there is no other algorithm.
    """
    from netspurt.timers import canonical

    other = of[canonical(reference)]
    told = [of.versus(algorithm, other) for algorithm in of.algorithms if algorithm is not other]
    if not told:
        raise ValueError(f"--versus {reference}: there is no other timer to compare with it")
    return told


def _versus_lines(replays: list[Replay], reference: str) -> Iterator[str]:
    """Yield for each recording whether each algorithm is more efficient than the reference."""
    rows = [["recording", "order", "timer", "spurious", "efficiency", "ahead", "95 % interval", ""]]
    for of in replays:
        for told in _versus(of, reference):
            algorithm, other = told.first, told.second
            rows.append(
                [
                    Path(of.delays.name).name,
                    of.order,
                    algorithm.estimator,
                    f"{number(algorithm.spurious)} / {number(other.spurious)}",
                    f"{algorithm.efficiency:.3f} / {other.efficiency:.3f}",
                    f"{100 * told.ahead.value:+.2f}",
                    f"{100 * told.ahead.low:+.2f} .. {100 * told.ahead.high:+.2f}",
                    told.verdict,
                ]
            )
    if not replays:
        return
    lines = columns(rows, right=(3, 4, 5, 6))
    yield paint(next(lines), "dim")
    yield from lines
    yield ""
    yield from wrapped(
        [
            [
                f"Both figures are the timer's / {reference}'s; ahead is "
                "the difference of efficiencies in hundredths."
            ]
        ],
        [width(100)],
    )


def _as_data(of: Replay, versus: str | None = None) -> dict[str, Any]:
    it = of.delays
    against = _versus(of, versus) if versus else []
    return {
        "recording": it.name,
        "format": it.format,
        "measure": it.measure,
        "send_times": it.send_times,
        "notes": it.notes,
        "order": of.order,
        "clock": of.clock,
        "told": of.told,
        "sent": it.sent,
        "received": it.received,
        "lost": it.lost,
        "late": it.late,
        "duplicates": it.duplicates,
        "block": of.block,
        "estimators": [algorithm_data(algorithm) for algorithm in of.algorithms],
        "front": [algorithm.estimator for algorithm in of.front()],
        "recommendation": of.recommendation(),
        "versus": [
            {
                "first": told.first.estimator,
                "second": told.second.estimator,
                "ahead": _interval(told.ahead),
                "verdict": told.verdict,
            }
            for told in against
        ],
    }


def algorithm_data(algorithm: Algorithm) -> dict[str, Any]:
    """Return all numbers of an algorithm."""
    percents = (50, 90, 99, 100)
    waits, short = algorithm.wait_percentiles(percents), algorithm.short_percentiles(percents)
    return {
        "estimator": algorithm.estimator,
        "spurious": algorithm.spurious,
        "spurious_share": _interval(algorithm.spurious_share),
        "mean_timer_s": _interval(algorithm.timer),
        "good_s": algorithm.good,
        "waited_s": algorithm.waited,
        "waited_per_loss_s": _known(algorithm.waited_per_loss),
        "waited_in_delays": _known(algorithm.waited_in_delays),
        "spurious_s": algorithm.spurious_time,
        "total_s": algorithm.total,
        "mean_s": algorithm.mean,
        "cov": _known(algorithm.cov),
        "efficiency": _known(algorithm.efficiency),
        "efficiency_printed": algorithm.printed_efficiency,
        "bad_share": _known(algorithm.bad_share),
        "waited_percentiles_s": {f"p{p}": _known(v) for p, v in zip(percents, waits, strict=True)},
        "short_percentiles_s": {f"p{p}": _known(v) for p, v in zip(percents, short, strict=True)},
    }


def _interval(of: Bounds) -> dict[str, float | None]:
    return {"value": _known(of.value), "low": _known(of.low), "high": _known(of.high)}


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _save(replays: list[Replay], out: Path) -> Iterator[Path]:
    from netspurt.plots.files import save
    from netspurt.plots.replay import draw
    from netspurt.timers import save_records

    out.mkdir(parents=True, exist_ok=True)
    yield save_records(replays, out / "replay.parquet")
    for place, one in enumerate(replays, start=1):
        for kind in _PLOTS:
            name = f"replay-{kind}" if len(replays) == 1 else f"replay-{place}-{kind}"
            files = [out / f"{name}{ending}" for ending in (".png", ".svg")]
            save(draw(one, kind), files)
            yield from files


def _grouped(count: int) -> str:
    return number(count)


def _count(count: int, what: str) -> str:
    return f"{_grouped(count)} {what}{'' if count == 1 else 's'}"


def _plain(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 or float(value).is_integer() else f"{value:.1f}"


def _span(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "-"
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
