"""Numbers of a page as text, in SI units."""

from __future__ import annotations

import math

from netspurt.pictures.measures import fitting_unit


def span(seconds: float) -> str:
    """Return a duration with the prefix that suits it.

    Examples
    --------
    >>> span(0.25), span(12.5), span(float("nan"))
    ('250 ms', '12.5 s', '-')
    """
    if math.isnan(seconds):
        return "-"
    size, unit = fitting_unit("s", 2 * abs(seconds))
    return f"{seconds / size:.4g} {unit}"


def instant(seconds: float) -> str:
    """Return an instant, exact to the microsecond.

    Examples
    --------
    >>> instant(1.5)
    '1.500000 s'
    """
    return f"{seconds:.6f} s"
