"""`netspurt orbit`: passes of satellites, and the delays of paths over them.

A pass is a time in which a satellite can be reached. The swing of a pass is its longest delay minus
its shortest delay. A timeline is a list of delays, each with the time at which it begins.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import number_from, span_of
from netspurt.cli.output import columns, paint
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.cli.timelining import Picture
from netspurt.cli.words import App
from netspurt.delays import ORBIT_COLUMNS
from netspurt.picture_files import check_ending
from netspurt.stored import write_new
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.orbit import DelayPolynomial, OrbitPath, Pass, PathDelays
    from netspurt.timelines import Timeline

_STATIONS = (
    "A STATION has one of four forms. A site is written as 32.5007,-106.6086 (degrees north and "
    "east; a third number is its height in metres). A geostationary relay is written as "
    "geo:-174.17 (degrees east; two more numbers are its inclination and node). An orbit is "
    "written as apogee=400,perigee=384,inclination=51.6,epoch=1999-07-01 (km, km, degrees, UTC; "
    "more keys: node, argument, anomaly, name). A file with element sets (TLE, or OMM in key-value "
    "notation) is named by its path, or by FILE#NAME or FILE#NUMBER if it has several satellites. "
    "If a file has several sets of one satellite, the set nearest to --start is used. Without "
    "--start, the newest set is used."
)

app = App(
    help="Find when satellites can be reached, and how long a signal takes.",
    epilog=_STATIONS,
)

Satellite = Annotated[
    str,
    typer.Argument(
        metavar="ELEMENTS",
        help="The satellite: a relay, an orbit, or a file with element sets.",
        show_default=False,
    ),
]
Source = Annotated[str, typer.Option("--from", metavar="STATION", help="Where the path begins.")]
Via = Annotated[
    list[str] | None,
    typer.Option(metavar="STATION", help="A station on the way. May be repeated, in order."),
]
To = Annotated[
    str | None,
    typer.Option(metavar="STATION", help="Where the path ends; by default at the satellite."),
]
Start = Annotated[
    str | None,
    typer.Option(
        metavar="UTC",
        help="The start: 1999-07-01 or 1999-07-01T12:00:00Z; by default the satellite's epoch.",
    ),
]
Hours = Annotated[
    float,
    typer.Option(
        parser=number_from(0, example="24"), metavar="N", help="The number of hours to search."
    ),
]
Elevation = Annotated[
    float,
    typer.Option(
        parser=number_from(-90, 90, example="10"),
        metavar="DEGREES",
        help="The minimum elevation above a site's horizon.",
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        parser=number_from(0, example="20"),
        metavar="KM",
        help="The minimum height above the ground of a line of sight between two points in space.",
    ),
]
AtLeast = Annotated[
    float,
    typer.Option(
        "--at-least",
        parser=span_of,
        metavar="TIME",
        help="Choose the least and the most variable pass only among passes of at least this "
        "length.",
    ),
]
ChosenPass = Annotated[
    str | None,
    typer.Option(
        "--pass",
        metavar="PASS",
        help="The pass: its number in `orbit passes`, or least or most: the pass whose delay "
        "varies least or most. Required if there are several passes.",
    ),
]
Degree = Annotated[
    int | None,
    typer.Option(
        "--fit",
        metavar="DEGREE",
        help="The degree of the fitted polynomial. By default it is the lowest degree "
        "whose polynomial is within 0.1 % of the delay or, if there is none, the best degree.",
    ),
]
ErrorRate = Annotated[
    float | None,
    typer.Option(
        "--bit-error-rate",
        metavar="RATE",
        help="Also write the bit error rates of the link, as the key `loss`. RATE is the bit error "
        "rate where the path is shortest.",
        show_default=False,
    ),
]
PowersPerDecibel = Annotated[
    float,
    typer.Option(
        "--per-db",
        metavar="POWERS",
        help="By how many powers of ten the bit error rate grows for each decibel that the signal "
        "loses.",
    ),
]
PassPicture = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw the delay in each pass, as .png, .svg or .pdf.",
        show_default=False,
    ),
]

#: The approximate maximum number of points of a pass in a picture.
_POINTS_MAX = 400


@app.command("passes", epilog=_STATIONS)
def passes(
    satellite: Satellite,
    source: Source,
    via: Via = None,
    to: To = None,
    start: Start = None,
    hours: Hours = 24.0,
    elevation: Elevation = 0.0,
    margin: Margin = 0.0,
    at_least: AtLeast = "5min",  # type: ignore[assignment]
    plot: PassPicture = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """List the passes of a path over a satellite, and the delays in each."""
    from netspurt.orbit import extreme_passes

    form = Form(as_json, as_csv)
    stations = [source, *(via or []), satellite, *([to] if to else [])]
    path = _path(stations, elevation, margin, start)
    begin = _start(path, satellite_at=1 + len(via or []), start=start)
    found = path.passes(begin, hours)
    chosen = extreme_passes(found, at_least=at_least)
    numbers = None if chosen is None else [found.index(extreme) + 1 for extreme in chosen]
    notes = path.notes(begin, hours)
    if plot is not None:
        _draw_passes(path, found, (begin, hours), plot)
    if not form.for_people:
        least, most = numbers or (None, None)
        rows = [_as_json(n, orbit_pass) for n, orbit_pass in enumerate(found, 1)]
        document = {
            "path": path.name,
            "notes": notes,
            "passes": rows,
            "least_variable": least,
            "most_variable": most,
        }
        form.print(document, rows, _FIELDS)
    else:
        _describe(path.name, found, hours)
        if numbers and chosen:
            (least, most), (low, high) = numbers, chosen
            typer.echo(
                f"least variable: pass {least}, {_ms(low.swing)} ms; most variable: pass {most}, "
                f"{_ms(high.swing)} ms (of whole passes of {number(at_least)} s or more)"
            )
    _say(notes, aside=not form.for_people)


@app.command("delays", epilog=_STATIONS)
def delays(
    satellite: Satellite,
    source: Source,
    via: Via = None,
    to: To = None,
    start: Start = None,
    hours: Hours = 24.0,
    chosen: ChosenPass = None,
    step: Annotated[
        float, typer.Option(parser=span_of, metavar="TIME", help="The time between two points.")
    ] = "1s",  # type: ignore[assignment]
    degree: Degree = None,
    elevation: Elevation = 0.0,
    margin: Margin = 0.0,
    at_least: AtLeast = "5min",  # type: ignore[assignment]
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the points: FILE.csv, or FILE.toml with the `delay` of a scenario's link.",
        ),
    ] = None,
    plot: Picture = None,
    errors: ErrorRate = None,
    per_db: PowersPerDecibel = 1.0,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Show the delay in one pass, and write it as a link's timeline."""
    form = Form(as_json, as_csv)
    if errors is not None and (out is None or out.suffix != ".toml") and plot is None:
        raise typer.BadParameter(
            "only a timeline has bit error rates: add --out FILE.toml or --plot FILE",
            param_hint="--bit-error-rate",
        )
    if plot is not None:
        check_ending(plot)
    if out is not None and out.suffix not in (".csv", ".toml"):
        raise typer.BadParameter(
            f"{str(out)!r} ends neither in .csv nor in .toml", param_hint="--out"
        )
    stations = [source, *(via or []), satellite, *([to] if to else [])]
    path = _path(stations, elevation, margin, start)
    begin = _start(path, satellite_at=1 + len(via or []), start=start)
    nth, chosen_pass = _chosen(path.passes(begin, hours), chosen, at_least)
    points = path.delays(chosen_pass.rise_ns, chosen_pass.set_ns, step)
    heading = f"{path.name}: pass {nth}, {chosen_pass.rise} to {chosen_pass.set}"
    rates = [] if errors is None else points.bit_errors(errors, per_db)
    timeline = _timeline(points, heading, rates)
    fit = points.fit(degree)
    if out is not None:
        write_new(out, _csv(points) if out.suffix == ".csv" else timeline.to_toml())
    if not form.for_people:
        document = {"path": path.name, **_as_json(nth, chosen_pass), **_points(points, fit)}
        form.print(document, map(_point, _texts(points)))
    else:
        rows = _rows(chosen_pass, fit)
        typer.echo(paint(heading, "bold"))
        for line in columns(rows):
            typer.echo(line)
    if out is not None:
        print(f"wrote {out}: {len(points.t_ns)} points", file=sys.stderr)
    if plot is not None:
        from netspurt.plots import save
        from netspurt.plots.moving import draw_timeline

        save(draw_timeline(timeline, end_s=timeline.end_ns / 1e9), [plot])
        print(f"wrote {plot}", file=sys.stderr)
    poor = [] if degree is not None or form.as_csv else _poor(fit)
    _say([*path.notes(begin, hours), *_coarse(points, step), *poor], aside=True)


