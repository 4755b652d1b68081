"""Computes how much time other timers, probes or RACK would have saved on captured connections.

A change is judged by the silences in the capture. A silence begins when data was last sent or
acknowledged. It contains one timeout or several consecutive timeouts, and ends with the last
retransmission of these timeouts. Each timeout ends one *wait* of the silence. An earlier timeout
would also have changed all later events, but the capture cannot show how. So the results are
estimates: the time that one change alone would have saved, summed over all silences. Intervals are
computed for the saved share of the waiting time, by resampling the connections. If fewer than three
connections waited, there is no interval.

A silence with several timeouts is an outage if the path lost all transmissions of the data before
the last retransmission. With another timer, the retransmissions would have left at other instants.
The capture does not show which of them would have been the first after the outage. So a change
counts as saving nothing in an outage, and `outages` returns bounds of the time that a lower floor
would have saved. Tail loss probes and RACK retransmit once at the beginning of a silence, so they
save nothing in an outage. No change shortens a silence that ended without an answer. The answer may
also come sooner after the last retransmission than a round trip takes. Then it answers an earlier
transmission, which the path had delayed, and no change shortens the silence.

A floor is what Linux calls rto_min: the minimum time that the timer adds to srtt. A change that a
sender already has is not a remedy. The time above srtt is the time that the timer ran, minus srtt.
The floor of a host is at most its shortest time above srtt. So no floor near this time or above it
is tried for this host. After SACK blocks, the timer may have started long before the wait. So waits
after SACK blocks count only if the host has no other waits. No floor is tried for a sender whose
timer fires only at ticks of a clock.

A capture beside a receiver shows only the receiver's part of a round trip, so no change is tried
there. If a timer was far above the value that RFC 6298 computes from the round trips, its floor did
not cause the wait. No other floor would have shortened this wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples
from netspurt.analysis.directions import keys, rows_of
from netspurt.analysis.rfc_timers import FLOOR_MAX_S, is_far, judged, timer
from netspurt.table import Table

Floats = NDArray[np.float64]

#: The time by which a probe waits longer if one segment is outstanding [s] (RFC 8985 §7.2).
_DELAYED_ACK_S = 0.2
#: The minimum number of connections for an interval of the saved time. Two connections show too
#: little of how connections differ: only 70 % of such intervals contain the true share.
_CONNECTIONS_MIN = 3
#: The number of round trips that a tail loss probe waits (RFC 8985 §7.2).
_ROUND_TRIPS_BEFORE_PROBE = 2
#: RACK waits a quarter of the round trip for reordered segments (RFC 8985 §6.2).
_REORDERING = 0.25
#: If an answer comes less than `_OF_SHORTEST` of the shortest round trip after a retransmission, it
#: answers an earlier transmission.
_OF_SHORTEST = 7 / 8
#: A floor is tried if it is below `_BELOW_OWN` times the host's shortest wait minus srtt. Linux's
#: timers are up to an eighth late, and Linux's srtt differs from the srtt of RFC 6298.
_BELOW_OWN = 0.8
#: A lower floor is shown beside a higher floor only if it saves at least `_WORTHWHILE` times as
#: much.
_WORTHWHILE = 1.1
#: The time by which Linux delays ACKs [s] (`TCP_DELACK_MIN`). It is the floor that is tried in
#: outages.
LINUX_ACK_DELAY_S = 0.04
#: A timer that doubles fires late after an outage. The mean delay is this share of the sum of the
#: outage's length and the timer's first value. The number assumes that the lengths of outages are
#: spread evenly, on a logarithmic scale, over a factor of two or more.
_LATE_AFTER_OUTAGE = 1 / np.log(2) - 1


@dataclass(frozen=True)
class Remedy:
    """A change of the sender, with the time it would have saved and its cost.

    Attributes
    ----------
    name
        The change in words.
    saved_s
        The saved time of all connections, in seconds.
    spurious
        The number of spurious retransmissions that the change would have added. `None` if the
        capture does not show this.
    silences
        The number of silences that the change would have shortened.
    waited_s
        The time that all silences waited for retransmission timers, in seconds.
    all_silences
        The number of all silences that waited for retransmission timers.
    floor_s
        The floor of the timer, in seconds, if the change is a lower floor.
    """

    name: str
    saved_s: Interval
    spurious: Interval | None
    silences: int
    waited_s: float
    all_silences: int
    floor_s: float | None = None


@dataclass(frozen=True)
class Outages:
    """Silences that have several timeouts and an answer to the last retransmission.

    Attributes
    ----------
    silences
        The number of these silences.
    waited_s
        How long all of them lasted together, in seconds.
    failed_s
        The time in which at least one connection certainly lost all that it sent, in seconds. In a
        silence, this time ends when the retransmission before the last one leaves.
    floor_s
        The floor that was tried, in seconds. `None` if it was tried for no sender.
    least_s, most_s
        The bounds of the time that this floor would have saved, in seconds. They are negative if
        the floor would have made the silences longer.
    mean_s
        The time that this floor saves on average in the same number of outages, in seconds. The
        lengths of outages are assumed to be spread evenly, on a logarithmic scale, over a factor of
        two or more.
    """

    silences: int
    waited_s: float
    failed_s: float
    floor_s: float | None
    least_s: float
    most_s: float
    mean_s: float


@dataclass(frozen=True)
class Silences:
    """The silences that retransmission timers ended, as arrays of shape (n,).

    Attributes
    ----------
    connection
        The number of the connection.
    began_s
        When the last progress was (data was sent or acknowledged), in seconds since 1970.
    waited_s
        The time from the last progress to the last retransmission, in seconds.
    unanswered_s
        The time from the last progress to the retransmission before the last one, in seconds. If
        `late` and `arrived` are false, no answer came to that retransmission. The time is 0 if
        there was only one retransmission.
    timeouts
        The number of consecutive timeouts.
    answered
        True if new data was acknowledged after the silence.
    late
        True if this answer came too soon to answer the last retransmission, so it answered an
        earlier transmission.
    arrived
        True if the first retransmission was spurious and `late` is false. The path had delayed the
        original or its ACK, or had lost the ACK. A shorter timer saves time only if the ACK was
        lost. Of several retransmissions, the receiver may report only the last retransmission as a
        duplicate. Then the earlier retransmissions, or their ACKs, were lost in an outage, and
        `arrived` is false.
    without_sack
        True if the SYNs show that the connection does not use SACK. Tail loss probes and RACK need
        SACK (RFC 8985 §3).
    far
        True if a timer in the silence was far above the value that RFC 6298 computes.
    ticking
        True if the sender's timer fires only at ticks of a clock.
    above_srtt_s
        The shortest time above srtt that the sender's host waited, in seconds. The host's floor is
        not higher than this time. Infinite if no round trip is known.
    first
        The first wait of each silence, as rows of the table `waits`.
    """

    connection: NDArray[np.uint64]
    began_s: Floats
    waited_s: Floats
    unanswered_s: Floats
    timeouts: NDArray[np.int64]
    answered: NDArray[np.bool_]
    late: NDArray[np.bool_]
    arrived: NDArray[np.bool_]
    without_sack: NDArray[np.bool_]
    far: NDArray[np.bool_]
    ticking: NDArray[np.bool_]
    above_srtt_s: Floats
    first: Table

    @property
    def in_outages(self) -> NDArray[np.bool_]:
        """True for each silence with several timeouts, if earlier transmissions got no answer.

        Earlier transmissions are those before the last retransmission of the silence.
        """
        return (self.timeouts > 1) & ~self.late & ~self.arrived


def silences(tables: Mapping[str, Table], whole: Mapping[str, Table] | None = None) -> Silences:
    """Return the silences that consist of waits for retransmission timers.

    Parameters
    ----------
    tables
        The tables of an explained capture, or their rows of some connections: `waits`, `habits`.
    whole
        The tables of the whole capture, if `tables` has only some connections: `waits`, `habits`,
        `connections`, `retransmissions`.
    """
    waits = judged(tables)
    places = _places(waits)
    ends = np.append(np.flatnonzero(places == 0)[1:], len(waits)) - 1 if len(waits) else places
    begins = ends - places[ends]
    until = np.concatenate([[0.0], np.cumsum(waits.seconds("waited_ns"))])
    answered = waits.exists("answered_ns")
    far = np.concatenate([[0], np.cumsum(is_far(waits))])
    late = answered[ends] & _is_late(waits, tables["habits"])[ends]
    shown_by = _shown_by(waits, whole or tables)
    # A path that only delays retransmissions delivers each of them, and the receiver reports each.
    last_alone = (shown_by[ends] == _REPORTED) & (shown_by[begins] != _REPORTED)
    return Silences(
        connection=waits["connection"][begins],
        began_s=(waits.seconds("t_ns") - waits.seconds("waited_ns"))[begins],
        waited_s=until[ends + 1] - until[begins],
        unanswered_s=until[ends] - until[begins],
        timeouts=ends - begins + 1,
        answered=answered[ends],
        late=late,
        arrived=~late & ~last_alone & (shown_by[begins] != ""),
        without_sack=_without_sack(waits, whole or tables)[begins],
        far=far[ends + 1] > far[begins],
        ticking=np.isin(keys(waits), _with_ticks(tables["habits"]))[begins],
        above_srtt_s=_above_srtt(waits.select(places == 0), whole or tables),
        first=waits.select(places == 0),
    )


def remedies(
    tables: Mapping[str, Table],
    whole: Mapping[str, Table] | None = None,
    of: Silences | None = None,
) -> list[Remedy]:
    """Return the time that each change would have saved, the largest first.

    Parameters
    ----------
    tables
        The tables of an explained capture, or their rows of some connections: `waits`, `floors`,
        `habits`, and `spent`, which has a row for each connection.
    whole
        The tables of the whole capture, if `tables` has only some connections.
    of
        What `silences` returns for the tables, if it was called before.

    Returns
    -------
    list of Remedy
        The changes that would have saved time in at least one silence. A lower floor is left out
        if it does not save clearly more than a higher floor.

    References
    ----------
    RFC 6298 §2 (timer), §5.5 (backoff), RFC 8985 §6.2 and §7.2 (RACK and its probe).
    """
    of = silences(tables, whole) if of is None else of
    changes = [_probe(of, tables["waits"].where(timer="probe")), _rack(of), _as_computed(of)]
    changes += [_floor(of, ns) for ns in _tried(tables["floors"])]
    found = _judged(changes, of, tables)
    return sorted(_worthwhile(found), key=lambda remedy: -remedy.saved_s.value)


def _tried(floors: Table) -> list[int]:
    """Return the floors of the table `floors` [ns]. Each direction has a row for each floor."""
    if len(floors) == 0:
        return []
    # The first 1000 rows have all floors. Whole columns of this long table would take much memory.
    first = floors.copied(np.arange(min(len(floors), 1000)))
    tried: list[int] = np.unique(first["floor_ns"]).tolist()
    return tried


def _worthwhile(found: Sequence[Remedy]) -> Iterator[Remedy]:
    """Yield the remedies that save time, without floors that save little more than a higher floor.

    Of floors that save about the same time, the highest costs least.
    """
    least_s = 0.0
    for remedy in sorted(found, key=lambda remedy: -(remedy.floor_s or np.inf)):
        if remedy.floor_s is None:
            if remedy.silences:
                yield remedy
        elif remedy.silences and remedy.saved_s.value >= least_s:
            least_s = _WORTHWHILE * remedy.saved_s.value
            yield remedy


def outages(of: Silences) -> Outages | None:
    """Return what is known of outages that ended with an answer, or `None` if there are none.

    The path failed until the retransmission before the last one left. It worked when the last one
    left, because the last one was answered. Between these two instants, the path began to work. The
    capture does not show when.
    """
    which = of.in_outages & of.answered
    if not which.any():
        return None
    tried = which & _is_lower(of, LINUX_ACK_DELAY_S)
    waited, unanswered = of.waited_s[tried], of.unanswered_s[tried]
    timer = _above(of.first, LINUX_ACK_DELAY_S)[tried]
    least = waited - _first_firing(timer, waited, strictly=False)
    most = waited - _first_firing(timer, unanswered, strictly=True)
    mean = _LATE_AFTER_OUTAGE * (of.first.seconds("waited_ns")[tried] - timer)
    return Outages(
        silences=int(which.sum()),
        waited_s=float(of.waited_s[which].sum()),
        failed_s=_union(of.began_s[which], of.unanswered_s[which]),
        floor_s=LINUX_ACK_DELAY_S if tried.any() else None,
        least_s=float(least.sum()),
        most_s=float(most.sum()),
        mean_s=float(mean.sum()),
    )


def _first_firing(timer: Floats, after: Floats, *, strictly: bool) -> Floats:
    """Return when a timer that doubles first fires at or after an instant [s].

    The arrays have a timer and an instant for each silence. All times count from the last progress.
    If `strictly` is true, a firing exactly at the instant does not count.
    """
    doubled = np.log2(after / timer + 1)
    firings = np.floor(doubled) + 1 if strictly else np.ceil(doubled)
    at: Floats = timer * (2.0 ** np.maximum(firings, 1) - 1)
    return at


def _is_late(waits: Table, habits: Table) -> NDArray[np.bool_]:
    """Return, for each wait, whether the answer came too soon to answer its retransmission."""
    shortest = habits.filled("far_ns", 0)
    # The appended 0 is the value of directions without habits.
    least = np.append(shortest, 0)[rows_of(keys(waits), keys(habits))]
    after = np.where(waits.exists("answered_ns"), waits.filled("answered_ns", 0) - waits["t_ns"], 0)
    late: NDArray[np.bool_] = after < _OF_SHORTEST * least
    return late


#: The evidence of a D-SACK block, which reports that octets arrived twice (RFC 2883 §4).
_REPORTED = "d-sack"


def _shown_by(waits: Table, whole: Mapping[str, Table]) -> NDArray[np.str_]:
    """Return, for each wait, what shows that its retransmission was spurious, or ""."""
    if "retransmissions" not in whole:
        return np.full(len(waits), "")
    again = whole["retransmissions"].where(verdict="spurious")
    again = again.select(np.isin(again["t_ns"], waits["t_ns"]))
    columns = (keys(again), again["t_ns"], again["evidence"])
    known = {(key, at): why for key, at, why in zip(*(c.tolist() for c in columns), strict=True)}
    of = zip(keys(waits).tolist(), waits["t_ns"].tolist(), strict=True)
    return np.array([known.get(place, "") for place in of], np.str_)


def _without_sack(waits: Table, whole: Mapping[str, Table]) -> NDArray[np.bool_]:
    """Return, for each wait, whether a SYN of its connection was captured and offers no SACK."""
    if "connections" not in whole:
        return np.zeros(len(waits), bool)
    connections = whole["connections"]
    opened = connections.exists("initial_seq")
    refused = connections["connection"][opened & ~connections["sack_permitted"]]
    found: NDArray[np.bool_] = np.isin(waits["connection"], refused)
    return found


def _union(begins: Floats, lasted: Floats) -> float:
    """Return the length of the time that is in at least one of the spans [s]."""
    order = np.argsort(begins)
    begins, ends = begins[order], (begins + lasted)[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(ends)[:-1]])
    return float(np.maximum(ends - np.maximum(begins, before), 0.0).sum())


def _above_srtt(first: Table, whole: Mapping[str, Table]) -> Floats:
    """Return, for each first wait, the shortest time above srtt that its sender's host waited."""
    waits = judged(whole)
    waits = waits.select(_places(waits) == 0)
    # Data that is sent after duplicate ACKs makes the wait shorter, but does not restart the timer.
    above = np.nan_to_num(waits.seconds("ran_ns") - waits.seconds("srtt_ns"), nan=np.inf)
    rows = zip(_hosts(waits, whole).tolist(), waits["sacked"].tolist(), above.tolist(), strict=True)
    # For each host: the shortest time without SACK blocks before it, and with SACK blocks.
    shortest: dict[int, list[float]] = {}
    for host, sacked, one in rows:
        own = shortest.setdefault(host, [np.inf, np.inf])
        own[sacked] = min(one, own[sacked])
    known = {host: alone if alone < np.inf else last for host, (alone, last) in shortest.items()}
    return np.array([known[host] for host in _hosts(first, whole).tolist()], float)


