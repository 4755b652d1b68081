"""Changes that would have saved time on captured connections: lower floors, probes, RACK.

A change is judged by the silences in the capture. A silence begins with the last progress of a
connection. It contains one timeout or several consecutive ones, and ends with the retransmission
after which new data was acknowledged. An earlier timeout would also have changed all later events,
but the capture cannot show how. So the results are estimates: the time that a single change saves
or costs, summed over all silences. The interval is the interval of the saved share of the waiting
time, over the connections. If only one connection waited, there is no interval.

If several timeouts followed each other, the path lost all copies before the last one. A copy that
would have been sent before these also counts as lost. Tail loss probes and RACK send one copy at
the beginning, so they save nothing in such a silence. A silence without an answer cannot be
shortened.

A capture beside a receiver shows only the receiver's part of a round trip, so no change is tried
there. A minimum RTO explains a wait only if the sender's timer was near this minimum. If the timer
was far above the value that RFC 6298 computes from the round trips, no other minimum would have
shortened the wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples
from netspurt.analysis.replayed import bounded
from netspurt.table import Table

Floats = NDArray[np.float64]

#: The delay that a probe adds if one segment is outstanding (RFC 8985 §7.2).
_DELAYED_ACK_S = 0.2
#: The round trips that a tail loss probe waits (RFC 8985 §7.2).
_ROUND_TRIPS_BEFORE_PROBE = 2
#: RACK waits a quarter of the round trip for reordered segments (RFC 8985 §6.2).
_REORDERING = 0.25
#: The largest minimum RTO in use [s] (RFC 6298 §2.4).
_FLOOR_MAX_S = 1.0
#: A timer follows another rule than RFC 6298 if it is longer than RFC 6298's by this factor.
_FAR_FACTOR = 2.0


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
        The number of all these silences.
    """

    name: str
    saved_s: Interval
    spurious: Interval | None
    silences: int
    waited_s: float
    all_silences: int


@dataclass(frozen=True)
class Silences:
    """The silences that retransmission timers ended, as arrays of shape (n,).

    Attributes
    ----------
    connection
        The number of the connection.
    waited_s
        The time from the last progress to the last retransmission, in seconds.
    unanswered_s
        The time from the last progress to the last unanswered retransmission, in seconds. It is 0
        if the first one was answered.
    timeouts
        The number of consecutive timeouts.
    answered
        True if new data was acknowledged after the silence.
    far
        True if a timer in the silence was far above the value that RFC 6298 computes.
    first
        The first wait of each silence.
    """

    connection: NDArray[np.uint64]
    waited_s: Floats
    unanswered_s: Floats
    timeouts: NDArray[np.int64]
    answered: NDArray[np.bool_]
    far: NDArray[np.bool_]
    first: Table


@dataclass(frozen=True)
class FarAbove:
    """Waits for timers that were far above the value that RFC 6298 computes.

    Attributes
    ----------
    waited_s, computed_s
        The waits, and the timers that RFC 6298 computes at the same instants with a minimum of 1 s,
        in seconds, shape (n,) each.
    srtt_s
        The smoothed round trips at these instants, in seconds, shape (n,).
    """

    waited_s: Floats
    computed_s: Floats
    srtt_s: Floats


def far_above(tables: Mapping[str, Table]) -> FarAbove:
    """Return the waits for timers that were far above the value that RFC 6298 computes."""
    waits = judged(tables)
    far = waits.select(_is_far(waits))
    return FarAbove(far.seconds("waited_ns"), _computed(far), _estimates(far, "srtt_ns"))


def judged(tables: Mapping[str, Table]) -> Table:
    """Return the waits for retransmission timers that were not captured beside the receiver."""
    waits = tables["waits"].where(timer="retransmission")
    beside_receiver = set(_directions(tables["habits"].where(vantage="receiver")))
    elsewhere = [direction not in beside_receiver for direction in _directions(waits)]
    return waits.select(np.array(elsewhere, bool))


