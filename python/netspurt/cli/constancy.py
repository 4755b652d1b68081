"""`netspurt delays constancy`: when the level of a delay changed, and how long it was steady."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import (
    Column,
    Interval,
    LostAfter,
    columns_of,
    count,
    number_from,
    one_of,
    span_of,
)
from netspurt.cli.output import columns, paint
from netspurt.cli.path_report import ms
from netspurt.cli.paths import Files, Format, each, folded, head_data, heading
from netspurt.cli.programs import AsJson, Form
from netspurt.cli.recordings import How
from netspurt.quantities import known
from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.analysis import Change, Lengths, SteadyPeriod
    from netspurt.delays import Delays

#: The maximum number of periods that are listed; `--json` has all.
SHOWN = 20
#: In recordings of less than `_SHORT_S` seconds, instants are printed with tenths of a second.
_SHORT_S = 600
#: If the correlation of neighbouring values is above `ALIKE`, the methods rank-order and bootstrap
#: may find changes that do not exist.
ALIKE = 0.2
_METHODS = ("rank-order", "bootstrap", "pelt")

Method = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        parser=one_of(_METHODS),
        metavar="NAME",
        help="The method that finds changes: rank-order, bootstrap, or pelt, which needs the "
        "package ruptures. By default rank-order and bootstrap. May be repeated; the periods of "
        "the first method are listed.",
        autocompletion=lambda: [*_METHODS],
    ),
]
Alpha = Annotated[
    float,
    typer.Option(
        parser=number_from(1e-6, 0.5, example="0.05"),
        metavar="P",
        help="The significance level of rank-order and bootstrap; pelt has none.",
    ),
]
Least = Annotated[
    int,
    typer.Option(
        parser=number_from(2, example="10", whole=True),
        metavar="N",
        help="The minimum number of values between two changes.",
    ),
]
Seed = Annotated[
    int, typer.Option(parser=count, metavar="N", help="The seed of the bootstrap's resamples.")
]
Band = Annotated[
    float,
    typer.Option(
        parser=number_from(1.001, example="1.5"),
        metavar="X",
        help="Also show periods in which the largest value is at most X times the smallest.",
    ),
]


def constancy(
    files: Files,
    every: Annotated[
        float | None,
        typer.Option(
            "--every",
            parser=span_of,
            metavar="TIME",
            help="Test the median delay of each interval of this length. By default each delay is "
            "tested.",
        ),
    ] = None,
    method: Method = None,
    alpha: Alpha = 0.05,
    least: Least = 6,
    seed: Seed = 1,
    band: Band = 1.2,
    out: Annotated[
        Path | None,
        typer.Option(help="A picture, .png, .svg or .pdf: the delays and their periods."),
    ] = None,
    format_: Format = None,
    interval: Interval = None,
    column: Column = None,
    lost_after: LostAfter = None,
    as_json: AsJson = False,
) -> None:
    """Show when delays changed their level, how long they were steady, and what predicts them.

    Zhang, Duffield, Paxson and Shenker (2001) distinguish three kinds of constancy: no change of
    level, values within a band, and values that earlier values predict.
    """
    how = How(format_, interval, columns_of(column), lost_after)
    methods = list(dict.fromkeys(method or _METHODS[:2]))
    drawn: list[Path] = []

    def about(recording: Delays) -> tuple[Any, list[str]]:
        t, values, unit = series_of(recording, every)
        what = "one-way delay" if recording.measure == "one-way" else "round trip"
        told = constancy_data(
            t, values, methods, unit=unit, alpha=alpha, least=least, seed=seed, band=band
        )
        data = head_data(recording) | {"every_s": every} | told
        lines = [*heading(recording), *_lines(data, what, recording)]
        if out is not None:
            title = f"{Path(recording.name).name}: {methods[0]}"
            drawn.append(_draw(title, t, values, data, what, out, drawn))
            lines.append(str(drawn[-1]))
        return data, lines

    each(files, how, about, Form(as_json))


def series_of(recording: Delays, every: float | None) -> tuple[Any, Any, str]:
    """Return instants, the delays at these instants [s], and the unit of the instants.

    If `every` is given, the time is divided into intervals of this length [s]. Each interval with
    an answer gives one instant and the median of its delays. If the times of sending are unknown,
    the instants are the indices of the probes.

    Raises
    ------
    ValueError
        If `every` is given, but the recording has no times of sending.
    """
    import numpy as np

    from netspurt.analysis import medians_every

    rtt = recording.rtt_s
    if recording.send_times == "unknown":
        if every is not None:
            raise ValueError(
                "it has no times of sending: give the time between two probes with --interval"
            )
        return np.arange(len(rtt), dtype=float), rtt, "probes"
    if every is None:
        return recording.sent_s, rtt, "s"
    return *medians_every(recording.sent_s, rtt, every), "s"


def constancy_data(
    t: Any,
    values: Any,
    methods: Sequence[str],
    *,
    unit: str,
    alpha: float,
    least: int,
    seed: int,
    band: float,
) -> dict[str, Any]:
    """Return the results of `netspurt delays constancy`, as data for `--json`.

    Raises
    ------
    ValueError
        If there are too few values.
    """
    import numpy as np

    from netspurt import analysis as its

    there = values[np.isfinite(values)]
    if len(there) < 2 * least:
        values_there = counted(len(there), "value")
        raise ValueError(f"{values_there}: finding a change needs at least {2 * least}")
    found: dict[str, list[Change]] = {}
    told: dict[str, Any] = {}
    for name in methods:
        words: Any = {"method": name, "alpha": alpha, "least": least, "seed": seed}
        found[name] = its.find_changes(values, **words)
        periods = its.change_free_periods(t, values, found[name])
        told[name] = _lengths_data(its.lengths_of(periods)) | {
            "periods": [_period_data(one) for one in periods],
            "chances": [known(change.chance) for change in found[name]],
        }
    # Bands and errors of predictions are ratios of two delays, so a delay of 0 allows neither.
    is_ratio_known = bool((there > 0).all())
    within = its.lengths_of(its.band_periods(t, values, ratio=band)) if is_ratio_known else None
    return {
        "values": len(there),
        "lasts": float(t[-1] - t[0]),
        "unit": unit,
        "mean_s": float(there.mean()),
        "sd_s": float(there.std()),
        "alpha": alpha,
        "least": least,
        "seed": seed,
        "neighbours": known(its.neighbours(values, found[methods[0]])),
        "change_free": told,
        "zeros": int((there == 0).sum()),
        "within_band": None
        if within is None
        else _lengths_data(within) | {"ratio": band, "periods": len(within.length_s)},
        "predictions": [vars(one) for one in its.predictions(values)] if is_ratio_known else [],
        "in_2001_s": its.IN_2001["delay"],
    }


def _lengths_data(lengths: Lengths) -> dict[str, Any]:
    return {
        "longest": known(lengths.longest_s),
        "median": known(lengths.quantile(0.5)),
        "median_at_an_instant": known(lengths.at_an_instant(0.5)),
    }


def _period_data(one: SteadyPeriod) -> dict[str, Any]:
    return {
        "start": one.start_s,
        "length": one.length_s,
        "first": one.first,
        "values": one.count,
        "median_ms": one.median * 1e3,
        "mean_ms": one.mean * 1e3,
        "sd_ms": one.sd * 1e3,
    }


def _lines(data: dict[str, Any], what: str, recording: Delays) -> Iterator[str]:
    mean, sd = data["mean_s"], data["sd_s"]
    yield from folded(
        f"{what} {ms(mean * 1e3)} mean, {ms(sd * 1e3)} standard deviation, "
        f"{f'CoV {sd / mean:.3f}' if mean else 'no CoV'}; "
        f"{number(data['values'])} {'delays' if data['every_s'] is None else 'medians'} over "
        f"{lasting(data['lasts'], data['unit'])}"
    )
    yield ""
    yield from _summary(data)
    yield ""
    name, first = next(iter(data["change_free"].items()))
    yield from _period_table(name, first, data["unit"], fine=data["lasts"] < _SHORT_S)
    yield ""
    yield from prediction_lines(data["predictions"])
    if data["zeros"]:
        zeros = counted(data["zeros"], "value is", "values are")
        yield from folded(
            f"{zeros} 0: bands and errors of predictions are ratios of two delays, so they are not "
            "known"
        )
    yield from _warnings(data)
    yield from _beside_2001(data, recording)


def _summary(data: dict[str, Any]) -> Iterator[str]:
    rows = [["method", "periods", "longest", "half of the time in periods of"]]
    told = {name: (len(one["periods"]), one) for name, one in data["change_free"].items()}
    band = data["within_band"]
    if band is not None:
        told[f"within a factor of {band['ratio']:g}"] = (band["periods"], band)
    for name, (periods, one) in told.items():
        longest, typical = (
            "-" if one[key] is None else lasting(one[key], data["unit"])
            for key in ("longest", "median_at_an_instant")
        )
        rows.append([name, number(periods), longest, f"{typical} or longer"])
    lines = columns(rows, right=(1, 2, 3))
    yield paint(next(lines), "dim")
    yield from lines


def _period_table(name: str, one: dict[str, Any], unit: str, *, fine: bool) -> Iterator[str]:
    if len(one["periods"]) == 1:
        yield f"no change found by {name}"
        return
    rows = [[f"by {name}: from", "lasts", "values", "median", "sd", "p-value"]]
    for period, chance in zip(one["periods"][:SHOWN], [None, *one["chances"]], strict=False):
        rows.append(
            [
                at(period["start"], unit, fine=fine),
                lasting(period["length"], unit),
                number(period["values"]),
                ms(period["median_ms"]),
                ms(period["sd_ms"]),
                "" if chance is None else f"{chance:.2g}",
            ]
        )
    lines = columns(rows, right=range(6))
    yield paint(next(lines), "dim")
    yield from lines
    if len(one["periods"]) > SHOWN:
        yield f"{len(one['periods']) - SHOWN} more periods: --json lists all"


def prediction_lines(predictions: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the best prediction of the next value, and the error of this prediction.

    If the last value is not the best prediction, the error of the last value follows.
    """
    if not predictions:
        return
    best = min(predictions, key=lambda one: one["error"])
    last = predictions[0]
    text = f"the next value is best predicted by the {best['name']}: {_error_words(best)}"
    if best is not last:
        text += f"; by the last value, {_error_words(last)}"
    yield from folded(text)