def _draw_passes(
    path: OrbitPath, found: Sequence[Pass], span: tuple[int, float], file: Path
) -> None:
    """Draw the delay in each pass."""
    from netspurt import _core
    from netspurt.plots import save
    from netspurt.plots.passes import draw_passes

    check_ending(file)
    begin, hours = span
    drawn = []
    for orbit_pass in found:
        points = path.delays(
            orbit_pass.rise_ns, orbit_pass.set_ns, max(1.0, orbit_pass.duration / _POINTS_MAX)
        )
        at_s = (orbit_pass.rise_ns - begin) / 1e9 + points.t_ns / 1e9
        drawn.append((at_s, points.delay_ns / 1e9))
    start = _core.utc_text(begin)
    save(draw_passes(drawn, hours * 3600, title=path.name, start=start), [file])
    print(f"wrote {file}", file=sys.stderr)


def _coarse(points: PathDelays, step: float) -> list[str]:
    """Return a note if the delay differs much from straight lines between the points."""
    from netspurt.orbit import WITHIN

    error, min_delay = points.line_error, float(points.delay_ns.min()) / 1e9
    if error <= WITHIN * min_delay:
        return []
    return [
        f"a step of {step:g} s is too coarse for this pass: straight lines between the "
        f"{number(len(points.t_ns))} points differ from the delay by up to {error * 1e3:.3g} ms "
        f"({error / min_delay:.2g} of the minimum delay). The fit uses closer points. Take a "
        "shorter --step"
    ]