def silences(waits: Table) -> Silences:
    """Return the silences that consist of some waits for retransmission timers.

    Parameters
    ----------
    waits
        The rows of the table `waits` with the timer `retransmission`, in their order, as `judged`
        returns them.
    """
    places = _places(waits)
    ends = np.append(np.flatnonzero(places == 0)[1:], len(waits)) - 1 if len(waits) else places
    begins = ends - places[ends]
    until = np.concatenate([[0.0], np.cumsum(waits.seconds("waited_ns"))])
    answered = ~np.ma.getmaskarray(np.ma.asarray(waits["answered_ns"]))
    far = np.concatenate([[0], np.cumsum(_is_far(waits))])
    return Silences(
        connection=waits["connection"][begins],
        waited_s=until[ends + 1] - until[begins],
        unanswered_s=until[ends] - until[begins],
        timeouts=ends - begins + 1,
        answered=answered[ends],
        far=far[ends + 1] > far[begins],
        first=waits.select(places == 0),
    )


def remedies(tables: Mapping[str, Table]) -> list[Remedy]:
    """Return the time that each change would have saved, the largest first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `waits`, `floors`, `habits`.

    Returns
    -------
    list of Remedy
        The changes that would have saved time in at least one silence.

    References
    ----------
    RFC 6298 §2 (timer), §5.5 (backoff), RFC 8985 §6.2 and §7.2 (RACK and its probe).
    """
    found_silences = silences(judged(tables))
    probes = tables["waits"].where(timer="probe")
    found = [_probe(found_silences, probes), _rack(found_silences), _as_computed(found_silences)]
    floors = tables["floors"]
    tried = np.unique(floors["floor_ns"]).tolist() if len(floors) else []
    found += [_floor(found_silences, floors.where(floor_ns=ns), ns / 1e9) for ns in tried]
    helpful = [remedy for remedy in found if remedy.silences]
    # If several floors save the same time, only the highest is shown, because it costs least.
    by_saving = {remedy.saved_s.value: remedy for remedy in helpful}
    return sorted(by_saving.values(), key=lambda remedy: -remedy.saved_s.value)


def _directions(rows: Table) -> list[tuple[int, str]]:
    """Return the connection and the direction of each row."""
    return list(zip(rows["connection"].tolist(), rows["direction"].tolist(), strict=True))


def _places(waits: Table) -> NDArray[np.int64]:
    """Return the place of each wait in its silence, from 0."""
    if not len(waits):
        return np.zeros(0, np.int64)
    new = np.ones(len(waits), bool)
    new[1:] = waits["backoffs"][1:] <= waits["backoffs"][:-1]
    for name in ("connection", "direction"):
        new[1:] |= waits[name][1:] != waits[name][:-1]
    begins = np.flatnonzero(new)
    return np.arange(len(waits)) - np.repeat(begins, np.diff(np.append(begins, len(waits))))


def _timer(waits: Table, floor_s: float) -> Floats:
    """Return the timers of RFC 6298 at some waits, without backoff [s]; NaN if unknown."""
    timer = _estimates(waits, "srtt_ns") + 4 * _estimates(waits, "rttvar_ns")
    bounded_below: Floats = np.maximum(timer, floor_s)
    return bounded_below


def _computed(waits: Table) -> Floats:
    """Return the timers that RFC 6298 computes with its backoff at some waits, in seconds."""
    backed_off: Floats = _timer(waits, _FLOOR_MAX_S) * 2.0 ** np.minimum(waits["backoffs"], 30)
    return backed_off


def _is_far(waits: Table) -> NDArray[np.bool_]:
    """Return, for each wait, whether it was far longer than RFC 6298 computes."""
    far: NDArray[np.bool_] = waits.seconds("waited_ns") > _FAR_FACTOR * _computed(waits)
    return far


def _saved_by(in_capture: Silences, floor_s: float) -> Floats:
    """Return the time that a timer with a floor would have saved at each silence [s].

    The timer doubles with each timeout. All copies up to the last unanswered one are lost.
    """
    timer = _timer(in_capture.first, floor_s)
    lost = np.floor(np.log2(in_capture.unanswered_s / timer + 1))
    saved: Floats = in_capture.waited_s - timer * (2 ** (lost + 1) - 1)
    return saved


