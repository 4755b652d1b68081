"""`netspurt replay`: find a retransmission timer for recorded delays.

An estimator is the algorithm of such a timer. A setting is an estimator with values for its
constants. A grid is one text that describes many settings.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from netspurt import _core
from netspurt.cli import replay_options as option
from netspurt.cli.adapting import Adaptation, Adapted, adapted, tell_adaptations
from netspurt.cli.one_way import Rfc889
from netspurt.cli.options import Column, Interval, LostAfter, columns_of
from netspurt.cli.output import complain, fitted, paint, progress
from netspurt.cli.programs import AsCsv, AsJson, Form, Row
from netspurt.cli.recordings import REPLAYED, How, read_all
from netspurt.cli.replay_report import (
    MORE,
    algorithm_data,
    as_data,
    count,
    lines,
    mentioned,
    pooled_lines,
    rfc889_lines,
    rfc889_settings,
    setting_data,
    settings_lines,
    versus_lines,
)
from netspurt.cli.replay_settings import Settings

if TYPE_CHECKING:
    from netspurt.advice import Advice, Price
    from netspurt.delays import Delays, Malformed
    from netspurt.timers import Algorithm, Replay

#: The kinds of files in which `--out` writes pictures by default.
_KINDS = ["png", "svg"]
#: The pictures that `--out` writes for each recording.
_PLOTS = ("timeline", "histogram", "scatter", "pareto")


def replay(
    files: option.Files,
    estimators: option.Estimators = None,
    order: option.Order = None,
    clock: option.Clock = "exact",
    told: option.Told = False,
    read_as: option.ReadAs = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    cost: option.Cost = None,
    loss: option.Loss = None,
    tune: option.Tune = False,
    pool: option.Pool = False,
    every: option.Every = False,
    details: option.Details = False,
    out: option.Out = None,
    pictures: option.Pictures = None,
    rfc889: Rfc889 = False,
    versus: option.Versus = None,
    adaptation: Adaptation = False,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Replay retransmission timers on recorded delays, and recommend one."""
    from netspurt.advice import Price
    from netspurt.timers import USUAL

    named = [*(estimators or USUAL), *([versus] if versus else [])]
    late = RFC889_LOST_AFTER if rfc889 and lost_after is None else lost_after
    read = How(read_as, interval, columns_of(column), late)
    form = Form(as_json, as_csv)
    how = Replaying(order, clock, told, quiet=not form.for_people)
    show = _Show(Price(cost, loss), tune, pool, every, details, rfc889, versus, adaptation, form)
    _fit_together(out, pictures, show)
    delays, wrong = _recordings(files, read, how)
    if every:
        _tell_settings(delays, named, how, show)
        replays: list[Replay] = []
    else:
        replays, refused = _replays(delays, named, how, files, pool=pool)
        wrong = wrong or refused
        # Files are written first, because a reader such as `head` may end the command while it
        # prints.
        advised = _advised(replays, show)
        followed = adapted(replays) if adaptation else []
        saved: list[Path] = []
        if out is not None and replays:
            kept = Settings(clock, told, cost, loss, tune, pool)
            drawn = _drawn(replays, advised, show)
            saved = [out / name for name in _save(replays, drawn, kept, out, pictures or _KINDS)]
        _tell(replays, advised, show, followed)
        for path in saved if form.for_people else ():
            typer.echo(path)
    if wrong:
        raise typer.Exit(2)


@dataclass(frozen=True)
class _Show:
    """The options for the output."""

    price: Price
    tune: bool
    pool: bool
    every: bool
    details: bool
    rfc889: bool
    versus: str | None
    adaptation: bool
    form: Form


