"""What a sender knows and decides: round trips, windows, states, its timer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from netspurt.qlog.events import Events
from netspurt.qlog.forms import Form
from netspurt.qlog.texts import Texts, member, milliseconds, of, quoted, texts
from netspurt.qlog.vantage import Tables, Vantage
from netspurt.table import Table

Whole = NDArray[np.int64]


def recovery_events(tables: Tables, vantage: Vantage, form: Form) -> Iterator[Events]:
    """Yield what the tables of a sender tell; a table that was not recorded tells nothing."""
    found = {name: _of(tables, name, vantage) for name in ("rtt", "rto", "cwnd")}
    rto, cwnd = found["rto"], found["cwnd"]
    yield _metrics(found)
    if cwnd is not None:
        yield _states(cwnd)
    if rto is not None:
        fired = rto.select(rto["fired"])
        yield Events("timer", fired["t_ns"], _expired(len(fired), form))
        yield _values(rto)


def _of(tables: Tables, name: str, vantage: Vantage) -> Table | None:
    try:
        found = tables.table(name)
    except ValueError:
        return None
    return found.where(flow=vantage.flow, direction=vantage.sends)


def _metrics(found: dict[str, Table | None]) -> Events:
    """Return the values of each instant at which one changed (RFC 9002 A.3, B.2)."""
    rtt, rto, cwnd = found["rtt"], found["rto"], found["cwnd"]
    tables = [one for one in (rtt, rto, cwnd) if one is not None]
    t = np.unique(np.concatenate([one["t_ns"] for one in tables] or [np.empty(0, np.int64)]))
    members: list[Texts] = []
    if rtt is not None:
        least = np.minimum.accumulate(rtt["rtt_ns"]) if len(rtt) else rtt["rtt_ns"]
        members.append(_changes("min_rtt", t, rtt, least, in_ms=True))
        members.append(_changes("latest_rtt", t, rtt, rtt["rtt_ns"], in_ms=True, always=True))
    if rto is not None:
        for name, column in (("smoothed_rtt", "srtt_ns"), ("rtt_variance", "rttvar_ns")):
            members.append(_changes(name, t, rto, rto[column], in_ms=True))
        # The timer's factor is a power of two, the count its exponent.
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
    told = data != "{}"
    return Events("metrics", t[told], data[told])


def _changes(  # noqa: PLR0913 - what, when, and how it is written
    name: str, t: Whole, table: Table, values: Whole, *, in_ms: bool = False, always: bool = False
) -> Texts:
    """Return a metric at the instants `t` at which it changed, or at which there is one."""
    there = ~np.ma.getmaskarray(values)
    at, known = table["t_ns"][there], np.ma.getdata(values)[there].astype(np.int64)
    # Of several rows of one instant the last one holds.
    last = np.append(at[1:] != at[:-1], True)[: len(at)]
    at, known = at[last], known[last]
    if not always and len(known):
        changed = np.append(True, known[1:] != known[:-1])
        at, known = at[changed], known[changed]
    made = np.full(len(t), "", dtype=np.dtypes.StringDType())
    made[np.searchsorted(t, at)] = member(name, milliseconds(known) if in_ms else texts(known))
    return made


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


def _expired(count: int, form: Form) -> Texts:
    """Return that many expiries of the timer: RFC 6298's is nearest to QUIC's probe timeout."""
    kind = "pto" if form.frames else "loss_timeout"
    return of(
        member("timer_type", quoted(np.full(count, kind))),
        member("event_type", quoted(np.full(count, "expired"))),
    )


def _values(rto: Table) -> Events:
    """Return the timer's values as they change. Tables do not tell when it was armed with them."""
    changed = np.append(True, np.diff(rto["rto_ns"]) != 0)[: len(rto)]
    own = rto.select(changed)
    data = of(member("rto", milliseconds(own["rto_ns"])), member("backoff", texts(own["backoff"])))
    return Events("rto", own["t_ns"], data)
