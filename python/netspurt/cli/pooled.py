"""The output of `netspurt explain` for many connections together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.on_its_way import words
from netspurt.analysis.seen import (
    is_beside,
    octets_by_vantage,
    vantages_of,
    with_both_directions,
    within_one_host,
)
from netspurt.analysis.spent import BRIEFLY, largest_parts, parts, together_s, whole_s
from netspurt.captures import forget_columns
from netspurt.causes import SEEN, SEEN_IN_ACKS, WORDS
from netspurt.cli.output import columns, named
from netspurt.cli.remedy_lines import remedy_lines
from netspurt.wording import counted, duration, number, rate

if TYPE_CHECKING:
    from netspurt.analysis.limit import Limit
    from netspurt.analysis.loss_rate import LossLimit
    from netspurt.captures import Explained
    from netspurt.table import Table

#: The maximum number of connections in a list of connections.
_WORST = 5
#: The maximum number of connections with a sentence of their own on one kind of limit.
_LIMITED = 3
#: The minimum share of a part of the time. Smaller parts are left out.
_SHARE = 0.005


def pooled_lines(found: Explained, room: int | None) -> Iterator[str]:
    """Yield lines on causes, parts of the time, remedies, and the worst connections.

    A remedy is a change of the sender that would have saved time. Tables have at most `room`
    characters in a line, if their words allow it.
    """
    # The columns that were read are freed here and below, because the next part reads other
    # columns.
    forget_columns(found.tables)
    yield from _vantages(found)
    forget_columns(found.tables)
    yield from _causes(found, room)
    forget_columns(found.tables)
    yield from lost_before(found)
    yield from dropped_by_host(found)
    yield from reordering_lines(found)
    yield from hole_lines(found)
    yield ""
    forget_columns(found.tables)
    yield time_line(found)
    forget_columns(found.tables)
    yield from limit_lines(found)
    forget_columns(found.tables)
    yield from remedy_lines(found.tables)
    forget_columns(found.tables)
    yield from _longest(found)
    yield from _worst(found)


def _vantages(found: Explained) -> Iterator[str]:
    """Yield where a capture was taken, or the number of directions for each capture point."""
    connections = found.table("connections")
    data = connections.select(connections["data_packets"] > 0)
    where = vantages_of(data, found.tables)
    counts = {name: int((where == name).sum()) for name in _WHERE}
    octets = octets_by_vantage(found.tables)
    parts = [f"{number(counts[name])} {words}" for name, words in _WHERE.items() if counts[name]]
    if not parts:
        return
    yield (
        _taken_at(found, data, where)
        or f"Directions with data, by capture point: {', '.join(parts)}."
    )
    if octets["receiver"] > octets["sender"]:
        yield (
            "A capture beside the receiver does not show data that was lost before the capture "
            "point. So a silence may come from the sender's timer and not from the sender's "
            "application."
        )
    yield ""


#: A host that answers in less than `_ON_HOST_NS` may be the host on which the capture was taken.
_ON_HOST_NS = 500_000


def _taken_at(found: Explained, data: Table, where: NDArray[np.str_]) -> str | None:
    """Return a sentence on where a capture was taken, if all its connections agree.

    `data` has the rows of `connections` whose directions carried data. `where` has the place of the
    capture for each of these rows.

    The connections with data agree in four cases: all were captured beside the same host; all have
    both ends on one host; all were captured on the path between their ends; the place is unknown
    for all. For several files the result is None.
    """
    if found.files and len(found.files) > 1:
        return None
    is_sender, is_receiver, both = where == "sender", where == "receiver", within_one_host(data)
    kinds = np.where(both, "both", np.where(is_sender | is_receiver, "host", where))
    kind = str(kinds[0])
    host = data.value("destination" if is_receiver[0] else "source", 0)
    at_host = np.where(is_sender, data.equals("source", host), data.equals("destination", host))
    if (kinds != kind).any() or (kind == "host" and not at_host.all()):
        return None
    if kind == "both":
        return "The capture was taken on the host of both ends."
    if kind == "unknown":
        return "Where the capture was taken is not known."
    if kind == "middle":
        return "The capture was taken on the path, between the two ends of its connections."
    octets = data["unique_bytes"]
    sums = {"sender": int(octets[is_sender].sum()), "receiver": int(octets[is_receiver].sum())}
    most = "sent" if sums["sender"] > sums["receiver"] else "received"
    what = "all the data" if min(sums.values()) == 0 else "most of the data"
    return (
        f"The capture was taken beside {host}{_how_near(found.table('connections'), host)}, "
        f"which {most} {what}."
    )


def _how_near(connections: Table, host: str) -> str:
    """Return the maximum distance between a host and the capture point, as a round trip.

    The shortest time in which the host answered is an upper limit: this time includes the round
    trip to the host and the time that the host needed to answer. The text is empty if the capture
    may have been taken on the host, or if no round trip is known.
    """
    own = connections.where(destination=host)
    least = [own.filled(name, np.inf) for name in ("handshake_rtt_ns", "rtt_ns_min")]
    known = np.concatenate(least)
    known = known[np.isfinite(known)]
    if not len(known) or known.min() < _ON_HOST_NS:
        return ""
    return f" (a round trip of at most {duration(known.min() / 1e9)} away)"


#: Where a capture was taken, in words.
_WHERE = {
    "sender": "beside the sender",
    "receiver": "beside the receiver",
    "middle": "between sender and receiver",
    "unknown": "at an unknown place",
}


def _causes(found: Explained, room: int | None) -> Iterator[str]:
    again = found.table("retransmissions")
    if len(again) == 0:
        yield "No retransmissions were seen."
        if repeated := int(found.table("connections")["retransmissions"].sum()):
            those = "packet repeats" if repeated == 1 else "packets repeat"
            yield (
                f"But {number(repeated)} {those} octets, for example as a copy that the network "
                "made or as a keep-alive. The rows of connections count these packets as "
                "retransmissions, as tcptrace does."
            )
        return
    rows: list[tuple[str, ...]] = [("", *_COLUMNS)]
    there = [cause for cause in WORDS if again.equals("cause", cause).any()]
    seen = [cause for cause in there if cause in SEEN_IN_ACKS]
    if seen:
        rows.append((SEEN, *_cells(found, again.select(again.equals("cause", *seen)))))
    for cause in there:
        words = f"  likely {WORDS[cause]}" if cause in seen else WORDS[cause]
        if seen != [cause]:
            rows.append((words, *_cells(found, again.where(cause=cause))))
    yield from columns(rows, range(1, len(rows[0])), room)
    if seen:
        likeliest = f" Most likely here: {WORDS[seen[0]]}." if len(seen) == 1 else ""
        yield f"{ALIKE}{likeliest}"
    yield from _unsure(found)
    yield from _waits_beside_silences(found)


#: A cause or a verdict (needed or spurious) is reported as a guess if its confidence is below
#: `_SURE`.
_SURE = 0.9


def _unsure(found: Explained) -> Iterator[str]:
    """Yield the number of causes and verdicts that are guesses."""
    again = found.table("retransmissions")
    parts = []
    for what in ("cause", "verdict"):
        guesses = int(_guesses(again, what).sum())
        parts += [f"{counted(guesses, what)}"] if guesses else []
    if parts:
        yield (
            f"Less than {_SURE:.0%} sure: {' and '.join(parts)} of "
            f"{counted(len(again), 'retransmission')}; --connection shows how sure each is."
        )
    yield from _unsure_beside(found)


def _guesses(again: Table, what: str) -> NDArray[np.bool_]:
    """Return, for each retransmission, whether its `what` (cause or verdict) is a guess."""
    sure = again.filled(f"{what}_confidence", 1.0)
    guesses: NDArray[np.bool_] = (sure < _SURE) & ~again.equals(what, "unknown")
    return guesses


def _unsure_beside(found: Explained) -> Iterator[str]:
    """If the capture is beside the receiver, yield why the cause *loss seen in ACKs* is a guess."""
    again = found.table("retransmissions")
    beside = is_beside("receiver", again, found.tables)
    seen = again.equals("cause", *SEEN_IN_ACKS) & beside & _guesses(again, "cause")
    if not seen.any():
        return
    sure = again.select(seen)["cause_confidence"]
    low, high = f"{sure.min():.0%}", f"{sure.max():.0%}"
    yield (
        f"Beside the receiver, the cause {SEEN!r} of {counted(int(seen.sum()), 'retransmission')} "
        f"is {low if low == high else f'{low} to {high}'} sure. The capture does not show the "
        "sender's timers, or what was lost before the capture point. So a timer may have caused "
        "some of these retransmissions."
    )


def _waits_beside_silences(found: Explained) -> Iterator[str]:
    """If timers waited longer than the silences before them (see `_DIFFER`), yield why."""
    waited = together_s(found.table("waits"))
    silent = float(found.table("spent").seconds("timeout_ns").sum())
    if waited > _DIFFER * silent:
        yield (
            f"Timers waited {duration(waited)}, counted from the last progress. Silence before a "
            f"timer, {duration(silent)}, counts from the last packet of either end."
        )


#: Waits and silences differ if the waits are more than `_DIFFER` times the silences.
_DIFFER = 1.05


#: The sentence that explains why some causes look the same in a capture.
ALIKE = (
    "Fast retransmit, SACK recovery and RACK look alike in a capture. The configuration of the "
    "sender decides which of the three it uses (on Linux: RACK, unless RACK is switched off)."
)

#: The columns next to the column of causes.
_COLUMNS = ("connections", "retransmissions", "needed", "spurious", "cannot be known", "waited")


def _cells(found: Explained, own: Table) -> Iterator[str]:
    """Yield the cells of a cause's row. `own` has the retransmissions with this cause."""
    yield number(len(np.unique(own["connection"])))
    yield number(len(own))
    for verdict in ("needed", "spurious", "unknown"):
        yield number(int(own.equals("verdict", verdict).sum()))
    waited_s = _waited(found, own)
    yield duration(waited_s) if waited_s else "-"


