"""Counts the requests, flows and connections that had not ended in the cases of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netspurt.analysis.grouping import Columns
from netspurt.toml_text import values_of
from netspurt.wording import counted, number

#: For each column with a mean time, two other columns: the number of all requests, flows or
#: connections, and the number of those that have ended.
_COUNTS = {
    "request_ns_mean": ("requests", "requests_complete"),
    "completion_ns_mean": ("flows", "finished"),
    "connection_ns_mean": ("connections", "connections_complete"),
}


def unended(cases: Columns, measure: str) -> tuple[int, int, str]:
    """Return the number of items that a mean leaves out, the number of all items, and their name.

    The items are requests, flows or connections.

    Parameters
    ----------
    cases
        The columns of a sweep. Cases without the measure do not count.
    measure
        A measure. A measure that is not a mean time leaves out nothing.

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
    """Return a sentence for each measure whose mean leaves out items that had not ended.

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


def unfinished(cases: Columns, scenario: str) -> list[str]:
    r"""Return a sentence on the cases in which a flow did not finish.

    A sweep does not store why a flow did not finish. So there is no sentence if the reason may be
    the scenario itself: a flow may send without end, or each case may have too little time for all
    requests.

    Parameters
    ----------
    cases
        The columns of a sweep.
    scenario
        The text of the sweep's scenario.

    Examples
    --------
    >>> text = "[flows.x]\nsend = '9 segments'"
    >>> found = unfinished({"case": [0, 1, 2], "flows": [1, 1, 1], "finished": [1, 0, 0]}, text)
    >>> found[0][:38]
    'In 2 of 3 cases a flow did not finish:'
    >>> unfinished({"case": [0], "flows": [1], "finished": [0]}, "[flows.x]")
    []
    """
    names = ("case", "flows", "finished")
    values = values_of(scenario)
    flows_of_file = values.get("flows", {}).values()
    if any(name not in cases for name in names) or _may_be_endless(values):
        return []
    case, flows, ended = (np.ma.asarray(cases[name]) for name in names)
    missing = np.flatnonzero(np.ma.filled(flows > ended, fill_value=False))
    has_requests = any(isinstance(flow.get("app"), dict) for flow in flows_of_file)
    if not len(missing) or (has_requests and len(missing) == len(flows)):
        return []
    return [
        f"In {number(len(missing))} of {counted(len(flows), 'case')} a flow did not finish: its "
        "connection failed (reset, refused or given up), or the run ended before the "
        "flow. Counts and rates include what these cases did until then. Completion times leave "
        "such flows out. "
        f"`netspurt run FILE --case {case[missing[0]]}` says what happened in the first of these."
    ]


def _may_be_endless(values: dict[str, Any]) -> bool:
    """Return whether a flow may send without end in a case; true if there are no flows."""
    flows = values.get("flows", {}).values()
    if not flows or any(flow.get("send", "unlimited") == "unlimited" for flow in flows):
        return True
    swept = str(values.get("sweep", {}))
    return ".send'" in swept or "'unlimited'" in swept