def _fit_together(out: Path | None, pictures: list[str] | None, show: _Show) -> None:
    """Check that the options fit together, and that the folder of `--out` can be made.

    Raises
    ------
    ValueError
        If two options contradict each other, if `--pictures` is given without `--out`, or if
        `--out` names a file.
    OSError
        If the folder exists, or if it cannot be made.
    """
    from netspurt.stored import check_free

    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: --out names a folder")
    if pictures and out is None:
        raise ValueError("--pictures sets the format of the pictures of --out: add --out FOLDER")
    tables = {"--rfc889": show.rfc889, "--versus": show.versus, "--adaptation": show.adaptation}
    tables["--all"] = show.every
    without = next((name for name, given in tables.items() if given), None)
    if show.details and without:
        raise ValueError(
            f"--details prints the reasons of a recommendation, and {without} prints none: leave "
            "out one of these two options"
        )
    if show.details and not show.form.for_people:
        raise ValueError("--details changes only the text for people: leave it out")
    if show.rfc889 and show.versus:
        raise ValueError(
            "--rfc889 and --versus print different tables: leave out one of these two options"
        )
    if show.adaptation and (show.rfc889 or show.versus or show.pool or show.every):
        others = {"--rfc889": show.rfc889, "--versus": show.versus, "--pool": show.pool}
        other = next((name for name, given in others.items() if given), "--all")
        raise ValueError(
            f"--adaptation and {other} print different tables: leave out one of these two options"
        )
    if show.pool and (show.versus or (show.rfc889 and not show.every)):
        other = "--versus" if show.versus else "--rfc889 without --all"
        raise ValueError(f"{other} prints a table for each recording: leave out --pool")
    if show.every and show.tune:
        raise ValueError(
            "--tune needs a recommendation, and --all prints none: leave out one of these two "
            "options"
        )
    if show.every and (show.versus or out):
        other = "--versus" if show.versus else "--out"
        raise ValueError(f"--all prints every setting without intervals: leave out {other}")
    if out is not None:
        check_free(out)


#: The maximum number of settings that `--all` replays: the sum for all estimators. The replay of
#: so many settings takes some hours.
MOST_SETTINGS = 10_000_000

#: The time after which a probe without a reply counts as lost in RFC 889 §2 [s].
RFC889_LOST_AFTER = 30.0


@dataclass(frozen=True)
class Replaying:
    """The options for the replay."""

    order: str | None
    clock: str
    told: bool
    quiet: bool


def _recordings(files: list[Path], read: How, how: Replaying) -> tuple[list[Delays], bool]:
    """Return all recordings, and whether a file had an error. Errors are printed."""
    found: list[Delays] = []
    wrong = False
    for file, reading in read_all(files, read):
        if isinstance(reading, Exception):
            complain(reading)
            wrong = True
            continue
        for line in () if how.quiet else _left_out(file, reading.malformed):
            typer.echo(line, err=True)
        found += reading
    return found, wrong


def _replays(
    delays: list[Delays], named: list[str], how: Replaying, files: list[Path], *, pool: bool
) -> tuple[list[Replay], bool]:
    """Return replays of all recordings, and whether there was an error. Errors are printed.

    If a recording in a folder cannot be replayed, it is left out with a message. This is an error
    only if no recording at all can be replayed.
    """
    from netspurt.timers import replay as run

    replays, wrong = [], False
    # The names of the files in the folder `.` do not begin with `./`, so this folder becomes "".
    folders = tuple(str(path / "_")[:-1] for path in files if path.is_dir())
    alone = tuple(str(path) for path in files if not path.is_dir())
    together = algorithms_of(delays, named, how) if pool and delays else []
    for one in delays:
        try:
            algorithms = together or algorithms_of([one], named, how)
            replays.append(run(one, algorithms, order=how.order, clock=how.clock, told=how.told))
        except _core.ReplayError as error:
            beside = one.name.startswith(folders) and not one.name.startswith(alone)
            complain(error, "left out:" if beside else "error:")
            wrong = wrong or not beside
        except (Exception, SystemExit) as error:
            raise _of_an_estimator(error) from error
    if delays and not replays and not wrong:
        complain(ValueError("no recording can be replayed"))
        wrong = True
    return replays, wrong


def _advised(replays: list[Replay], show: _Show) -> list[Advice]:
    """Return the advice for each recording, or the advice for all recordings together.

    The list is empty if the output shows no advice.
    """
    from netspurt.advice import advise

    if show.adaptation or (show.form.for_people and (show.versus or show.rfc889)):
        return []
    groups = [replays] if show.pool and replays else [[replayed] for replayed in replays]
    return [advise(group, show.price, tune=show.tune) for group in groups]