def _poor(fit: DelayPolynomial) -> list[str]:
    """Return a note if no polynomial is as near to the delay as the default asks for."""
    from netspurt.orbit import WITHIN

    if fit.share <= WITHIN:
        return []
    return [
        f"no polynomial is within {WITHIN:.1%} of the delay; the best has degree {fit.degree} "
        f"and is off by up to {fit.share * 100:.2g} % of the delay"
    ]


_FIELDS = (
    "pass",
    "rise",
    "set",
    "duration_s",
    "cut",
    "distance_km_min",
    "distance_km_max",
    "delay_s_min",
    "delay_s_max",
    "swing_s",
)


def _as_json(nth: int, orbit_pass: Pass) -> dict[str, Any]:
    values = (
        nth,
        orbit_pass.rise,
        orbit_pass.set,
        round(orbit_pass.duration, 3),
        not orbit_pass.whole,
        round(orbit_pass.km[0], 6),
        round(orbit_pass.km[1], 6),
        round(orbit_pass.delay[0], 9),
        round(orbit_pass.delay[1], 9),
        round(orbit_pass.swing, 9),
    )
    return dict(zip(_FIELDS, values, strict=True))


def _describe(name: str, found: list[Pass], hours: float) -> None:
    count_of_passes = f"{len(found)} pass{'' if len(found) == 1 else 'es'}"
    typer.echo(paint(f"{name}: {count_of_passes} in {number(hours)} h", "bold"))
    if not found:
        return
    header = ("pass", "rise", "set", "lasts s", "min delay ms", "max delay ms", "swing ms", "")
    rows = [
        (
            str(nth),
            orbit_pass.rise,
            orbit_pass.set,
            f"{orbit_pass.duration:.0f}",
            _ms(orbit_pass.delay[0]),
            _ms(orbit_pass.delay[1]),
            _ms(orbit_pass.swing),
            _cut(orbit_pass),
        )
        for nth, orbit_pass in enumerate(found, 1)
    ]
    for line in columns([header, *rows], right=[0, 3, 4, 5, 6]):
        typer.echo(line)