def _with_ticks(habits: Table) -> NDArray[np.intp]:
    """Return the keys of the directions whose timers fire only at ticks of a clock."""
    return keys(habits.select(habits.exists("timer_grid_ns")))


def _hosts(waits: Table, tables: Mapping[str, Table]) -> NDArray[np.intp]:
    """Return a number for the host that waited at each wait, shape (n,).

    Without the table `connections`, each direction counts as a host of its own.
    """
    if "connections" not in tables:
        return keys(waits)
    connections = tables["connections"]
    return connections.coded("source")[0][rows_of(keys(waits), keys(connections))]


def _is_lower(of: Silences, floor_s: float) -> NDArray[np.bool_]:
    """Return, for each silence, whether a floor is tried.

    It is tried if four conditions hold. The floor is clearly below the host's shortest wait minus
    srtt. No timer in the silence was far above RFC 6298's. srtt is known. The timer does not fire
    only at ticks.
    """
    lower: NDArray[np.bool_] = (floor_s < _BELOW_OWN * of.above_srtt_s) & ~of.far & ~of.ticking
    return lower & ~np.isnan(of.first.seconds("srtt_ns"))


def _places(waits: Table) -> NDArray[np.int64]:
    """Return the number of each wait in its silence, from 0."""
    if not len(waits):
        return np.zeros(0, np.int64)
    new = np.ones(len(waits), bool)
    new[1:] = waits["backoffs"][1:] <= waits["backoffs"][:-1]
    for name in ("connection", "direction"):
        new[1:] |= waits[name][1:] != waits[name][:-1]
    begins = np.flatnonzero(new)
    return np.arange(len(waits)) - np.repeat(begins, np.diff(np.append(begins, len(waits))))