def _error_words(one: dict[str, Any]) -> str:
    """Return the error of a prediction in percent."""
    mean, most = (100 * math.expm1(one[key]) for key in ("error", "error_p95"))
    percent = [f"{part:.2g}" if part < 10 else f"{part:.0f}" for part in (mean, most)]
    return f"{percent[0]} % off on average, at most {percent[1]} % in 95 of 100 cases"


def _warnings(data: dict[str, Any]) -> Iterator[str]:
    alike = data["neighbours"]
    if alike is not None and alike > ALIKE and set(data["change_free"]) != {"pelt"}:
        yield from folded(
            f"neighbouring values are correlated ({alike:.2f}), so changes that are found may be "
            "only chance: test medians of longer intervals, with --every"
        )


def _beside_2001(data: dict[str, Any], recording: Delays) -> Iterator[str]:
    if data["unit"] != "s" or recording.measure == "smoothed":
        return
    longest = next(iter(data["change_free"].values()))["longest"]
    yield from folded(
        f"longest period without a change: {lasting(longest, 's')} in this recording of "
        f"{lasting(data['lasts'], 's')}; {lasting(data['in_2001_s'], 's')} for delays in Zhang et "
        "al. (2001)"
    )


def lasting(length: float, unit: str = "s") -> str:
    """Return a time in suitable units. If `unit` is not `s`, return the number with this unit.

    Examples
    --------
    >>> lasting(0.25), lasting(42.0), lasting(1290.0), lasting(7500.0), lasting(40, "probes")
    ('0.25 s', '42 s', '21.5 min', '2 h 05 min', '40 probes')
    """
    if unit != "s":
        return f"{number(length)} {unit}"
    if length < 120:
        return f"{length:.3g} s"
    if round(length / 60) < 120:
        return f"{length / 60:.3g} min"
    minutes = round(length / 60)
    return f"{minutes // 60:,} h {minutes % 60:02} min"


