"""The measures of sweeps in words and SI units, for the axes of plots."""

from __future__ import annotations

import re

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
    "fairness": "Jain's index of fairness",
    "carried": "packets carried",
    "carried_bytes": "carried",
    "dropped": "packets dropped",
    "lost": "packets lost",
    "marked": "packets marked",
    "queue_packets": "queue",
    "echo_probe_rtt_ns": "round trip of echo probes",
    "requests_complete": "requests completed",
    "request_ns": "time to the whole reply",
}

#: Units by the endings of names, each with the factor to the unit.
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


def fitting_unit(unit: str, largest: float) -> tuple[float, str]:
    """Return the size of a prefixed unit that suits the largest value, and the unit's name.

    Examples
    --------
    >>> fitting_unit("s", 0.25), fitting_unit("bit/s", 2.5e6), fitting_unit("packets", 9)
    ((0.001, 'ms'), (1000000.0, 'Mbit/s'), (1.0, 'packets'))
    """
    sizes = _PREFIXED.get(unit, ((1.0, unit),))
    return next(((size, name) for size, name in sizes if largest >= 2 * size), sizes[-1])


def in_words(measure: str) -> tuple[str, float, str]:
    """Return a measure's name in words, the factor of its figures, and their unit.

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
    >>> in_words("queue_packets_max"), in_words("dropped/sent")
    (('longest queue', 1.0, 'packets'), ('packets dropped / packets sent', 1.0, ''))
    >>> in_words("goodput_bps"), in_words("cause_rack")
    (('goodput', 1.0, 'bit/s'), ('cause rack', 1.0, ''))
    """
    numerator, slash, denominator = measure.partition("/")
    if not slash:
        return _column(measure)
    words, factor, unit = _column(numerator)
    per_words, per_factor, per_unit = _column(denominator)
    ratio = f"{words} / {per_words}"
    if unit == per_unit:
        return ratio, factor / per_factor, ""
    units = f"{unit}/{per_unit}" if per_unit else unit
    return ratio, factor / per_factor, units if unit else f"1/{per_unit}"


def _column(name: str) -> tuple[str, float, str]:
    plain = re.sub("_(mean|max|p[0-9]+)$", "", name)
    statistic = name.removeprefix(plain).removeprefix("_")
    stem, _, end = plain.rpartition("_")
    scale, unit = _UNITS.get(end, (1.0, "")) if stem else (1.0, "")
    words = _WORDS.get(plain, (stem if unit else plain).replace("_", " "))
    superlative = "longest" if unit in ("s", "packets") else "largest"
    if statistic.startswith("p"):
        return f"{_percent(statistic[1:])} percentile of {words}", scale, unit
    return f"{ {'mean': 'mean ', 'max': superlative + ' '}.get(statistic, '') }{words}", scale, unit


def _percent(digits: str) -> str:
    """Return the percentage in a percentile's name: two digits, and then decimals."""
    return f"{digits[:2]}{'.' if digits[2:] else ''}{digits[2:]}th"
