"""Finds connections that the receive window held back, and says what would help them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.own_queue import fills_queue
from netspurt.analysis.seen import (
    QUEUE_RATIO,
    RoundTrip,
    is_clearly_longer,
    receiver_of,
    round_trip,
    vantages_of,
    window_max,
    with_both_directions,
)
from netspurt.analysis.spent import whole_s
from netspurt.table import Table
from netspurt.wording import duration, number, rate

#: A connection waited long for the receive window if it waited for at least `_SHARE_MIN` of its
#: time. A sender had more data to send if data was on its way for at least `_SHARE_MIN` of the busy
#: time. The busy time is the connection's time without its handshake, and without the time in which
#: neither end had data to send.
_SHARE_MIN = 0.25
#: The columns that name a direction.
_KEY = ("connection", "direction")
#: The changes of the round trip that count. Changes to shorter round trips do not count: after a
#: pause, such as the wait for a delayed ACK while the window is full, any queue is shorter than
#: before the pause.
_LONGER = ("longer", "slowly longer")
#: Bounds of `WindowLimit.open_share`. If it is at least `_OPEN_MIN`, the size of the receive buffer
#: limits the window. If it is below `SLOW_MAX`, an application that reads slowly limits the window.
_OPEN_MIN, SLOW_MAX = 0.95, 0.75
#: Two directions have similar amounts of data if the smaller amount is at least `_SIMILAR_MIN`
#: times the larger amount.
_SIMILAR_MIN = 0.25
#: `_UNSCALED_MAX` is the largest window that is possible without window scaling. Without window
#: scaling, this bound limits a connection whose largest window is at least `_UNSCALED_MIN`. A
#: window that is larger by a full segment of 1,460 octets would exceed the bound.
_UNSCALED_MAX, _UNSCALED_MIN = 65_535, 64_076
#: The application stopped reading once if the window was closed once, for at least `_STOPPED_MIN`
#: of the time in which the sender waited for the window.
_STOPPED_MIN = 0.5
#: A receiver was still making its window larger if at most `_GROWN_MAX` of the largest window was
#: ever outstanding.
_GROWN_MAX = 0.75
#: A factor and a time [s]. Acknowledgments may wait for the application of the receiver if two
#: conditions hold. The shortest round trip of data is at least the factor times the round trip of
#: the handshake. The difference of these two round trips is at least the time.
_LATE = 4.0, 0.001


def window_shift(syns: Table, direction: str) -> int:
    """Return the window shift of the segments that one direction of a flow carries.

    It is 0 unless both SYNs offer window scaling (RFC 7323 §2.2).

    Parameters
    ----------
    syns
        The rows of the flow in the table `syns`.
    direction
        `"forward"` or `"reverse"`.
    """
    shifts = {
        str(of): int(shift)
        for of, shift in zip(syns["direction"], syns["window_scale"].tolist(), strict=True)
        if shift is not None
    }
    return shifts.get(direction, 0) if len(shifts) == 2 else 0


@dataclass(frozen=True)
class WindowLimit:
    """A direction that its receiver's window held back.

    Attributes
    ----------
    connection
        The number of the connection.
    receiver
        The address of the receiver.
    share
        The share of the connection's time in which the sender waited for the window.
    window_bytes
        The largest window.
    trip
        The round trip of data. If the capture does not show it, the round trip of the handshake.
    open_share
        The mean of the window over the time, divided by another mean: the mean that the window
        would have if it never shrank. 1 minus this value is the share of the window that was filled
        with data that the application had not read.
    mean_bytes
        The window in octets, averaged over the time.
    closed, closed_s
        How often the window was closed, and for how long in all, in seconds.
    stopped_once
        True if the window was closed once, for most of the time in which the sender waited for it.
    had_bps
        The rate of the direction in bits per second. The handshake, and the time in which neither
        end had data to send, do not count.
    fills_queue
        True if round trips became longer because the sender filled a queue, or if it is not known
        why they became longer.
    is_possible
        True if the application surely read slowly, but the sender may not have filled the window. A
        capture beside the receiver does not show whether the sender filled the window.
    handshake_s
        The round trip of the handshake in seconds. NaN if this round trip, or the round trip of
        data, is not known.
    outstanding_bytes
        The maximum number of outstanding octets.
    window_bytes_min
        The smallest window above zero.
    unscaled_by
        If missing window scaling limited the window: the address whose SYN did not offer scaling,
        or both addresses if it is not known whose SYN it was. `None` otherwise.
    both_ways
        The addresses of both ends if both sent similar amounts of data. Then the capture does not
        show whose window held the connection back. `None` otherwise.
    """

    connection: int
    receiver: str
    share: float
    window_bytes: int
    trip: RoundTrip
    open_share: float
    mean_bytes: float
    closed: int
    closed_s: float
    stopped_once: bool
    had_bps: float
    fills_queue: bool
    is_possible: bool
    handshake_s: float
    outstanding_bytes: int
    window_bytes_min: int
    unscaled_by: str | None = None
    both_ways: tuple[str, str] | None = None

    @property
    def answers_late(self) -> bool:
        """Whether acknowledgments may wait until the application of the receiver reads."""
        return self.trip.of_data and is_clearly_longer(self.trip.min_s, self.handshake_s, _LATE)

    @property
    def is_open(self) -> bool:
        """Whether the size of the receive buffer limits the window."""
        return self.open_share >= _OPEN_MIN

    @property
    def is_slow(self) -> bool:
        """Whether an application that reads slowly limits the window."""
        return self.open_share < SLOW_MAX

    @property
    def was_full(self) -> bool:
        """Whether the largest window was about full. True if the capture does not show this."""
        return not self.trip.of_data or self.outstanding_bytes > _GROWN_MAX * self.window_bytes

    @property
    def has_grown(self) -> bool:
        """Whether the window was full only before the receiver made it larger."""
        return self.is_open and not self.was_full and self.window_bytes_min < self.outstanding_bytes

    @property
    def allowed_bps(self) -> float:
        """The rate that the largest window allows at the mean round trip, in bits per second."""
        return 8 * self.window_bytes / self.trip.mean_s

    @property
    def has_queue(self) -> bool:
        """Whether data waited, or may have waited, in a queue."""
        if self.trip.of_data:
            return self.trip.has_queue and self.fills_queue
        # Only the round trip of the handshake is known. If the window allows a higher rate at this
        # round trip than the actual rate, the round trips of data may have been longer.
        return self.allowed_bps >= QUEUE_RATIO * self.had_bps

    def sentence(self, who: str) -> str:
        """Return sentences on what held the connection `who` back, and what helps."""
        if self.is_possible:
            return self._possible(who)
        about = "" if self.trip.of_data else "about "
        held = f"The receive window held {who} back for {about}{self.share:.0%} of its time"
        if self.both_ways:
            either = " or ".join(self.both_ways)
            return (
                f"{held}. Both ends sent much data, so this may be the window of {either}. A "
                "larger receive buffer there, or an application that reads faster, may help."
            )
        if self.window_bytes > 0:
            return self._of_window(held)
        return (
            f"{held}: after the handshake every window of {self.receiver} was zero. Either its "
            "application did not read, or this host refuses data on purpose."
        )

    def _of_window(self, held: str) -> str:
        """Return sentences on a window that was above zero at times. `held` is their beginning."""
        if self.unscaled_by and self.is_open and self.was_full:
            return f"{held}. {self._unscaled(self.unscaled_by)}"
        if self.has_grown and not self.has_queue:
            return f"{held}. {self._growing()}"
        most = f"{number(self.window_bytes)} octets"
        if not self.is_slow:
            helps = f"A larger receive buffer at {self.receiver}{self._helps}"
            told = self._with_queue(helps) if self.has_queue else f"{helps}."
            return f"{held}. {self._announced()} {told}{self._unread()}{self._late()}"
        times = "once" if self.closed == 1 else f"{number(self.closed)} times"
        lasted = f"for {duration(self.closed_s)}{' in all' if self.closed > 1 else ''}"
        closed = f", and {self.receiver} closed it {times}, {lasted}" if self.closed else ""
        slow = f"read more slowly than data could come: it read about {rate(self.had_bps)}"
        slow = "stopped reading once" if self.stopped_once else slow
        faster = "does not pause like this" if self.stopped_once else "reads faster"
        return (
            f"{held}, because the application at {self.receiver} {slow}. The window was "
            f"{number(round(self.mean_bytes))} octets on average, {most} at most{closed}. An "
            f"application that {faster} helps. A larger receive buffer does not help for long."
        )

    def _announced(self) -> str:
        """Return sentences on the largest window, and on the rate that it allows."""
        announced = f"{self.receiver} announced at most {number(self.window_bytes)} octets."
        # The round trips may have been measured at other times than the rate. So the rate that is
        # allowed at these round trips may be lower than the actual rate.
        if self.allowed_bps < self.had_bps:
            return announced
        trips = "" if self.trip.of_data else " at the handshake"
        return (
            f"{announced} With round trips of {duration(self.trip.mean_s)}{trips} this allows "
            f"{rate(self.allowed_bps)}."
        )

    def _unscaled(self, by: str) -> str:
        """Return sentences on a window that is not scaled, so that it cannot become larger.

        `by` is the address whose SYN did not offer scaling.
        """
        limited = (
            f"{self._announced()} No window can be larger than {number(_UNSCALED_MAX)} octets "
            f"here, because the SYN of {by} came without the option for window scaling "
            "(RFC 7323 §2). A larger receive buffer does not help."
        )
        if self.has_queue:
            return f"{limited} {self._with_queue(f'Window scaling at {by} helps')}"
        return (
            f"{limited} Switch window scaling on at {by} (Linux: net.ipv4.tcp_window_scaling=1), "
            f"and check that no firewall on the path removes the option.{self._late()}"
        )

    def _growing(self) -> str:
        """Return sentences on a window that was full only before its receiver made it larger."""
        return (
            f"{self.receiver} made its window larger during the transfer, up to "
            f"{number(self.window_bytes)} octets. The window was full only while it was smaller: "
            f"at most {number(self.outstanding_bytes)} octets "
            f"were outstanding. A receive buffer at {self.receiver} that is larger from the "
            "beginning helps (Linux: the second number of net.ipv4.tcp_rmem). SO_RCVBUF would end "
            "the automatic growth."
        )

    @property
    def _helps(self) -> str:
        """The end of the sentence on a larger buffer.

        A larger buffer helps for sure only if `is_open` is true and `answers_late` is false.
        """
        is_sure = self.is_open and not self.answers_late
        return " helps" if is_sure else ", or an application that reads faster, may help"

    def _late(self) -> str:
        """Return a sentence on acknowledgments that may wait for the application."""
        if not self.answers_late:
            return ""
        return (
            f" The shortest round trip of data took {duration(self.trip.min_s)}, but the "
            f"handshake's round trip took only {duration(self.handshake_s)}. So acknowledgments "
            "may wait until the application reads. In this case a larger window does not help for "
            "long."
        )

    def _unread(self) -> str:
        """Return a sentence on data that the application had not read, if there was much of it."""
        if self.is_open:
            return ""
        return (
            f" Data that the application at {self.receiver} had not read made the window "
            f"{1 - self.open_share:.0%} smaller on average. If this application cannot read "
            f"faster than {rate(self.had_bps)}, a larger buffer does not help for long."
        )

    def _with_queue(self, helps: str) -> str:
        """Return sentences for data in a queue. `helps` begins the sentence on what helps."""
        if self.trip.of_data:
            or_read = "" if self.is_open else ", or ACKs waited until the application read"
            return (
                f"The shortest round trip took {duration(self.trip.min_s)}, the mean round trip "
                f"{duration(self.trip.mean_s)}. So data waited in a queue{or_read}. {helps} only "
                "if other traffic fills this queue. If this connection fills its slowest link, a "
                "larger window only makes the queue longer."
            )
        return (
            f"The rate was only {rate(self.had_bps)}. So round trips of data were longer than at "
            f"the handshake, or something else also held the sender back. {helps} only if this "
            "connection did not fill its slowest link."
        )

    def _possible(self, who: str) -> str:
        """Return sentences on a reader that may have held the connection `who` back."""
        return (
            f"The application at {self.receiver} may have held {who} back. It read more slowly "
            f"than data could come: it read about {rate(self.had_bps)}. So its unread data made "
            f"the receive window smaller: {number(round(self.mean_bytes))} octets on average, "
            f"{number(self.window_bytes)} octets at most. Only a capture beside the sender shows "
            "whether the sender filled this window."
        )


def slow_readers(tables: Mapping[str, Table]) -> list[WindowLimit]:
    """Return directions, captured beside the receiver, that a slow reader may have held back.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`, `spent`,
        `steady`.
    """
    spent, connections = with_both_directions(tables), tables["connections"]
    opened = connections.filled("window_open_share", 1.0)
    slow = np.isin(spent["connection"], connections["connection"][opened < SLOW_MAX])
    # A larger window would not help a sender that had no more data to send for most of the time.
    busy_s, flying_s = _busy_s(spent), spent.seconds("congestion_window_ns")
    had_more = (busy_s > 0) & (flying_s >= _SHARE_MIN * busy_s)
    limits = _limits(tables, spent.select(slow & ~_is_long(spent) & had_more))
    return [
        replace(one, is_possible=True) for one in limits if one.is_slow and not one.trip.of_data
    ]


def window_limits(tables: Mapping[str, Table]) -> list[WindowLimit]:
    """Return the directions that the receive window held back, the longest waits first.

    Of each connection, only the direction with more data counts.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`, `spent`,
        `steady`.
    """
    spent = with_both_directions(tables)
    return _limits(tables, spent.select(_is_long(spent)))


def _is_long(spent: Table) -> NDArray[np.bool_]:
    """Return which connections waited long for the window."""
    waited = spent.seconds("receive_window_ns")
    long: NDArray[np.bool_] = (waited > 0) & (waited >= _SHARE_MIN * whole_s(spent))
    return long


def _busy_s(spent: Table) -> NDArray[np.float64]:
    """Return the busy time of connections [s].

    It is their time without the handshake, and without the time in which neither end had data to
    send.
    """
    return whole_s(spent) - spent.seconds("application_ns") - spent.seconds("handshake_ns")


def _limits(tables: Mapping[str, Table], spent: Table) -> list[WindowLimit]:
    """Return the limits of the connections with these rows of `spent`, the longest waits first."""
    if not len(spent):
        return []
    connections = tables["connections"]
    ways = defaultdict(list)
    own = connections.select(np.isin(connections["connection"], spent["connection"]))
    changes = tables["delay_changes"]
    changes = changes.select(
        np.isin(changes["connection"], spent["connection"]) & np.isin(changes["kind"], _LONGER)
    )
    steady = set(zip(*(tables["steady"][name].tolist() for name in _KEY), strict=True))
    for row, vantage in zip(own.each(), vantages_of(own, tables).tolist(), strict=True):
        ways[row["connection"]].append((row, vantage == "receiver"))
    found: list[tuple[float, WindowLimit]] = []
    seconds = (spent.seconds("receive_window_ns"), whole_s(spent), _busy_s(spent))
    for connection, held_s, all_s, busy_s in zip(
        spent["connection"].tolist(), *(one.tolist() for one in seconds), strict=True
    ):
        row, beside = max(ways[connection], key=lambda way: int(way[0]["unique_bytes"]))
        limits = _limit(row, own, held_s / all_s, busy_s, beside=beside)
        both = _both_ways([way for way, _ in ways[connection]])
        key = (connection, row["direction"])
        found += [
            (
                held_s,
                replace(
                    limit,
                    fills_queue=_fills(limit, row, changes, is_steady=key in steady),
                    both_ways=both,
                ),
            )
            for limit in limits
        ]
    return [limit for _, limit in sorted(found, key=lambda one: -one[0])]


def _both_ways(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Return the receivers of both directions if both have similar amounts of data."""
    octets = sorted(int(row["unique_bytes"]) for row in rows)
    if len(rows) < 2 or octets[0] < _SIMILAR_MIN * octets[1]:
        return None
    first, second = rows
    return str(first["destination"]), str(second["destination"])