def at(instant: float, unit: str = "s", *, fine: bool = False) -> str:
    """Return an instant as h:mm:ss, with tenths if `fine`. If `unit` is not `s`, return a number.

    Examples
    --------
    >>> at(4803.26), at(4803.26, fine=True), at(4803, "probes")
    ('1:20:03', '1:20:03.3', '4,803')
    """
    if unit != "s":
        return number(instant)
    tenths = round(10 * instant) if fine else 10 * round(instant)
    seconds, tenth = divmod(tenths, 10)
    clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}.{tenth}" if fine else clock


def _draw(
    title: str, t: Any, values: Any, data: dict[str, Any], what: str, out: Path, drawn: list[Path]
) -> Path:
    from netspurt.analysis import SteadyPeriod
    from netspurt.plots import save
    from netspurt.plots.constancy import draw_periods

    periods = [
        SteadyPeriod(
            one["start"],
            one["start"] + one["length"],
            one["first"],
            one["values"],
            *(one[key] / 1e3 for key in ("median_ms", "mean_ms", "sd_ms")),
        )
        for one in next(iter(data["change_free"].values()))["periods"]
    ]
    # The file of each picture after the first gets a number.
    file = out.with_name(f"{out.stem}-{len(drawn) + 1}{out.suffix}") if drawn else out
    beneath = "" if data["unit"] == "s" else "probe"
    save(draw_periods(t, values, periods, title=title, what=what, beneath=beneath), [file])
    return file