def _above(waits: Table, floor_s: float) -> Floats:
    """Return, for each wait, a timer that adds at least the floor to srtt [s]; NaN if unknown."""
    return waits.seconds(f"timer_ns_{1e3 * floor_s:g}ms")


@dataclass(frozen=True)
class _Change:
    """A change of the sender, and the time that it would have saved in each silence.

    Attributes
    ----------
    name
        The change in words.
    saved
        The saved time of each silence, in seconds, shape (n,). NaN if the change does not apply.
    floor_ns
        The floor of the timer, in nanoseconds, if the change is a lower floor.
    """

    name: str
    saved: Floats
    floor_ns: int | None = None


def _as_computed(in_capture: Silences) -> _Change:
    """Return the time that RFC 6298's timers save where the sender's timers were far longer."""
    name = f"a timer as RFC 6298 computes it (minimum {FLOOR_MAX_S:g} s)"
    saved = in_capture.waited_s - timer(in_capture.first, FLOOR_MAX_S)
    return _Change(name, np.where(in_capture.far, saved, np.nan))


def _floor(in_capture: Silences, floor_ns: int) -> _Change:
    """Return the time that a lower floor would have saved."""
    floor_s = floor_ns / 1e9
    ms = f"{1e3 * floor_s:g}"
    name = f"a minimum of {ms} ms above srtt (Linux: rto_min {ms}ms)"
    first, waited_s = in_capture.first, in_capture.waited_s
    # The timer may have started before the silence.
    earlier_s = np.maximum(first.seconds("ran_ns") - first.seconds("waited_ns"), 0.0)
    saved = np.minimum(waited_s + earlier_s - _above(first, floor_s), waited_s)
    saved = np.where(_is_lower(in_capture, floor_s), saved, np.nan)
    return _Change(name, saved, floor_ns)