def _fills(one: WindowLimit, row: Mapping[str, Any], changes: Table, *, is_steady: bool) -> bool:
    """Return `WindowLimit.fills_queue`; `is_steady` is true if the sender's rate was constant."""
    return fills_queue(
        changes,
        (one.connection, row["direction"]),
        rate_bps=one.had_bps,
        outstanding=one.had_bps * one.trip.mean_s / 8 / row["segment_bytes_max"],
        is_steady=is_steady,
    )


def _limit(
    row: Mapping[str, Any], connections: Table, share: float, busy_s: float, *, beside: bool
) -> Iterator[WindowLimit]:
    back, window = receiver_of(row, connections), window_max(row, connections)
    trip = round_trip(row, connections, beside=beside)
    if back is None or window is None or trip is None:
        return
    octets, mean = float(row["unique_bytes"]), back["window_bytes_time_mean"]
    closed_s, held_s = back["window_closed_ns"] / 1e9, share * row["duration_ns"] / 1e9
    opened = back["window_open_share"]
    yield WindowLimit(
        connection=int(row["connection"]),
        receiver=str(row["destination"]),
        share=share,
        window_bytes=window,
        trip=trip,
        open_share=1.0 if opened is None else opened,
        mean_bytes=window if mean is None else mean,
        closed=int(back["window_closings"]),
        closed_s=closed_s,
        stopped_once=back["window_closings"] == 1 and closed_s >= _STOPPED_MIN * held_s,
        had_bps=8 * octets / busy_s,
        fills_queue=True,
        is_possible=False,
        handshake_s=_handshake_s(row, trip),
        outstanding_bytes=int(row["outstanding_bytes_max"]),
        window_bytes_min=int(back["window_bytes_min"] or 0),
        unscaled_by=_unscaled_by(row, back, window),
    )


