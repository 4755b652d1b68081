"""`netspurt sites`: what many connections show about sites and the paths to them.

A level is a throughput that many connections have approximately.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import number_from, span_of
from netspurt.cli.output import complain, print_json
from netspurt.cli.site_report import report_lines
from netspurt.quantities import known

if TYPE_CHECKING:
    from netspurt.analysis.constancy import SteadyPeriod
    from netspurt.analysis.sites import Connections, Share


Within = Annotated[
    float,
    typer.Option(
        parser=number_from(0.001, 1, example="0.1"),
        metavar="X",
        help="Count connections whose mean round trip differs from the handshake's by at most this "
        "share.",
    ),
]
Times = Annotated[
    float,
    typer.Option(
        parser=number_from(1, example="3"),
        metavar="X",
        help="Count connections whose longest round trip is at most X times the handshake's.",
    ),
]


def sites(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of `netspurt poll`, captures, run folders, or tables of connections.",
            show_default=False,
        ),
    ],
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="SITE", help="Leave a site out. May be repeated."),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            parser=span_of,
            metavar="TIME",
            help="The longest silence of a connection counts as a timeout if it is longer than "
            "this, by default 500ms. A silence does not count if the silent end waited for the "
            "other end, for the receive window or for a round trip, or worked on what the other "
            "end had sent.",
            show_default=False,
        ),
    ] = 0.5,
    within: Within = 0.1,
    times: Times = 3.0,
    pictures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="A folder for pictures of distributions and series."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Compare sites: round trips, throughput (with levels), idle times, retransmissions, constancy.

    The command answers the questions that the paper on Super Fast Retransmit (2005) asks about nine
    web sites. A question is left out if the connections have no data for it.
    """
    connections = _read(sources).without(without or [])
    if not len(connections):
        raise ValueError("no connections are left: --without leaves out all sites")
    data = {
        "connections": len(connections),
        "without": list(without or []),
        "threshold_s": threshold,
        "within": within,
        "times": times,
        "sites": {
            name: site_data(connections.at(name), threshold=threshold, within=within, times=times)
            for name in connections.sites
        },
        "all": _shared_data(connections, threshold=threshold, within=within, times=times),
    }
    drawn = [] if pictures is None else _draw(connections, pictures, threshold, times)
    if as_json:
        print_json(data | {"pictures": [str(file) for file in drawn]})
        return
    for line in report_lines(data):
        typer.echo(line)
    for file in drawn:
        typer.echo(str(file))


def _read(sources: list[Path]) -> Connections:
    from netspurt.analysis.sites import joined
    from netspurt.connections import NoConnectionsError, read_connections

    notes: list[str] = []
    parts = []
    for source in sources:
        try:
            parts.append(read_connections(source, notes))
        except NoConnectionsError as error:
            # A folder of captures often has one without packets of TCP.
            if len(sources) == 1:
                raise
            notes.append(f"{error}; left out")
    for note in notes:
        complain(ValueError(note), "warning:")
    if not parts:
        raise ValueError("the files have no connections")
    return joined(parts)


def _shared_data(
    connections: Connections, *, threshold: float, within: float, times: float
) -> dict[str, Any]:
    """Return the results that are computed for each site and for all sites together."""
    from netspurt.analysis.sites import handshake_ratio, label_timeouts, ping_ratio

    ratio, ping = handshake_ratio(connections, within=within, times=times), ping_ratio(connections)
    labelled = label_timeouts(connections, threshold_s=threshold)
    return {
        "connections": len(connections),
        "handshake": {"near": _share(ratio.near), "below": _share(ratio.below)},
        "ping": {"median": known(ping.median), "from_1_to_1.1": _share(ping.between)},
        "labels": vars(labelled) | {"right": _share(labelled.right)},
    }


def site_data(
    connections: Connections, *, threshold: float, within: float, times: float
) -> dict[str, Any]:
    """Return the results for a site as data. Unknown values are None."""
    import numpy as np

    connections = connections.in_order()
    shared = _shared_data(connections, threshold=threshold, within=within, times=times)
    rtt = np.where(
        np.isfinite(connections.rtt_mean_s), connections.rtt_mean_s, connections.handshake_s
    )
    return shared | {
        "lasts_s": known(float(np.ptp(connections.began_s))),
        "rtt": _spread(rtt) | {"steady": _steady(connections.began_s, rtt)},
        "throughput": _spread(connections.throughput_bps)
        | {"steady": _steady(connections.began_s, connections.throughput_bps)},
        "levels": _levels(connections),
        "idle": _idle_data(connections, threshold),
        "split": _split_data(connections),
    }


def _share(share: Share) -> dict[str, Any]:
    low, high = share.between
    ends = {"value": known(share.value), "low": known(low), "high": known(high)}
    return {"hits": share.hits, "count": share.count} | ends


def _spread(values: Any) -> dict[str, Any]:
    """Return the number of values, quantiles, mean and standard deviation."""
    import numpy as np

    from netspurt.analysis.sites import Cdf

    cdf = Cdf.of(values)
    present = cdf.value
    return {
        "count": len(present),
        "mean": known(float(present.mean())) if len(present) else None,
        # One value has no spread.
        "sd": known(float(np.std(present))) if len(present) > 1 else None,
        "quantiles": {str(q): known(cdf.quantile(q)) for q in (0.05, 0.5, 0.95)},
    }