def _probe(in_capture: Silences, probes: Table) -> _Change:
    """Return the time that tail loss probes would have saved at the ends of transfers.

    A sender that was seen to send probes has them already. A connection without SACK cannot have
    them (RFC 8985 §7.3).
    """
    probe = _ROUND_TRIPS_BEFORE_PROBE * in_capture.first.seconds("srtt_ns")
    probe = probe + np.where(in_capture.first["outstanding"] == 1, _DELAYED_ACK_S, 0.0)
    without = ~np.isin(keys(in_capture.first), keys(probes))
    tail = ~in_capture.first["sacked"] & without & ~in_capture.without_sack
    saved = np.where(tail, in_capture.waited_s - probe, np.nan)
    return _Change("tail loss probes (RFC 8985)", saved)


def _rack(in_capture: Silences) -> _Change:
    """Return the time that RACK would have saved where SACK had reported later segments."""
    saved = in_capture.waited_s - _REORDERING * in_capture.first.seconds("srtt_ns")
    return _Change("RACK (RFC 8985)", np.where(in_capture.first["sacked"], saved, np.nan))


def _judged(changes: Sequence[_Change], of: Silences, tables: Mapping[str, Table]) -> list[Remedy]:
    """Return the remedy for each change, with its intervals.

    In `tables`, the table `floors` has the spurious timeouts that lower floors add, and `spent` has
    a row for each connection.

    A change saves time only in a silence for which three facts hold: there was a single timeout,
    its retransmission was answered, and the original had not arrived. In other silences, the saved
    time is 0.
    """
    judged_here = of.answered & ~of.in_outages & ~of.late & ~of.arrived
    gained = [
        np.where(judged_here, np.maximum(np.nan_to_num(one.saved), 0.0), 0.0) for one in changes
    ]
    waited = _sum(of.connection, of.waited_s)
    saved = [np.stack([_sum(of.connection, own), waited]) for own in gained]
    # All draws come before the first interval, because the first interval loads scipy. The draws
    # and scipy both take much memory.
    shares = _resampled(saved, [len(waited) >= _CONNECTIONS_MIN] * len(saved))
    floors, connections = tables["floors"], tables["spent"]["connection"]
    added_here = floors.copied(np.flatnonzero(~floors.equals("spurious", 0)))
    spurious = [_spurious(added_here, connections, one.floor_ns) for one in changes]
    added = _resampled(spurious, [bool(np.count_nonzero(own) > 1) for own in spurious])
    return [
        Remedy(
            one.name,
            _saved(saved[n], shares[n]),
            None if one.floor_ns is None else _added(spurious[n], added[n]),
            int(np.sum(gained[n] > 0)),
            float(of.waited_s.sum()),
            len(gained[n]),
            None if one.floor_ns is None else one.floor_ns / 1e9,
        )
        for n, one in enumerate(changes)
    ]