def _cut(orbit_pass: Pass) -> str:
    """Return a note if the searched span does not contain the whole pass."""
    words = {
        (True, False): " begins earlier",
        (False, True): " ends later",
        (True, True): " begins earlier, ends later",
    }
    return words.get(orbit_pass.cut, "")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def _rows(orbit_pass: Pass, fit: DelayPolynomial) -> list[tuple[str, str]]:
    """Return the properties of a pass as rows, each with a label and a text."""
    low, high = (number(round(km)) for km in orbit_pass.km)
    off = f"{fit.residual * 1e3:.3g} ms, {fit.share * 100:.2g} % of the delay"
    powers = ("", " t", *(f" t^{n}" for n in range(2, fit.degree + 1)))[: fit.degree + 1]
    terms = [f"{c:+.9g}{power}" for c, power in zip(fit.coefficients, powers, strict=True)]
    return [
        ("lasts", f"{orbit_pass.duration:.3f} s{_cut(orbit_pass)}"),
        ("distance", f"{low} to {high} km"),
        (
            "delay",
            f"{_ms(orbit_pass.delay[0])} to {_ms(orbit_pass.delay[1])} ms, "
            f"swing {_ms(orbit_pass.swing)} ms",
        ),
        ("fit", f"degree {fit.degree}, off by {off} at most; t [s] from the rise on:"),
        ("", f"{' '.join(terms).removeprefix('+')} s"),
    ]


def _points(points: PathDelays, fit: DelayPolynomial) -> dict[str, Any]:
    return {
        "fit": {**vars(fit), "degree": fit.degree},
        "t_s": [ns / 1e9 for ns in points.t_ns.tolist()],
        "distance_km": points.km.tolist(),
        "delay_s": [ns / 1e9 for ns in points.delay_ns.tolist()],
    }


def _csv(points: PathDelays) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(ORBIT_COLUMNS)
    out.writerows(_texts(points))
    return text.getvalue()


def _texts(points: PathDelays) -> Iterator[tuple[str, ...]]:
    columns_ = (points.t_ns.tolist(), points.km.tolist(), points.delay_ns.tolist())
    for t, km, delay in zip(*columns_, strict=True):
        yield f"{t / 1e9:.9g}", f"{km:.6f}", f"{delay / 1e9:.9f}"


def _point(texts: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(ORBIT_COLUMNS, texts, strict=True))


def _timeline(points: PathDelays, heading: str, rates: Sequence[float]) -> Timeline:
    from netspurt.timelines import Timeline, Way

    instants = points.t_ns.tolist()
    delay = list(zip(instants, points.delay_ns.tolist(), strict=True))
    errors = list(zip(instants, rates, strict=True)) if rates else []
    return Timeline(heading, Way(delay, bit_errors=errors), between="linear")


def _path(stations: list[str], elevation: float, margin: float, start: str | None) -> OrbitPath:
    from netspurt.orbit import OrbitPath

    return OrbitPath(stations, elevation=elevation, margin_km=margin, near=start)


def _start(path: OrbitPath, satellite_at: int, start: str | None) -> int:
    """Return the start of the time that is searched for passes [ns since 1970].

    Raises
    ------
    ValueError
        If no start is given and the satellite has no epoch.
    """
    from netspurt import _core

    if start is not None:
        return _core.utc(start)
    epoch = path.stations[satellite_at].epoch_ns
    if epoch is None:
        name = path.stations[satellite_at].name
        raise ValueError(f"{name} has no epoch: set the start with --start, such as 1999-07-01")
    return epoch


def _chosen(found: list[Pass], word: str | None, at_least: float) -> tuple[int, Pass]:
    """Return the number and the pass that `--pass` names; by default the only pass.

    Raises
    ------
    ValueError
        If there is no such pass. Without `--pass`, if there is not exactly one pass.
    """
    from netspurt.orbit import extreme_passes

    if not found:
        raise ValueError("the path has no line of sight in this span: set more --hours")
    if word in ("least", "most"):
        extremes = extreme_passes(found, at_least=at_least)
        if extremes is None:
            raise ValueError(
                f"no whole pass lasts {number(at_least)} s: set a shorter --at-least, or name a "
                "pass by its number"
            )
        orbit_pass = extremes[word == "most"]
        return found.index(orbit_pass) + 1, orbit_pass
    if word is None and len(found) == 1:
        return 1, found[0]
    if word is None or not word.isdecimal() or not 1 <= int(word) <= len(found):
        named = "" if word is None else f"--pass {word}: "
        raise ValueError(
            f"{named}there are passes 1 to {len(found)}: set --pass to a number, least or most"
        )
    return int(word), found[int(word) - 1]


def _say(notes: list[str], *, aside: bool) -> None:
    for note in notes:
        print(f"{paint('note:', 'yellow')} {note}", file=sys.stderr if aside else sys.stdout)