def _waited(found: Explained, own: Table) -> float:
    """Return the time that timers waited before the retransmissions in `own`, in seconds."""
    waits = found.table("waits")
    # There may be far more retransmissions than waits, so only the retransmissions at the instants
    # of waits are read row by row.
    before = set(_places(own.select(np.isin(own["t_ns"], waits["t_ns"]))))
    return together_s(waits.select(np.array([place in before for place in _places(waits)], bool)))


def _places(rows: Table) -> Iterator[tuple[int, str, int]]:
    """Yield the connection, the direction and the instant of each row.

    Beside a host, a SYN and the SYN-ACK that answers it may have the same instant. So the instant
    alone does not identify a row.
    """
    names = ("connection", "direction", "t_ns")
    return zip(*(rows[name].tolist() for name in names), strict=True)


def time_line(found: Explained, connection: int | None = None) -> str:
    """Return a sentence on how connections, or one of them, spent their time, as shares."""
    spent = with_both_directions(found.tables)
    spent = spent if connection is None else spent.where(connection=connection)
    whose = "all connections" if connection is None else "this connection"
    if len(spent) == 0:
        return "Without acknowledgments it is not known how the time was spent."
    shares, whole = parts(spent)
    if not shares:
        return "All packets have the same time, so it is not known how the time was spent."
    told_of = words(found.tables, connection)
    told = [f"{told_of[name]} {share:.0%}" for name, share in shares if share >= _SHARE]
    return f"Time went to: {', '.join(told)} (of {duration(whole)} of {whose})."