def _spurious(floors: Table, connections: NDArray[np.uint64], floor_ns: int | None) -> Floats:
    """Return the spurious timeouts that a lower floor adds to each connection, shape (n,).

    If it adds none, or if the change is no floor, the shape is (0,). `floors` has the rows with
    spurious timeouts, and `connections` the numbers of all connections.
    """
    own = floors.take(np.arange(0)) if floor_ns is None else floors.where(floor_ns=floor_ns)
    if not len(own):
        return np.zeros(0)
    places = rows_of(own["connection"].astype(np.int64), connections.astype(np.int64))
    return np.bincount(places, own["spurious"], minlength=len(connections)).astype(float)


def _resampled(every: Sequence[Floats], enough: Sequence[bool]) -> list[Resamples | None]:
    """Return resamples of the values of connections; `None` where `enough` is false."""
    chosen = [values for values, is_enough in zip(every, enough, strict=True) if is_enough]
    drawn = iter(Resamples.each(chosen, length=1))
    return [next(drawn) if is_enough else None for is_enough in enough]


def _saved(each: Floats, resamples: Resamples | None) -> Interval:
    """Return the saved time [s], with its interval.

    The interval is the interval of the saved share, multiplied by the whole waiting time. `each`
    has the saved time and the waiting time of each connection, shape (2, n).
    """
    total, whole = each.sum(axis=1).tolist()
    if resamples is None:
        return Interval.without(total)
    share = resamples.interval(lambda sums: sums[0] / sums[1])
    return share.scaled(whole).bounded(0.0, whole)


def _added(each: Floats, resamples: Resamples | None) -> Interval:
    """Return the number of spurious timeouts, with its interval by resampling connections."""
    if resamples is None:
        return Interval.without(float(each.sum()))
    mean = resamples.interval(lambda sums: sums[0] / sums[-1])
    return mean.scaled(len(each)).bounded(0.0, np.inf)


def _sum(of: NDArray[np.uint64], values: Floats) -> Floats:
    """Return the sum of the values of each connection."""
    _, places = np.unique(of, return_inverse=True)
    return np.bincount(places, values, minlength=1).astype(float)
