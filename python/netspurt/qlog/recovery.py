"""The events of qlog on a sender's round trips, cwnd and ssthresh, congestion states and timer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from netspurt.qlog.events import Events
from netspurt.qlog.forms import QlogForm
from netspurt.qlog.texts import Texts, member, milliseconds, of, quoted, texts
from netspurt.qlog.vantage import Vantage
from netspurt.table import HasTables, Table, optional

Whole = NDArray[np.int64]


def recovery_events(tables: HasTables, vantage: Vantage, form: QlogForm) -> Iterator[Events]:
    """Yield the events that follow from a sender's tables `rtt`, `rto` and `cwnd`, if recorded."""
    recorded = {name: _of(tables, name, vantage) for name in ("rtt", "rto", "cwnd")}
    rto, cwnd = recorded["rto"], recorded["cwnd"]
    yield _metrics(recorded)
    if cwnd is not None:
        yield _states(cwnd)
    if rto is not None:
        fired = rto.select(rto["fired"])
        yield Events("timer", fired["t_ns"], _expired(len(fired), form))
        yield _values(rto)


def _of(tables: HasTables, name: str, vantage: Vantage) -> Table | None:
    found = optional(tables, name)
    return None if found is None else found.where(flow=vantage.flow, direction=vantage.sends)


def _metrics(recorded: dict[str, Table | None]) -> Events:
    """Return the metrics that changed, at each instant with a change (RFC 9002 A.3, B.2).

    Each sample is written as `latest_rtt`, even if it equals the sample before it.
    """
    rtt, rto, cwnd = recorded["rtt"], recorded["rto"], recorded["cwnd"]
    tables = [table for table in (rtt, rto, cwnd) if table is not None]
    t = np.unique(np.concatenate([table["t_ns"] for table in tables] or [np.empty(0, np.int64)]))
    members: list[Texts] = []
    if rtt is not None:
        min_rtt = np.minimum.accumulate(rtt["rtt_ns"]) if len(rtt) else rtt["rtt_ns"]
        members.append(_changes("min_rtt", t, rtt, min_rtt, in_ms=True))
        members.append(_changes("latest_rtt", t, rtt, rtt["rtt_ns"], in_ms=True, always=True))
    if rto is not None:
        for name, column in (("smoothed_rtt", "srtt_ns"), ("rtt_variance", "rttvar_ns")):
            members.append(_changes(name, t, rto, rto[column], in_ms=True))
        # In most estimators, the backoff is a power of two. `pto_count` is the exponent of this
        # power.
        count = np.floor(np.log2(np.maximum(rto["backoff"], 1))).astype(np.int64)
        members.append(_changes("pto_count", t, rto, count))
    if cwnd is not None:
        for name, column in (
            ("congestion_window", "cwnd_bytes"),
            ("bytes_in_flight", "flight_bytes"),
            ("ssthresh", "ssthresh_bytes"),
        ):
            members.append(_changes(name, t, cwnd, cwnd[column]))
    if not members:
        return Events("metrics", t, texts(t))
    data = of(*members)
    has_members = data != "{}"
    return Events("metrics", t[has_members], data[has_members])


def _changes(  # noqa: PLR0913 - a metric needs all these
    name: str, t: Whole, table: Table, values: Whole, *, in_ms: bool = False, always: bool = False
) -> Texts:
    """Return a metric at the instants `t`, with an empty text where it did not change.

    If `always` is true, the metric is returned at each instant at which the table has a value.
    """
    present = ~np.ma.getmaskarray(values)
    at, known = table["t_ns"][present], np.ma.getdata(values)[present].astype(np.int64)
    # If several rows have the same instant, the last row counts.
    last = np.append(at[1:] != at[:-1], True)[: len(at)]
    at, known = at[last], known[last]
    if not always and len(known):
        changed = np.append(True, known[1:] != known[:-1])
        at, known = at[changed], known[changed]
    members = np.full(len(t), "", dtype=np.dtypes.StringDType())
    members[np.searchsorted(t, at)] = member(name, milliseconds(known) if in_ms else texts(known))
    return members


def _states(cwnd: Table) -> Events:
    """Return changes between slow start, congestion avoidance and recovery (RFC 5681 §3)."""
    slow = cwnd["cwnd_bytes"] < cwnd["ssthresh_bytes"]
    names = np.where(slow, "slow_start", "congestion_avoidance")
    names = np.where(cwnd["in_recovery"], "recovery", names)
    changed = np.append(True, names[1:] != names[:-1])[: len(names)]
    at = np.flatnonzero(changed)
    old = names[np.maximum(at - 1, 0)]
    data = of(member("old", quoted(old), at > 0), member("new", quoted(names[at])))
    return Events("state", cwnd["t_ns"][at], data)


def _expired(count: int, form: QlogForm) -> Texts:
    """Return the data of `count` expired timers.

    In the form for the viewer qvis, the timer of RFC 6298 has the name of QUIC's probe timeout,
    which is the most similar timer.
    """
    kind = "pto" if form.frames else "loss_timeout"
    return of(
        member("timer_type", quoted(np.full(count, kind))),
        member("event_type", quoted(np.full(count, "expired"))),
    )


def _values(rto: Table) -> Events:
    """Return the RTO at each of its changes.

    The tables do not show when the timer was armed, so there are no events for this.
    """
    changed = np.append(True, np.diff(rto["rto_ns"]) != 0)[: len(rto)]
    own = rto.select(changed)
    data = of(member("rto", milliseconds(own["rto_ns"])), member("backoff", texts(own["backoff"])))
    return Events("rto", own["t_ns"], data)