def _unscaled_by(row: Mapping[str, Any], back: Mapping[str, Any], window: int) -> str | None:
    """Return the address whose SYN came without window scaling, if this limits the `window`.

    `row` and `back` are the two directions. The function is used only if both SYNs were captured. A
    SYN-ACK offers scaling only if the SYN did. Some senders leave the option out when they send the
    SYN again, and the table shows only the first SYN's option. The result names both addresses if
    the first SYN offered scaling, the SYN-ACK did not, and the SYN was sent again.
    """
    if not _UNSCALED_MIN <= window <= _UNSCALED_MAX:
        return None
    first, second = sorted((row, back), key=lambda way: str(way["direction"]))
    if first["window_scale"] is None:
        return str(first["source"])
    if second["window_scale"] is not None:
        return None
    either = (str(first["source"]), str(second["source"]))
    return either[1] if first["syns"] == 1 else " or ".join(either)


def _handshake_s(row: Mapping[str, Any], trip: RoundTrip) -> float:
    """Return the handshake's round trip [s]; NaN if it, or the round trip of data, is not known."""
    to_receiver = row["handshake_rtt_ns"]
    if to_receiver is None or not trip.of_data:
        return math.nan
    # `min_s` contains the round trip between the capture and the sender, as the handshake shows it.
    # So only the part between the capture and the receiver is replaced.
    return trip.min_s + float(to_receiver - row["rtt_ns_min"]) / 1e9