def _drawn(replays: list[Replay], advised: list[Advice], show: _Show) -> list[tuple[Replay, str]]:
    """Return, for each recording, the timers to draw and the name of the recommended timer.

    The timers to draw are the timers in the table of the advice. If there is no advice, or with
    `--versus` or `--rfc889`, all timers are drawn, and the name is empty. The name is also empty if
    the recordings cannot decide.
    """
    if not advised or show.versus or show.rfc889:
        return [(replayed, "") for replayed in replays]
    each = (
        (one, replayed, one.pick if one.is_decided else "")
        for one in advised
        for replayed in one.replays
    )
    return [(replayed.only(mentioned(one)), pick) for one, replayed, pick in each]


def _tell(replays: list[Replay], advised: list[Advice], show: _Show, followed: Adapted) -> None:
    if show.adaptation:
        tell_adaptations(followed, show.form)
        return
    if show.pool and replays:
        (advice,) = advised
        if show.form.for_people:
            _echo(pooled_lines(advice, details=show.details))
            _tell_more(show)
        else:
            names, data = [replayed.delays.name for replayed in replays], advice.data()
            show.form.print({"recordings": names, "advice": data}, data["costs"])
        return
    if not show.form.for_people:
        told = [
            as_data(replayed, one, show.versus)
            for replayed, one in zip(replays, advised, strict=True)
        ]
        show.form.print(told, _rows(told, "versus") if show.versus else _timers(advised, show))
        return
    if show.versus:
        _echo(versus_lines(replays, show.versus))
        return
    for place, replayed in enumerate(replays):
        if place:
            typer.echo("")
        if show.rfc889:
            _echo(rfc889_lines(replayed))
        else:
            _echo(lines(advised[place], details=show.details))
    if replays and not show.rfc889:
        _tell_more(show)


def _tell_more(show: _Show) -> None:
    """Print that `--details` prints the reasons, if this option was not given."""
    if not show.details:
        typer.echo("")
        _echo(iter([paint(MORE, "dim")]))


def _timers(advised: list[Advice], show: _Show) -> Iterator[Row]:
    """Yield the rows of the tables of timers, with their costs per probe [s]."""
    for one in advised:
        replayed = one.replays[0]
        shown = one.asked if show.rfc889 else mentioned(one)
        for algorithm in replayed.only(shown).algorithms:
            cost = one.cost(algorithm.estimator).total.data() if one.weighing else {}
            yield {
                "recording": replayed.delays.name,
                **algorithm_data(algorithm),
                "cost_s": {end: cost.get(end) for end in ("value", "low", "high")},
            }


def _rows(told: list[dict[str, Any]], key: str) -> Iterator[Row]:
    """Yield the rows of the list `key` of each recording, with the recording's name."""
    return ({"recording": one["recording"], **row} for one in told for row in one[key])


def _echo(text: Iterator[str]) -> None:
    for line in fitted(text, 120):
        typer.echo(line)


def _tell_settings(delays: list[Delays], named: list[str], how: Replaying, show: _Show) -> None:
    """Print every setting of all estimators, for all recordings together or for each recording."""
    groups = [delays] if show.pool or show.rfc889 else [[one] for one in delays]
    if not show.form.for_people:
        settings = (_settings(group, named, how, show.price) for group in groups if group)
        told = [setting_data(*one) for group in settings for one in group]
        rows = ({"cost_s": one["cost_s"], **row} for one in told for row in one["recordings"])
        show.form.print(told, rows)
        return
    for place, group in enumerate(group for group in groups if group):
        if place:
            typer.echo("")
        if not show.rfc889:
            for one in group:
                typer.echo(f"{one.name}: {count(one.sent, 'probe')}")
        report = rfc889_settings if show.rfc889 else settings_lines
        _echo(report(group, _settings(group, named, how, show.price)))


def _settings(
    delays: Sequence[Delays], named: list[str], how: Replaying, price: Price
) -> Iterator[tuple[list[Algorithm], float]]:
    """Yield the results of each setting on all recordings, and its cost per probe [s]."""
    from netspurt.advice.weighing import cost_of
    from netspurt.grids import expand, size
    from netspurt.timers import figures

    every, done = sum(map(size, named)), 0
    if every > MOST_SETTINGS:
        raise ValueError(
            f"--all replays at most {MOST_SETTINGS:,} settings, and the grids have {every:,}: take "
            "fewer steps"
        )
    with progress("settings", "timers") as tell:
        for text in (one for grid in named for one in expand(grid)):
            ways = {"order": how.order, "clock": how.clock, "told": how.told}
            told = [figures(one, text, **ways) for one in delays]  # type: ignore[arg-type]
            yield told, cost_of(delays, told, price)
            done += 1
            tell(done, every)


