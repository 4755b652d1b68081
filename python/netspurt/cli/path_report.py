"""The results of probing a path: delays, histogram, delay against probe length, bursts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from netspurt.cli.one_way import share_of
from netspurt.cli.output import width
from netspurt.wording import rate

if TYPE_CHECKING:
    from netspurt.analysis import Glitch, Line
    from netspurt.delays import Delays
    from netspurt.probe import Histogram


def path_data(recording: Delays, *, times: float = 3.0) -> dict[str, Any]:
    """Return the report on a recording of delays as data.

    It has percentiles of the delays, their histogram, the regression line of delay on probe length,
    and the bursts of long delays. A delay is long if it exceeds the typical delay (the median of
    the delays around it) multiplied by `times`.
    """
    from netspurt.probe import bursts, length_line

    spans = histogram_of(recording).spans()
    told: dict[str, Any] = {
        "histogram": [{"from_s": low, "to_s": high, "count": n} for low, high, n in spans if n],
        "delay": None,
        "line": None,
        "bursts": [],
    }
    if recording.received == 0:
        return told
    summary = recording.summary()
    told["delay"] = {key: summary[key] for key in ("p1_ms", "median_ms", "p99_ms")}
    if summary["median_ms"] is not None:
        told["delay"]["one_way_median_ms"] = summary["median_ms"] * share_of(recording.measure)
    line = length_line(recording)
    told["line"] = None if line is None else line_data(line)
    told["bursts"] = [burst_data(recording, one) for one in bursts(recording, line, times=times)]
    return told


def line_data(line: Line) -> dict[str, Any]:
    """Return a regression line of delay against length as data.

    `rate_bps` follows from the slope of the line.
    """
    return {
        "shortest": line.shortest,
        "longest": line.longest,
        "probes": line.probes,
        "rate_bps": _finite(line.rate_bps),
        "rate_bps_between": [_finite(end) for end in line.rate_between()],
        "intercept_ms": line.intercept_s * 1e3,
        "us_per_octet": line.slope_s * 1e6,
        "us_per_octet_between": [end * 1e6 for end in line.slope_between()],
        "residual_ms": line.residual_s * 1e3,
    }


def burst_data(recording: Delays, burst: Glitch) -> dict[str, Any]:
    """Return a burst of long delays as data.

    It has the numbers of the first and the last probe, the longest delay, and this delay divided by
    the typical delay. The typical delay is the median of the delays around the longest delay. If
    delays grow with the length of probes, the longest delay is corrected for the length.
    """
    return {
        "first": int(recording.number[burst.start]),
        "last": int(recording.number[burst.end - 1]),
        "peak_ms": burst.peak_s * 1e3,
        "times": burst.times,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def delay_line(told: dict[str, Any], measure: str) -> str:
    """Return a sentence with statistics of the delays."""
    delay = told["delay"]
    one_way = measure == "one-way"
    text = f"{'one-way delay' if one_way else 'round trip'} {ms(delay['median_ms'])} median, "
    return text + f"{ms(delay['p1_ms'])} - {ms(delay['p99_ms'])} (1-99 %)"


def length_text(line: dict[str, Any], measure: str) -> str:
    """Return a sentence on a regression line of delay against length."""
    low, high = line["us_per_octet_between"]
    return (
        f"delay by length: {ms(line['intercept_ms'])} plus {line['us_per_octet']:.4g} µs an "
        f"octet ({low:.4g} to {high:.4g}), {rate_text(line, measure, each_way(measure))}, "
        f"deviation from the line {ms(line['residual_ms'])}"
    )


def each_way(measure: str) -> str:
    """Return the words after a rate: ` each way`, or nothing if the delays are one-way."""
    return "" if measure == "one-way" else " each way"


def rate_text(line: dict[str, Any], measure: str, way: str = "") -> str:
    """Return the rate that follows from a line of delay on length, and its interval.

    `way` has the words that follow the rate, such as ` each way`.
    """
    # In a round trip, a probe crosses the path twice. So each direction has twice the rate that the
    # slope gives.
    crossed = 1 / share_of(measure)
    best, low, high = (
        None if bps is None else rate(crossed * bps)
        for bps in (line["rate_bps"], *line["rate_bps_between"])
    )
    if low is None:
        return "rate unknown"
    if best is None or high is None:
        return f"{low} or more{way}"
    return f"{best}{way} ({low} to {high})"


def burst_lines(bursts: list[dict[str, Any]], most: int | None = None) -> Iterator[str]:
    """Yield a sentence for each burst of long delays, or for the first `most` of them."""
    for one in bursts[:most]:
        probes = (
            f"probe {one['first']}"
            if one["first"] == one["last"]
            else f"probes {one['first']} to {one['last']}"
        )
        yield (
            f"a burst of long delays, {probes}: up to {ms(one['peak_ms'])}, {one['times']:.1f} "
            "times the typical delay"
        )
    if most is not None and len(bursts) > most:
        yield f"{len(bursts) - most} more bursts: `netspurt delays report` lists all"


def histogram_of(recording: Delays) -> Histogram:
    """Return the histogram of all delays, as `netspurt probe` shows it."""
    from netspurt.probe import Histogram

    histogram = Histogram()
    for rtt in (recording.rtt_ns.compressed() / 1e9).tolist():
        histogram.add(rtt)
    return histogram


def bars(histogram: Histogram, most: int = 20, across: int | None = None) -> Iterator[str]:
    """Yield a histogram as lines. If there are many bins, neighbours are merged.

    `most` is the maximum number of lines. `across` is the available width in characters; by default
    it is the terminal's width, but at most 100. The longest bar always has at least 10 characters.
    Empty bins that are neighbours share one line.
    """
    spans = histogram.spans()
    if not spans:
        return
    # With few answers, most lines of a long histogram would be empty. So there are few lines then.
    most = min(most, 2 + 2 * math.isqrt(sum(n for _, _, n in spans)))
    step = math.ceil(len(spans) / most)
    merged = [
        (part[0][0], part[-1][1], sum(n for _, _, n in part))
        for part in (spans[at : at + step] for at in range(0, len(spans), step))
    ]
    merged = list(_without_empty_rows(merged))
    top = max(n for _, _, n in merged)
    room = max(10, (across or width(100)) - 34)
    for low, high, n in merged:
        bar = "█" * round(room * n / top) if n else ""
        yield f"{span(low * 1e9):>9} - {span(high * 1e9):<9} {n:>7} {bar}".rstrip()


def _without_empty_rows(
    spans: Iterable[tuple[float, float, int]],
) -> Iterator[tuple[float, float, int]]:
    """Yield the bins of a histogram, with one bin in place of several neighbours that are empty.

    Examples
    --------
    >>> list(_without_empty_rows([(1.0, 2.0, 5), (2.0, 3.0, 0), (3.0, 4.0, 0), (4.0, 5.0, 1)]))
    [(1.0, 2.0, 5), (2.0, 4.0, 0), (4.0, 5.0, 1)]
    """
    for empty, group in itertools.groupby(spans, key=lambda one: one[2] == 0):
        bins = list(group)
        yield from [(bins[0][0], bins[-1][1], 0)] if empty else bins


def ms(milliseconds: float) -> str:
    """Return a time with a suitable unit."""
    return span(milliseconds * 1e6)


def span(nanos: float) -> str:
    """Return a time with a suitable unit."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(nanos) >= scale:
            return f"{nanos / scale:.4g} {unit}"
    return f"{nanos:.0f} ns"
