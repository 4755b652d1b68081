"""The sentences that come first on a capture: what held data back, and what was retransmitted.

The last sentences say what would help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from netspurt.analysis.full_link import full_links
from netspurt.analysis.held import held_segments
from netspurt.analysis.let_wait import let_wait
from netspurt.analysis.limit import Limit
from netspurt.analysis.long_trips import long_trips
from netspurt.analysis.loss_rate import LossLimit, loss_limits
from netspurt.analysis.nagle import short_segments
from netspurt.analysis.on_its_way import words
from netspurt.analysis.receive_window import window_limits
from netspurt.analysis.seen import octets_by_vantage, with_both_directions
from netspurt.analysis.spent import parts
from netspurt.analysis.stopped import all_stopped
from netspurt.analysis.unread import unread
from netspurt.captures import Explained
from netspurt.causes import HOLE_WORDS, SAVED_WORDS, SEVERAL_TIMEOUTS_WORDS, tallied
from netspurt.report.words import span
from netspurt.table import Table
from netspurt.wording import counted, number, plain

#: The beginning of the line that says where the time went.
_TIME = "Time went to"


def finding(found: Explained, lines: Sequence[str]) -> str:
    """Return the sentences that a reader of a capture needs first.

    Parameters
    ----------
    found
        The capture, or several captures that were explained together.
    lines
        The lines that `netspurt explain` prints on the capture or the captures.
    """
    return plain(" ".join(_sentences(found, lines)))


def shares(lines: Sequence[str]) -> list[str]:
    """Return the line of `lines` that says where the time went, if there is such a line."""
    return [plain(line) for line in lines if line.startswith(_TIME)][:1]


def _sentences(found: Explained, lines: Sequence[str]) -> Iterator[str]:
    data = int(found.table("connections")["data_packets"].sum())
    if data == 0:
        return
    yield from _held_back(found)
    again = found.table("retransmissions")
    if len(again) == 0:
        yield f"Nothing was retransmitted in {counted(data, 'data packet')}."
        return
    of = tallied(again["cause"].tolist(), likeliest=False)
    yield f"{counted(len(again), 'retransmission')} in {counted(data, 'data packet')}: {of}."
    yield from _verdicts(again["verdict"].tolist())
    spent = with_both_directions(found.tables)
    silence, repair = (float(spent.seconds(f"{name}_ns").sum()) for name in ("timeout", "repair"))
    if silence or repair:
        passed = span(silence) if silence else "No time"
        yield f"{passed} passed in silence before retransmission timers fired."
        if repair:
            yield f"Repair delayed new data by {span(repair)}."
    yield from [line for line in lines if HOLE_WORDS in line][:1]
    yield from [line for line in lines if SAVED_WORDS in line or SEVERAL_TIMEOUTS_WORDS in line][:1]


def _held_back(found: Explained) -> Iterator[str]:
    """Yield what held data back for the largest part of the time, and losses that kept cwnd small.

    If losses limited connections that took at least half of the time of all connections, only
    these losses are named. Otherwise the largest part of the time is named first, and then the
    losses, if they limited any connection.
    """
    limits, spent = loss_limits(found.tables), with_both_directions(found.tables)
    shares, whole = parts(spent)
    _, limited = parts(
        spent.select(np.isin(spent["connection"], [one.connection for one in limits]))
    )
    if 2 * limited < whole:
        yield from _largest(found, shares)
        told = _LIMITS.get(shares[0][0]) if shares else None
        shown = told(found.tables)[:1] if told else []
        yield from (one.sentence(_who(found, one.connection)) for one in shown)
    yield from (_limited(found, one) for one in limits[:1])


def _on_its_way(tables: Mapping[str, Table]) -> list[Limit]:
    """Return what limited connections while their data was on its way (not yet acknowledged).

    The connections whose data was on its way for the longest time come first.
    """
    limits: list[Limit] = [*short_segments(tables), *held_segments(tables)]
    limits += [*full_links(tables), *all_stopped(tables), *long_trips(tables)]
    spent = tables["spent"]
    times = dict(
        zip(spent["connection"].tolist(), spent["congestion_window_ns"].tolist(), strict=True)
    )
    return sorted(limits, key=lambda one: -times.get(one.connection, 0))


#: The functions that explain a part of the time. Each returns what limited connections, the most
#: important limit first.
_LIMITS: dict[str, Callable[[Mapping[str, Table]], Sequence[Limit]]] = {
    "application": lambda tables: [*let_wait(tables), *unread(tables)],
    "delivery": lambda tables: [one for one in all_stopped(tables) if not one.for_buffer],
    "receive_window": window_limits,
    "congestion_window": _on_its_way,
}


def _who(found: Explained, connection: int) -> str:
    """Return a connection's name as in the pictures. With several files, it contains the file."""
    path, own = found.place_of(connection)
    return f"connection {own} of {path}" if found.files else f"c{own}"


def _limited(found: Explained, one: LossLimit) -> str:
    """Return sentences on the rate that losses allowed a connection."""
    trips = "" if one.rtt_seen else " at the handshake (later round trips are not seen here)"
    return (
        f"{one.sentence(_who(found, one.connection))}: it lost data "
        f"{number(one.cuts)} times in {counted(one.packets, 'data packet')}, with round trips "
        f"of {span(one.rtt_s)}{trips}." + (f" {told}" if (told := one.window_sentence()) else "")
    )


def _largest(found: Explained, shares: Sequence[tuple[str, float]]) -> Iterator[str]:
    """Yield the largest part of the time, and what a capture beside the receiver does not show."""
    for name, share in shares[:1]:
        largest = f"{share:.0%} of the time" if share > 0.5 else "The largest part of the time"
        of = "" if share > 0.5 else f", {share:.0%},"
        yield f"{largest}{of} went to {words(found.tables)[name]}."
        if name in _HIDDEN_CAUSES and _is_beside_receiver(found):
            window = "the receive window, " if _is_window_unknown(found) else ""
            yield (
                "The capture was taken beside the receiver. It does not show what held the sender "
                f"back: {window}its congestion window, its timers or its application."
            )


#: The parts of the time whose cause only a capture beside the sender shows.
_HIDDEN_CAUSES = ("congestion_window", "application")


def _is_beside_receiver(found: Explained) -> bool:
    """Return whether more than half of the data was captured beside its receiver."""
    octets = octets_by_vantage(found.tables)
    return 2 * octets["receiver"] > octets.total()


def _is_window_unknown(found: Explained) -> bool:
    """Return true if the capture cannot show whether senders filled their receivers' windows.

    To show this, a capture must contain the round trip to the sender and the scale of windows. The
    SYNs of both ends carry this scale. After a queue has made this round trip longer, only
    timestamps show the longer round trip.
    """
    table = found.table("connections")
    lacks = (table["syns"] == 0) | ~table["timestamps"]
    return bool(lacks.any())


def _verdicts(verdicts: Sequence[str]) -> Iterator[str]:
    """Yield how many retransmissions were spurious, and for how many this cannot be known."""
    spurious, unknown = verdicts.count("spurious"), verdicts.count("unknown")
    told = f"{number(spurious)} {'was' if spurious == 1 else 'were'} spurious"
    told = told if spurious else "None is known to be spurious"
    yield f"{told}; for {number(unknown)} the verdict is not known." if unknown else f"{told}."
