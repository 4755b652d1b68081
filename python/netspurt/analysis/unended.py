"""What the mean times of a sweep leave out: requests, flows and connections that had not ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netspurt.analysis.grouping import Columns
from netspurt.wording import number

#: The columns that count everything, and what has ended, for the mean time of each kind.
_COUNTS = {
    "request_ns_mean": ("requests", "requests_complete"),
    "completion_ns_mean": ("flows", "finished"),
    "connection_ns_mean": ("connections", "connections_complete"),
}


def unended(cases: Columns, measure: str) -> tuple[int, int, str]:
    """Return how many times a mean leaves out, of how many, and what they are the times of.

    Parameters
    ----------
    cases
        The columns of a sweep. Only cases that have the measure count.
    measure
        A measure. Those that are not mean times leave out nothing.

    Examples
    --------
    >>> cases = {"requests": [60, 58], "requests_complete": [60, 57], "request_ns_mean": [9, 8]}
    >>> unended(cases, "request_ns_mean"), unended(cases, "goodput_bps")
    ((1, 118, 'requests'), (0, 0, ''))
    """
    if measure not in _COUNTS or any(name not in cases for name in (*_COUNTS[measure], measure)):
        return 0, 0, ""
    counted, ended = _COUNTS[measure]
    has = ~np.ma.getmaskarray(np.ma.asarray(cases[measure]))
    every, complete = (int(np.ma.asarray(cases[name])[has].sum()) for name in (counted, ended))
    return every - complete, every, counted


def left_out(cases: Columns, measures: Sequence[str]) -> list[str]:
    """Return a sentence for each measure whose mean leaves out what had not ended.

    Examples
    --------
    >>> cases = {"flows": [4], "finished": [3], "completion_ns_mean": [9]}
    >>> left_out(cases, ["completion_ns_mean", "timeouts"])
    ['completion_ns_mean leaves out 1 of 4 flows, which had not ended when their run ended']
    """
    found = [(measure, *unended(cases, measure)) for measure in measures]
    return [
        f"{measure} leaves out {number(missing)} of {number(every)} {things}, which had not ended "
        "when their run ended"
        for measure, missing, every, things in found
        if missing
    ]