def lost_before(found: Explained, connection: int | None = None) -> Iterator[str]:
    """Yield a caution if data was lost before the capture point, except beside the receiver."""
    again = found.table("retransmissions").where(connection=connection)
    # Octets with negative numbers are left out, because they were sent before the capture began.
    known = again["original_missing"] & ~again["original_late"] & (again["seq"] >= 0)
    again = again.select(known)
    lost = int((~is_beside("receiver", again, found.tables)).sum())
    missed = sum(found.table("habits").where(connection=connection)["uncaptured_bytes"].tolist())
    if lost:
        was = "it was" if lost == 1 else "they were"
        or_missed = ", or missed by the capture, which also lacks other octets" if missed else ""
        yield (
            f"{counted(lost, 'original')} never came to the capture point: {was} lost between the "
            f"sender and the capture{or_missed}. A queue on the sender's own host, such as a "
            "shaper of tc, may have dropped some of them. The capture does not show how long data "
            "waits there, so causes and times of waiting are less certain than they are beside a "
            "sender. "
            "For example, a silence may come from the sender's timer and not from its application."
        )


def dropped_by_host(found: Explained, connection: int | None = None) -> Iterator[str]:
    """Yield a line if the receiving host dropped packets that had come to it."""
    again = found.table("retransmissions").where(connection=connection)
    again = again.select(again["evidence"] == "dropped-by-host")
    if len(again) == 0:
        return
    told = (
        f"{counted(len(again), 'retransmission')} came because the receiving host did not take "
        "earlier transmissions of the same octets, which are in the capture. The host dropped "
        "them, or they were lost behind the capture point."
    )
    if (again["cause"] == "syn").any():
        told += (
            " If the host does not answer a SYN, the queue of the listening program may be full "
            "(on Linux the counter TcpExtListenDrops of nstat grows), or a firewall drops the SYN."
        )
    yield told