def _as_computed(in_capture: Silences) -> Remedy:
    """Return the time that RFC 6298 would have saved where the sender's timer was far above it."""
    name = f"a timer as RFC 6298 computes it (minimum {_FLOOR_MAX_S:g} s)"
    return _remedy(
        name, in_capture, np.where(in_capture.far, _saved_by(in_capture, _FLOOR_MAX_S), np.nan)
    )


def _floor(in_capture: Silences, floors: Table, floor_s: float) -> Remedy:
    """Return the time that a lower minimum RTO would have saved, and its spurious timeouts."""
    name = f"a minimum RTO of {1e3 * floor_s:g} ms"
    saved = np.where(in_capture.far, np.nan, _saved_by(in_capture, floor_s))
    return _remedy(name, in_capture, saved, _spurious(floors))


def _probe(in_capture: Silences, probes: Table) -> Remedy:
    """Return the time that tail loss probes would have saved at the ends of transfers.

    A sender that was seen to send probes has them already.
    """
    probe = _ROUND_TRIPS_BEFORE_PROBE * _estimates(in_capture.first, "srtt_ns")
    probe = probe + np.where(in_capture.first["outstanding"] == 1, _DELAYED_ACK_S, 0.0)
    seen = set(_directions(probes))
    without = np.array([pair not in seen for pair in _directions(in_capture.first)], bool)
    tail = (in_capture.timeouts == 1) & ~in_capture.first["sacked"] & without
    return _remedy(
        "tail loss probes (RFC 8985)",
        in_capture,
        np.where(tail, in_capture.waited_s - probe, np.nan),
    )


def _rack(in_capture: Silences) -> Remedy:
    """Return the time that RACK would have saved if later segments arrived before the timeout."""
    saved = in_capture.waited_s - _REORDERING * _estimates(in_capture.first, "srtt_ns")
    known = (in_capture.timeouts == 1) & in_capture.first["sacked"]
    return _remedy("RACK (RFC 8985)", in_capture, np.where(known, saved, np.nan))


def _remedy(
    name: str, in_capture: Silences, saved: Floats, spurious: Interval | None = None
) -> Remedy:
    """Return a remedy from the time saved in each silence; NaN where it does not apply.

    A silence that would not end earlier counts as 0, and so does one without an answer.
    """
    gained = np.where(in_capture.answered, np.maximum(np.nan_to_num(saved), 0.0), 0.0)
    total = _share_of(in_capture.connection, gained, in_capture.waited_s)
    waited = float(in_capture.waited_s.sum())
    return Remedy(name, total, spurious, int(np.sum(gained > 0)), waited, len(gained))


def _estimates(waits: Table, name: str) -> Floats:
    """Return a column in seconds. It is NaN before the first sample."""
    values = np.ma.asarray(waits[name], dtype=float) / 1e9
    filled: Floats = np.ma.filled(values, np.nan)
    return filled


def _share_of(of: NDArray[np.uint64], gained: Floats, waited: Floats) -> Interval:
    """Return the time saved, with the interval of its share of the time waited."""
    each = np.stack([_sum(of, gained), _sum(of, waited)])
    total, whole = each.sum(axis=1).tolist()
    if each.shape[1] < 2:
        return Interval.without(total)
    share = Resamples(each, length=1).interval(lambda sums: sums[0] / sums[1])
    return bounded(share.scaled(whole), 0.0, whole)


def _spurious(floors: Table) -> Interval:
    """Return the number of spurious timeouts, with its interval by resampling connections."""
    each = _sum(floors["connection"], floors["spurious"].astype(float))
    if np.count_nonzero(each) < 2:
        return Interval.without(float(each.sum()))
    resamples = Resamples(each, length=1)
    return bounded(
        resamples.interval(lambda sums: sums[0] / sums[-1]).scaled(len(each)), 0.0, np.inf
    )


def _sum(of: NDArray[np.uint64], values: Floats) -> Floats:
    """Return the sum of the values of each connection."""
    _, places = np.unique(of, return_inverse=True)
    return np.bincount(places, values, minlength=1).astype(float)
