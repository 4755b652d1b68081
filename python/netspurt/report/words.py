"""Format durations and instants as text for the page of a report."""

from __future__ import annotations

import math

from netspurt.pictures.measures import LONG, in_unit


def is_long(seconds: float) -> bool:
    """Return whether a duration is long enough to be written in minutes or hours."""
    return seconds >= LONG[-1][0]


def span(seconds: float) -> str:
    """Return a duration in the unit that suits it.

    Examples
    --------
    >>> span(0.25), span(12.5), span(float("nan"))
    ('250 ms', '12.5 s', '-')
    >>> span(754), span(4000), span(90_000)
    ('12 min 34 s', '1 h 7 min', '25 h 0 min')
    """
    if math.isnan(seconds):
        return "-"
    if is_long(seconds):
        minutes, rest = divmod(round(seconds), 60)
        hours = round(seconds / 60) // 60
        return f"{hours} h {round(seconds / 60) % 60} min" if hours else f"{minutes} min {rest} s"
    return in_unit(seconds, "s")


def instant(seconds: float) -> str:
    """Return an instant, exact to the microsecond.

    Examples
    --------
    >>> instant(1.5)
    '1.500000 s'
    """
    return f"{seconds:,.6f} s"