def _steady(t: Any, values: Any) -> dict[str, Any] | None:
    """Return the change-free periods by Zhang et al.'s two tests; `None` with too few values."""
    import numpy as np

    from netspurt.analysis.changes import LEAST, find_changes
    from netspurt.analysis.constancy import change_free_periods, lengths_of, predictions

    present = np.isfinite(values) & np.isfinite(t)
    t, values = t[present], values[present]
    if len(values) < 2 * LEAST:
        return None
    by_method: dict[str, Any] = {}
    for name in ("rank-order", "bootstrap"):
        periods = change_free_periods(t, values, find_changes(values, method=name))
        lengths = lengths_of(periods)
        by_method[name] = {
            "longest_s": known(lengths.longest_s),
            "median_at_an_instant_s": known(lengths.at_an_instant(0.5)),
            "periods": [_period(period) for period in periods],
        }
    best = (
        min(predictions(values), key=lambda prediction: prediction.error)
        if np.all(values > 0)
        else None
    )
    return by_method | {"best_prediction": None if best is None else vars(best)}


def _period(period: SteadyPeriod) -> dict[str, Any]:
    return {"start_s": period.start_s, "length_s": period.length_s, "count": period.count} | {
        name: known(getattr(period, name)) for name in ("median", "mean", "sd")
    }


def _levels(connections: Connections) -> list[dict[str, Any]] | None:
    import numpy as np

    from netspurt.analysis.levels import find_levels

    positive = connections.select(connections.throughput_bps > 0)
    if len(positive) < 3:
        return None
    levels = find_levels(positive.throughput_bps)
    counted = positive.packets
    rows = []
    for n, (level, span) in enumerate(
        zip(levels.levels, levels.spans(positive.began_s), strict=True)
    ):
        packets = counted[(levels.member == n) & np.isfinite(counted)]
        rows.append(
            {
                "bps": level.value,
                "spread": level.spread,
                "share": level.share,
                "connections": level.count,
                "span_of_time": known(span),
                "packets": None if not len(packets) else [packets.min(), packets.max()],
            }
        )
    return rows


def _idle_data(connections: Connections, threshold: float) -> dict[str, Any] | None:
    import numpy as np

    from netspurt.analysis.sites import Share, rank_correlation

    idle = connections.idle_s[np.isfinite(connections.idle_s)]
    if not len(idle):
        return None
    causes, counts = np.unique(connections.idle_for[connections.idle_for != ""], return_counts=True)
    pairs = np.isfinite(connections.idle_s) & np.isfinite(connections.throughput_bps)
    return _spread(idle) | {
        "above": _share(Share.of(idle > threshold)),
        "waited_for": dict(zip(causes.tolist(), counts.tolist(), strict=True)),
        "correlation": rank_correlation(connections.idle_s, connections.throughput_bps).data()
        if pairs.sum() >= 8
        else None,
    }


def _split_data(connections: Connections) -> dict[str, Any] | None:
    from netspurt.analysis.sites import split_by_retransmissions

    split = split_by_retransmissions(connections)
    if not split.clean.count + split.repaired.count:
        return None
    return {
        name: {
            "connections": part.count,
            "packets": [known(end) for end in part.packets],
            "throughput_bps": [known(end) for end in part.throughput_bps],
        }
        for name, part in (("clean", split.clean), ("repaired", split.repaired))
    } | {"chance": known(split.chance)}


def _draw(connections: Connections, folder: Path, threshold: float, times: float) -> list[Path]:
    """Draw distributions for all sites, and throughput and idle times of each; return the files."""
    import numpy as np

    from netspurt.analysis.idle import IN_WORDS
    from netspurt.analysis.levels import find_levels
    from netspurt.analysis.sites import handshake_ratio
    from netspurt.plots import save
    from netspurt.plots.sites import draw_cdfs, draw_idle, draw_throughput

    folder.mkdir(parents=True, exist_ok=True)
    each = {name: connections.at(name).in_order() for name in connections.sites}
    figures: dict[str, Any] = {}

    def add_cdfs(name: str, values: dict[str, Any], **words: Any) -> None:
        if any(np.isfinite(one).any() for one in values.values()):
            figures[name] = draw_cdfs(values, **words)

    def rtt(one: Connections) -> Any:
        return np.where(np.isfinite(one.rtt_mean_s), one.rtt_mean_s, one.handshake_s)

    add_cdfs("rtt", {n: rtt(c) for n, c in each.items()}, title="Round trips",
             what="mean round trip", unit="s")  # fmt: skip
    add_cdfs("throughput", {n: c.throughput_bps for n, c in each.items()}, title="Throughput",
             what="throughput", unit="bit/s")  # fmt: skip
    ratios = {name: handshake_ratio(one) for name, one in each.items()}
    add_cdfs("handshake-mean", {n: r.mean for n, r in ratios.items()}, marks=(0.9, 1.1), unit="",
             title="Later round trips", what="mean later round trip / handshake's")  # fmt: skip
    add_cdfs("handshake-longest", {n: r.longest for n, r in ratios.items()}, marks=(times,),
             title="Later round trips", what="longest later round trip / handshake's",
             unit="")  # fmt: skip
    for name, one in each.items():
        positive = one.select((one.throughput_bps > 0) & np.isfinite(one.began_s))
        if len(positive) >= 3:
            found = find_levels(positive.throughput_bps)
            figures[f"{_plain(name)}-levels"] = draw_throughput(
                positive.began_s, positive.throughput_bps, found.member,
                [level.value for level in found.levels], title=f"Throughput of {name}",
            )  # fmt: skip
        if np.any(np.isfinite(one.idle_s) & np.isfinite(one.throughput_bps)):
            figures[f"{_plain(name)}-idle"] = draw_idle(
                one.idle_s, one.throughput_bps, one.idle_for, words=IN_WORDS,
                threshold_s=threshold, title=f"Throughput and longest idle time of {name}",
            )  # fmt: skip
    files = [folder / f"{name}.png" for name in figures]
    for file, figure in zip(files, figures.values(), strict=True):
        save(figure, [file])
    return files


def _plain(name: str) -> str:
    """Return a site's name as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name).lstrip(".") or "site"