def reordering_lines(found: Explained, connection: int | None = None) -> Iterator[str]:
    """Yield lines on the connections whose packets the path reordered, and what reordering cost."""
    from netspurt.analysis.reordered import reorderings

    chosen = [one for one in reorderings(found.tables) if connection in {None, one.connection}]
    for one in chosen[:_LIMITED]:
        yield one.sentence(_named(found, one.connection))
    yield from _others(len(chosen) - _LIMITED)


def hole_lines(found: Explained, connection: int | None = None) -> Iterator[str]:
    """Yield lines on the connections whose path may drop large packets without a report."""
    from netspurt.analysis.black_hole import black_holes

    yield from _limit_lines(found, black_holes(found.tables), connection)


def limit_lines(found: Explained, connection: int | None = None) -> Iterator[str]:
    """Yield lines on limits of connections, such as applications, receive windows or losses."""
    from netspurt.analysis.ceiling import ceilings
    from netspurt.analysis.full_link import full_links
    from netspurt.analysis.held import held_segments
    from netspurt.analysis.let_wait import let_wait
    from netspurt.analysis.long_trips import long_trips
    from netspurt.analysis.nagle import short_segments
    from netspurt.analysis.paced import paced
    from netspurt.analysis.receive_window import slow_readers, window_limits
    from netspurt.analysis.shared_link import shared_links
    from netspurt.analysis.stopped import all_stopped
    from netspurt.analysis.unread import unread

    waited, full = let_wait(found.tables), full_links(found.tables)
    yield from _limit_lines(found, waited, connection)
    told = {one.connection for one in (*waited, *full)}
    stopped = [one for one in all_stopped(found.tables) if one.connection not in told]
    yield from _limit_lines(found, stopped, connection)
    yield from _limit_lines(found, unread(found.tables), connection)
    yield from _limit_lines(found, short_segments(found.tables), connection)
    yield from _limit_lines(found, held_segments(found.tables), connection)
    yield from _limit_lines(found, window_limits(found.tables), connection)
    yield from _limit_lines(found, slow_readers(found.tables), connection)
    yield from _limit_lines(found, full, connection)
    if connection is None:
        yield from (one.sentence() for one in shared_links(found.tables)[:_LIMITED])
    yield from _loss_lines(found, connection)
    yield from _limit_lines(found, paced(found.tables), connection)
    yield from _limit_lines(found, ceilings(found.tables), connection)
    yield from _limit_lines(found, long_trips(found.tables), connection)


def _limit_lines(
    found: Explained, limits: Sequence[Limit], connection: int | None
) -> Iterator[str]:
    """Yield a line on each of the first limited connections, and a line that counts others."""
    chosen = [one for one in limits if connection in {None, one.connection}]
    for one in chosen[:_LIMITED]:
        yield one.sentence(_named(found, one.connection))
    yield from _others(len(chosen) - _LIMITED)


def _others(count: int) -> Iterator[str]:
    """Yield a line which says that the same holds for `count` further connections, if any."""
    if count > 0:
        yield f"The same holds for {counted(count, 'other connection')}."


