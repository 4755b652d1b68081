"""Names the measures of sweeps in words, with SI units, for the axes of plots.

A measure is a column of the results of a sweep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from netspurt import causes

#: The meaning of a column in words, if its name does not contain these words.
_WORDS = {
    "events": "wake-ups of the simulation",
    "finished": "flows that finished",
    "sent": "packets sent",
    "spurious": "spurious retransmissions",
    "undone": "reductions of cwnd undone",
    "received": "packets received",
    "duplicates": "duplicates received",
    "acked_bytes": "acknowledged",
    "delivered_bytes": "delivered",
    "waited_ns": "waited for timeouts",
    "completion_ns": "completion time",
    "connection_ns": "duration of a connection",
    "fairness": "Jain's index of fairness",
    "carried": "packets carried",
    "carried_bytes": "carried",
    "dropped": "packets dropped",
    "lost": "packets lost",
    "marked": "packets marked",
    "queue_packets": "queue",
    "echo_probe_rtt_ns": "round trip of echo probes",
    "requests": "requests written",
    "requests_complete": "requests completed",
    "request_ns": "time to the whole reply",
}

#: Units by the endings of names, each with the factor that converts a figure to the unit.
_UNITS = {
    "ns": (1e-9, "s"),
    "bytes": (1.0, "B"),
    "bps": (1.0, "bit/s"),
    "packets": (1.0, "packets"),
    "segs": (1.0, "segments"),
}

#: Units that have prefixes, and the prefixes.
_PREFIXED = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
}


#: The unit of instants on an axis: seconds, or minutes or hours if the span is long.
ELAPSED = "elapsed"

#: The minimum span [s] of an axis in hours or in minutes, and the size [s] and name of the unit.
#: The script of an HTML report uses the same values. A duration is written in minutes or hours if
#: it is at least as long as the shorter span.
LONG = ((3 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"))


def fitting_unit(unit: str, most: float) -> tuple[float, str]:
    """Return the size of a prefixed unit that suits the largest value, and the unit's name.

    Examples
    --------
    >>> fitting_unit("s", 0.25), fitting_unit("bit/s", 2.5e6), fitting_unit("packets", 9)
    ((0.001, 'ms'), (1000000.0, 'Mbit/s'), (1.0, 'packets'))
    >>> fitting_unit(ELAPSED, 0.2), fitting_unit(ELAPSED, 4000), fitting_unit(ELAPSED, 86_400)
    ((1.0, 's'), (60.0, 'min'), (3600.0, 'h'))
    """
    if unit == ELAPSED:
        return next(((size, name) for least, size, name in LONG if most >= least), (1.0, "s"))
    sizes = _PREFIXED.get(unit, ((1.0, unit),))
    return next(((size, name) for size, name in sizes if most >= 2 * size), sizes[-1])


@dataclass(frozen=True)
class Shown:
    """How the figures of a measure are shown: its name, the unit, and the factor to this unit."""

    words: str
    unit: str
    factor: float

    @property
    def label(self) -> str:
        """The name with the unit."""
        return f"{self.words} [{self.unit}]" if self.unit else self.words


#: The maximum number of digits before the decimal point, for figures in a common unit.
_DIGITS = 6


def alike(most: Mapping[str, float]) -> dict[str, Shown]:
    """Return how to show several measures. All times have one unit, and all rates have one unit.

    The unit suits the measure with the smallest values. If other measures would then have too many
    digits, a larger unit is used.

    Parameters
    ----------
    most
        For each measure its largest absolute value, in the unit of its column.

    Examples
    --------
    >>> told = alike({"completion_ns_mean": 1.2e9, "waited_ns": 0.3e9, "timeouts": 4})
    >>> [one.label for one in told.values()]
    ['mean completion time [ms]', 'waited for timeouts [ms]', 'timeouts']
    >>> alike({"completion_ns_max": 9e12, "waited_ns": 4e3})["waited_ns"].unit
    's'
    """
    named = {measure: in_words(measure) for measure in most}
    known: dict[str, list[float]] = {}
    for measure, (_, factor, unit) in named.items():
        own = known.setdefault(unit, [])
        own += [factor * most[measure]] if most[measure] > 0 else []
    units = {unit: _legible(unit, sizes) for unit, sizes in known.items()}
    return {
        measure: Shown(words, units[unit][1], factor / units[unit][0])
        for measure, (words, factor, unit) in named.items()
    }


def _legible(unit: str, most: list[float]) -> tuple[float, str]:
    sizes = sorted(_PREFIXED.get(unit, ((1.0, unit),)))
    least, _ = fitting_unit(unit, min(most, default=0.0))
    fit = [
        one for one in sizes if one[0] >= least and max(most, default=0.0) < one[0] * 10**_DIGITS
    ]
    return fit[0] if fit else sizes[-1]


def in_unit(value: float, unit: str) -> str:
    """Return a value in the unit whose prefix suits the value.

    Examples
    --------
    >>> in_unit(0.25, "s"), in_unit(1.0, "s")
    ('250 ms', '1 s')
    """
    size, name = fitting_unit(unit, 2 * abs(value))
    return f"{value / size:.4g} {name}"


#: Counts of retransmissions that a sweep also has for each cause, as in `retransmissions_rack`.
_BY_CAUSE = {"retransmissions": "retransmissions", "spurious": "spurious retransmissions"}


def in_words(measure: str) -> tuple[str, float, str]:
    """Return a measure's name in words, the factor that converts its figures, and their unit.

    Parameters
    ----------
    measure
        A column of a sweep, or a ratio of two columns.

    Examples
    --------
    >>> in_words("completion_ns_mean")
    ('mean completion time', 1e-09, 's')
    >>> in_words("request_ns_p999")
    ('99.9th percentile of time to the whole reply', 1e-09, 's')
    >>> in_words("connection_ns_p50")[0]
    'median duration of a connection'
    >>> in_words("queue_packets_max"), in_words("dropped/sent")
    (('longest queue', 1.0, 'packets'), ('packets dropped / packets sent', 1.0, ''))
    >>> in_words("goodput_bps"), in_words("retransmissions_rack")
    (('goodput', 1.0, 'bit/s'), ('retransmissions by RACK', 1.0, ''))
    >>> in_words("spurious_go_back_n")[0]
    'spurious retransmissions by go-back-N'
    """
    over, slash, under = measure.partition("/")
    if not slash:
        return _column(measure)
    (what, scale, unit), (per, other, others) = _column(over), _column(under)
    if unit == others:
        return f"{what} / {per}", scale / other, ""
    units = f"{unit}/{others}" if others else unit
    return f"{what} / {per}", scale / other, units if unit else f"1/{others}"


def _column(name: str) -> tuple[str, float, str]:
    plain = re.sub("_(mean|max|p[0-9]+)$", "", name)
    statistic = name.removeprefix(plain).removeprefix("_")
    stem, _, end = plain.rpartition("_")
    scale, unit = _UNITS.get(end, (1.0, "")) if stem else (1.0, "")
    kind, _, cause = plain.partition("_")
    if kind in _BY_CAUSE and (words := causes.WORDS.get(cause.replace("_", "-"))):
        return f"{_BY_CAUSE[kind]} by {words}", 1.0, ""
    words = _WORDS.get(plain, (stem if unit else plain).replace("_", " "))
    of_most = "longest" if unit in ("s", "packets") else "largest"
    if statistic == "p50":
        return f"median {words}", scale, unit
    if statistic.startswith("p"):
        return f"{_percent(statistic[1:])} percentile of {words}", scale, unit
    return f"{ {'mean': 'mean ', 'max': of_most + ' '}.get(statistic, '') }{words}", scale, unit


def _percent(digits: str) -> str:
    """Return the percentage in a percentile's name. Digits after the first two are decimals."""
    return f"{digits[:2]}{'.' if digits[2:] else ''}{digits[2:]}th"
