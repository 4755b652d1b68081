"""The text of `netspurt sites`: a table for each question, a row for each site.

A level is a throughput that many connections have approximately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from netspurt.cli.constancy import lasting
from netspurt.cli.output import columns, paint
from netspurt.cli.path_report import ms
from netspurt.cli.paths import folded
from netspurt.wording import counted, number, rate

#: How long delay and throughput were constant in measurements from 1999 to 2001. The study of nine
#: web sites (Tarr and Ghita 2005) quotes these measurements.
_IN_2001 = (
    "Zhang et al. (2001) found delay change-free for up to 30 min, and throughput for up to 20 min"
)

#: The results of `netspurt sites`, or a part of them such as the results for a site.
Data = dict[str, Any]


def report_lines(data: Data) -> Iterator[str]:
    """Yield the lines of the report on all sites. `data` is what `--json` prints."""
    sites: dict[str, Data] = data["sites"]
    word = "site" if len(sites) == 1 else "sites"
    count = f"{counted(data['connections'], 'connection')} to {number(len(sites))} {word}"
    left_out = f", without {', '.join(data['without'])}" if data["without"] else ""
    yield paint(count + left_out, "bold")
    for part in (_round_trips, _throughput, _levels, _idle, _split, _steady):
        lines = list(part(data, sites))
        if lines:
            yield ""
            yield from lines


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> Iterator[str]:
    if not rows:
        return
    lines = columns([list(heads), *map(list, rows)], right=right)
    yield paint(next(lines), "dim")
    yield from lines


def _percent(share: Data) -> str:
    """Return a share with its interval, in percent."""
    if not share["count"]:
        return "-"
    value, low, high = (100 * share[key] for key in ("value", "low", "high"))
    return f"{value:.0f} % ({low:.0f} .. {high:.0f})"


def _told(value: float | None, how: Callable[[float], str]) -> str:
    return "-" if value is None else how(value)


def _seconds(value: float) -> str:
    return ms(value * 1e3)


def _round_trips(data: Data, sites: dict[str, Data]) -> Iterator[str]:
    near = f"mean within {100 * data['within']:g} %"
    heads = ["round trips", "count", "median", "sd", near, f"longest <= {data['times']:g}x"]
    rows = []
    for name, one in sites.items():
        if not one["rtt"]["count"]:
            continue
        figures = (one["rtt"]["quantiles"]["0.5"], one["rtt"]["sd"])
        spread = [_told(figure, _seconds) for figure in figures]
        rows.append([name, number(one["rtt"]["count"]), *spread, *_ratios(one)])
    if len(rows) > 1:
        rows.append(["all", "", "", "", *_ratios(data["all"])])
    heads.append("TCP / ping")
    if all(one["ping"]["median"] is None for one in sites.values()):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    yield from _table(heads, rows, range(1, len(heads)))
    if rows and any(row[4] != "-" for row in rows):
        yield (
            "mean, longest: the mean and the longest later round trip, compared with the "
            "handshake's round trip"
        )
    ping = data["all"]["ping"]["from_1_to_1.1"]
    if ping["count"]:
        yield (
            f"TCP's round trip is 1.0 to 1.1 times ping's in {number(ping['hits'])} of "
            f"{number(ping['count'])} connections"
        )


def _ratios(one: Data) -> list[str]:
    ping = _told(one["ping"]["median"], lambda ratio: f"{ratio:.3f}")
    return [_percent(one["handshake"]["near"]), _percent(one["handshake"]["below"]), ping]


def _cov(spread: Data) -> float | None:
    """Return the coefficient of variation; `None` if it does not exist."""
    known = spread["sd"] is not None and spread["mean"]
    return spread["sd"] / spread["mean"] if known else None


def _throughput(_data: Data, sites: dict[str, Data]) -> Iterator[str]:
    rows = []
    for name, one in sites.items():
        told = one["throughput"]
        if told["count"]:
            spread = [told["quantiles"][q] for q in ("0.05", "0.5", "0.95")]
            covs = [_told(_cov(spread), lambda c: f"{c:.3f}") for spread in (told, one["rtt"])]
            rows.append([name, *(_told(figure, rate) for figure in (*spread, told["sd"])), *covs])
    heads = ["throughput", "5 %", "median", "95 %", "sd", "CoV", "CoV of round trips"]
    yield from _table(heads, rows, range(1, 7))


def _levels(_data: Data, sites: dict[str, Data]) -> Iterator[str]:
    rows = []
    for name, one in sites.items():
        for n, level in enumerate(one["levels"] or ()):
            packets = level["packets"]
            rows.append(
                [
                    f"{name}: {len(one['levels'])}" if n == 0 else "",
                    rate(level["bps"]),
                    f"{100 * level['spread']:{'.0f' if level['spread'] > 0.1 else '.2g'}} %",
                    f"{100 * level['share']:.0f} %",
                    number(level["connections"]),
                    _told(level["span_of_time"], lambda span: f"{100 * span:.0f} %"),
                    "-" if packets is None else f"{packets[0]:.0f} to {packets[1]:.0f}",
                ]
            )
    heads = ["levels", "throughput", "spread", "share of connections", "connections"]
    heads += ["share of time", "packets"]
    yield from _table(heads, rows, range(1, 7))


def _idle(data: Data, sites: dict[str, Data]) -> Iterator[str]:
    from netspurt.analysis.idle import IN_WORDS

    rows, waited = [], {}
    for name, one in sites.items():
        idle = one["idle"]
        if idle is None:
            continue
        told = idle["correlation"]
        between = "-"
        if told is not None and told["value"] is not None:
            between = f"{told['value']:.2f}"
            if told["low"] is not None:
                between += f" ({told['low']:.2f} .. {told['high']:.2f})"
        quantiles = [_told(idle["quantiles"][q], _seconds) for q in ("0.5", "0.95")]
        rows.append([name, *quantiles, _percent(idle["above"]), between])
        waited[name] = idle["waited_for"]
    above = f"above {_seconds(data['threshold_s'])}"
    heads = ["longest idle", "median", "95 %", above, "rank correlation with throughput"]
    yield from _table(heads, rows, range(1, 5))
    for name, causes in waited.items():
        for cause, count in sorted(causes.items(), key=lambda one: -one[1]):
            yield from folded(f"{name}: in {counted(count, 'case')}, {IN_WORDS[cause]}")
    labels = data["all"]["labels"]
    if labels["right"]["count"]:
        yield from folded(
            f"a longest idle time {above} counts as a timeout if nothing else explains it. This "
            f"agrees with the known timeouts in {number(labels['right']['hits'])} of "
            f"{number(labels['right']['count'])} connections. Timeouts that were not found: "
            f"{number(labels['missed'])}. Timeouts that were found but did not happen: "
            f"{number(labels['invented'])}"
        )


def _split(_data: Data, sites: dict[str, Data]) -> Iterator[str]:
    rows = []
    for name, one in sites.items():
        if one["split"] is None:
            continue
        for part, word in (("clean", "without"), ("repaired", "with")):
            told = one["split"][part]
            if not told["connections"]:
                continue
            least, _, most = told["packets"]
            packets = "-" if least is None else f"{least:.0f} to {most:.0f}"
            middle = _told(told["throughput_bps"][1], rate)
            chance = one["split"]["chance"] if part == "repaired" else None
            rows.append(
                [
                    name if part == "clean" or not one["split"]["clean"]["connections"] else "",
                    word,
                    number(told["connections"]),
                    packets,
                    middle,
                    "" if chance is None else f"{chance:.2g}",
                ]
            )
    heads = ["retransmissions", "", "connections", "packets", "median throughput", "p-value"]
    yield from _table(heads, rows, range(2, 6))


def _steady(_data: Data, sites: dict[str, Data]) -> Iterator[str]:
    rows = []
    for name, one in sites.items():
        for what in ("rtt", "throughput"):
            told = one[what]["steady"]
            if told is None:
                continue
            cells = []
            for method in ("rank-order", "bootstrap"):
                own = told[method]
                cells += [number(len(own["periods"])), _told(own["longest_s"], lasting)]
            word = "round trip" if what == "rtt" else what
            rows.append([name if what == "rtt" else "", word, *cells, lasting(one["lasts_s"])])
    heads = ["change-free", "", "periods by ranks", "longest", "periods by resamples", "longest"]
    heads.append("whole time")
    yield from _table(heads, rows, range(2, 7))
    if rows:
        yield from folded(_IN_2001)