def _of_an_estimator(error: BaseException) -> BaseException:
    """Return `error`, or a one-line error if a user's own estimator raised it."""
    from netspurt.algorithms import in_one_line

    if isinstance(error, TypeError) and "has no method" in str(error):
        return ValueError(str(error))
    notes = getattr(error, "__notes__", [])
    if not notes:
        return error
    why = f"{in_one_line(error)} ({'; '.join(notes)})"
    if isinstance(error, _core.ReturnedError):
        return ValueError(why)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename}:{last.lineno}: " if last.filename.endswith(".py") else ""
    return ValueError(f"{place}{type(error).__name__}: {why}")


def _left_out(file: Path, malformed: list[Malformed]) -> Iterator[str]:
    """Yield messages on malformed lines."""
    for bad in malformed[:_SHOWN]:
        yield f"{file}:{bad.line}: left out, {bad.why}: {bad.text}"
    if len(malformed) > _SHOWN:
        more = len(malformed) - _SHOWN
        yield f"{file}: {more} more lines left out; `netspurt delays --json` lists all"


def algorithms_of(delays: list[Delays], named: Iterable[str], how: Replaying) -> list[str]:
    """Return the estimators to show.

    In place of a grid, the result has up to `_MOST_OF_A_GRID` settings of the grid's front: those
    that no other setting beats. A note says how many settings the grid and the front have.
    """
    from netspurt.grids import is_grid
    from netspurt.timers import grid_front

    algorithms = []
    for text in named:
        if several := _several(text):
            raise ValueError(f"`{text}` names several timers: repeat -e, as in `{several}`")
        if not is_grid(text):
            algorithms.append(text)
            continue
        with progress(text, "timers") as tell:
            front, number = grid_front(
                delays, text, order=how.order, clock=how.clock, told=how.told, progress=tell
            )
        shown = _spread(front, _MOST_OF_A_GRID)
        algorithms += shown
        note = f"{text}: {count(number, 'setting')}, {len(front)} of them on the front"
        note += f" ({len(shown)} are shown)" if len(shown) < len(front) else ""
        if not how.quiet:
            typer.echo(f"{note}: no setting is better than these. --all shows all.", err=True)
    return algorithms


def _several(text: str) -> str:
    """Return the options for a text that names several timers, or an empty text if it names one.

    Examples
    --------
    >>> _several("linux,quic"), _several("mills:g=3,karn=true")
    ('-e linux -e quic', '')
    """
    from netspurt.grids import is_of_core

    parts = text.split(",")
    names = [part.partition(":")[0].strip() for part in parts]
    known = len(parts) > 1 and all(map(is_of_core, names))
    return " ".join(f"-e {part.strip()}" for part in parts) if known else ""


#: The maximum number of settings of a grid that are shown.
_MOST_OF_A_GRID = 12


def _spread(items: list[str], most: int) -> list[str]:
    """Return some items at equal distances, including the first and the last."""
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


#: The maximum number of malformed lines that are shown.
_SHOWN = 5


def _save(
    replays: list[Replay],
    drawn: list[tuple[Replay, str]],
    settings: Settings,
    out: Path,
    kinds: list[str],
) -> list[str]:
    """Write the table, the settings and the pictures of replays, and return the names of the files.

    `drawn` has the timers to draw on each recording, and the name of the recommended timer.
    """
    from netspurt.plots.files import save
    from netspurt.plots.replay import draw
    from netspurt.stored import new_folder
    from netspurt.timers import save_records

    with new_folder(out) as folder:
        files = [save_records(replays, folder / REPLAYED), settings.write(folder)]
        for place, (one, pick) in enumerate(drawn, start=1):
            which = "replay" if len(drawn) == 1 else f"replay-{place}"
            for plot in _PLOTS:
                if plot in ("histogram", "scatter") and not one.algorithms[0].answered:
                    continue  # There is nothing to draw.
                pictures = [folder / f"{which}-{plot}.{kind}" for kind in kinds]
                save(draw(one, plot, first=pick), pictures)
                files += pictures
    return [file.name for file in files]
