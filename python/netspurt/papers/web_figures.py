"""Figures of connections to web sites, and of the gains of Super Fast Retransmit (SFR).

A figure is drawn from the runs and sweeps of a paper, which the bench makes (`bench.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from netspurt.analysis.idle import IN_WORDS
from netspurt.analysis.levels import find_levels
from netspurt.analysis.sites import Connections, handshake_ratio
from netspurt.connections import of_run
from netspurt.papers.bench import Bench
from netspurt.papers.data import PaperError
from netspurt.pictures.ranges import Range
from netspurt.wording import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The values of a connection to a site, with their units.
_VALUES: dict[str, tuple[str, str, Callable[[Connections], Any]]] = {
    "round trip": ("mean round trip", "s", lambda connections: connections.rtt_mean_s),
    "throughput": ("throughput", "bit/s", lambda connections: connections.throughput_bps),
    "handshake": (
        "longest later round trip divided by the handshake's round trip",
        "",
        lambda connections: handshake_ratio(connections).longest,
    ),
}
#: A later round trip is unusual if it exceeds the handshake's round trip multiplied by this factor.
_UNUSUAL_FACTOR = 3.0
#: An idle time above this limit [s] counts as a timeout if nothing else explains the idle time.
_TIMEOUT_S = 0.5


def distributions(bench: Bench, *, run: str, of: str) -> Figure:
    """Draw the distribution of a value of the connections to each site of a run."""
    from netspurt.plots.sites import draw_cdfs

    if of not in _VALUES:
        raise PaperError(unknown_name("value", of, _VALUES, where="of connections"))
    what, unit, value = _VALUES[of]
    connections = of_run(bench.run(run))
    series = {name: value(connections.at(name)) for name in connections.sites}
    marks = (_UNUSUAL_FACTOR,) if of == "handshake" else ()
    return draw_cdfs(series, title=f"Simulated sites: {of}", what=what, unit=unit, marks=marks)


def over_time(bench: Bench, *, run: str, site: str) -> Figure:
    """Draw the throughput of a site's connections over time, with its levels."""
    from netspurt.plots.sites import draw_throughput

    connections = of_run(bench.run(run)).at(site).in_order()
    levels = find_levels(connections.throughput_bps)
    return draw_throughput(
        connections.began_s,
        connections.throughput_bps,
        levels.member,
        [level.value for level in levels.levels],
        title=f"Simulated site {site}: throughput",
    )


def against_idle(bench: Bench, *, run: str, site: str) -> Figure:
    """Draw the throughput of a site's connections against their longest idle time."""
    from netspurt.plots.sites import draw_idle

    connections = of_run(bench.run(run)).at(site)
    return draw_idle(
        connections.idle_s,
        connections.throughput_bps,
        connections.idle_for,
        words=IN_WORDS,
        threshold_s=_TIMEOUT_S,
        title=f"Simulated site {site}: throughput and longest idle time",
    )


def gains_of_sender(bench: Bench, *, sweep: str, measure: str, name: str) -> Figure:
    """Draw how much lower a measure is with SFR than with Reno, by delay and load."""
    from netspurt.plots.ranges import draw_ranges

    swept = bench.swept(sweep)
    gains = swept.gains(measure)
    first, second, _ = swept.order
    loads = [str(label) for label in swept.order[second]]
    series = {}
    for delay in map(str, swept.order[first]):
        own = [gain for cell, gain in gains.items() if cell[0] == delay]
        series[delay] = [Range(gain.value, gain.low, gain.high) for gain in own]
    seeds = len(np.unique(np.asarray(swept.cases["repeat"])))
    return draw_ranges(
        [f"{load} %" for load in loads],
        series,
        title=f"Gain of SFR: {name}",
        label="reduction against Reno [%]",
        beneath=f"load; marks are 95 % intervals of {seeds} paired seeds",
    )


FIGURES: dict[str, Callable[..., Figure]] = {
    "distributions": distributions,
    "over-time": over_time,
    "against-idle": against_idle,
    "gains": gains_of_sender,
}