def _loss_lines(found: Explained, connection: int | None) -> Iterator[str]:
    """Yield lines on the connections whose losses limited the rate."""
    from netspurt.analysis.loss_rate import loss_limits

    limits = loss_limits(found.tables)
    chosen = [one for one in limits if connection in {None, one.connection}]
    for one in chosen[:_LIMITED]:
        who, times = _named(found, one.connection), number(one.cuts)
        trips = "" if one.rtt_seen else " at the handshake"
        yield (
            f"{one.sentence(who)} while it had data to send. It lost data {times} times in "
            f"{counted(one.packets, 'data packet')} (losses within one round trip count once), "
            f"with round trips of {duration(one.rtt_s)}{trips}. For these losses and round trips "
            f"the formula of Mathis et al. (1997) gives {rate(one.formula_bps)}. "
            f"{_what_helps(one)}"
        )
        if not one.rtt_seen:
            yield (
                "Beside the receiver later round trips are not seen. If they were longer because "
                "of a full queue, the queue limited the rate."
            )
        if told := one.policer_sentence():
            yield told
        if one.is_delay_varied:
            yield (
                "Round trips varied, but they were not longer before losses, and the rate varied "
                "between losses. So the delay of the path varied, and most likely this connection "
                "did not fill a queue. If other connections filled one, this queue dropped the "
                "data."
            )
    # The sentences on policers and delays need not hold for the other connections.
    if (others := len(chosen) - _LIMITED) > 0:
        yield f"Losses also limited, or may have limited, {counted(others, 'other connection')}."
    if any(not one.is_window_near for one in chosen):
        yield (
            "The formula holds for congestion control that makes cwnd smaller at each loss, as "
            "Reno and CUBIC do. Other congestion control, such as BBR, may be faster on this path."
        )


def _what_helps(one: LossLimit) -> str:
    """Return what would double the rate of a connection, or the rate that its window allows."""
    if told := one.window_sentence():
        return told
    needs = (
        "The rate doubles with a quarter of the losses, or with half the round trip, unless the "
        "link is full before that"
    )
    if one.window_bps is None:
        return f"{needs}. The receive window must allow it; the capture does not show the window."
    return f"{needs}."


def _longest(found: Explained) -> Iterator[str]:
    """Yield the longest connections, each with the largest part of its time."""
    spent = with_both_directions(found.tables)
    whole = whole_s(spent)
    lasted = int((whole > 0).sum())
    if lasted < 2:
        return
    order = np.argsort(-whole, kind="stable")[: min(lasted, _WORST)]
    told = largest_parts(spent.take(order))
    table = found.table("connections")
    yield ""
    more = f" ({_WORST} of {number(lasted)})" if lasted > _WORST else ""
    yield f"Longest connections first{more}:"
    for (connection, (name, share)), lasted_s in zip(told.items(), whole[order], strict=True):
        octets = int(table.where(connection=connection)["unique_bytes"].sum())
        yield (
            f"  {_named(found, connection)}: {duration(float(lasted_s))}, mostly "
            f"{BRIEFLY[name]} {share:.0%}; {counted(octets, 'octet')}"
        )


def _worst(found: Explained) -> Iterator[str]:
    """Yield the connections that lost the most time to timeouts and to the repair of losses."""
    spent = found.table("spent")
    lost = spent.seconds("timeout_ns") + spent.seconds("repair_ns")
    order = np.argsort(-lost, kind="stable")[:_WORST]
    order = order[lost[order] > 0]
    if len(order) == 0:
        return
    yield ""
    yield "Worst first:"
    again = found.table("retransmissions")
    for place in order.tolist():
        connection = int(spent["connection"][place])
        parts = [float(spent.seconds(f"{name}_ns")[place]) for name in ("timeout", "repair")]
        silent, repair = (duration(part) for part in parts)
        count = counted(len(again.where(connection=connection)), "retransmission")
        who = _named(found, connection)
        yield f"  {who}: {silent} in silence before timers, {repair} in repair; {count}"
    path, connection = found.place_of(int(spent["connection"][order[0]]))
    # A joined capture has several files, and the command must name all of them.
    joined = [] if found.files or len(found.paths) < 2 else found.paths
    files = " ".join(named(shlex.quote(file)) for file in joined or [path])
    yield f"See: netspurt explain {'--as-one ' * bool(joined)}{files} --connection {connection}"


def _named(found: Explained, connection: int) -> str:
    """Return the name of a connection, with its file if there are several files."""
    path, own = found.place_of(connection)
    return f"connection {own} of {named(path)}" if found.files else f"connection {own}"
