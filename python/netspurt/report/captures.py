"""The section of a capture: words, tables of directions, pictures of its connections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.seen import busiest, vantages, with_both_directions
from netspurt.analysis.spent import BRIEFLY, largest_parts
from netspurt.captures import CaptureError, Explained, end_of
from netspurt.causes import TIMERS, begun, believed, tallied
from netspurt.report.findings import finding, shares
from netspurt.report.flows import ROOM, TITLES, FlowDirection, Found, Room, flows_of
from netspurt.report.parts import MOST_ROWS, Group, Link, Part, Place, Rows, Section, Side
from netspurt.report.repairs import Drawn
from netspurt.report.words import instant, span
from netspurt.table import Table
from netspurt.wording import NOT_TCP, counted, number, plain, rate

#: The kinds of pictures of a capture.
_KINDS = ("time-sequence", "rto", "outstanding", "throughput")

#: The headings of a capture's pictures. No capture shows the sender's own timer.
_TITLES = TITLES | {"rto": "Round trip, and the RTO that Linux would compute from it"}


def capture_section(
    found: Explained,
    name: str,
    lines: Sequence[str] = (),
    room: Room = ROOM,
) -> Section:
    """Return the section of a capture.

    Parameters
    ----------
    found
        The capture, explained with its segments.
    name
        The name of the capture on the page.
    lines
        The lines that `netspurt explain` prints of the capture.
    room
        The limits of the pictures.

    Raises
    ------
    CaptureError
        If the capture has no packets of TCP.
    """
    part, flows = capture_part(found, name, lines, room)
    groups = (Group([Side(name, flows.flows)]),) if flows.flows else ()
    return Section(plain(found.title), [part], groups=groups)


def capture_part(
    found: Explained,
    name: str,
    lines: Sequence[str],
    room: Room,
    side: int = 0,
) -> tuple[Part, Found]:
    """Return the part for a capture, and its flows.

    `side` is the index of the capture in a comparison.
    """
    if found.tcp == 0:
        problem = f"{plain(found.path)}: the capture has no packets of TCP to report"
        raise CaptureError(f"{problem}. {NOT_TCP}" if found.other else problem)
    flows = flows_of(found, _KINDS, room, _TITLES, _waited_s(found))
    drawn = Drawn({flow.name for flow in flows.flows}, side)
    tables = [_spurious(found, drawn), _missed(found, drawn)]
    told = undrawn_part(found, name, lines)
    return replace(told, places=tables, notes=[*told.notes, *flows.notes]), flows


def undrawn_part(found: Explained, name: str, lines: Sequence[str]) -> Part:
    """Return the words and the table of directions of a capture.

    The capture may have been explained without its segments.
    """
    return Part(
        name=name,
        answer=finding(found, lines),
        words=[*_missing_end(found), *shares(lines)],
        lines=[plain(line) for line in lines],
        tables=[_directions(found)],
        notes=[
            *(f"{note}." for note in found.notes),
            *_cut(found),
            *_not_seen(found),
            *_later(found),
        ],
        links=[Link("the capture", path) for path in found.sources],
    )


def _missing_end(found: Explained) -> Iterator[str]:
    """Yield a sentence on a file that was not read to its end."""
    if found.fault:
        yield f"Not read to the end: {found.fault}. The page shows what was read before."


def _cut(found: Explained) -> Iterator[str]:
    """Yield a sentence on what the snap length cut from packets, and on the consequences."""
    connections = found.table("connections")
    cut, data = (int(connections[name].sum()) for name in ("cut_packets", "data_packets"))
    if cut:
        yield (
            f"The snap length of the capture cut {number(cut)} of {counted(data, 'data packet')}. "
            "Lengths come from headers, so all figures count whole packets. Only the octets that "
            "were cut are not known."
        )


def _not_seen(found: Explained) -> Iterator[str]:
    """Yield a sentence on the round trips that a capture beside receivers does not show."""
    if "receiver" in vantages(found.tables).values():
        yield (
            "The round trips of directions that were captured beside their receiver are not seen: "
            "the capture shows only how long the receiver took to answer."
        )


def _later(found: Explained) -> Iterator[str]:
    """Yield a sentence that says what the time of timers and repair contains and leaves out."""
    if len(found.table("retransmissions")):
        yield (
            "The time of timers and repair is the silence before timers fired, and the time by "
            "which repairs delayed new data. If cwnd is smaller after a loss, the time that this "
            "costs later is not included."
        )


def _waited_s(found: Explained) -> dict[str, float]:
    """Return the time that each connection waited for timers and repair [s].

    The keys are the names of the flows. A connection is left out if only one of its directions was
    captured.
    """
    spent = with_both_directions(found.tables)
    lost = spent.seconds("timeout_ns") + spent.seconds("repair_ns")
    names = (f"c{number}" for number in spent["connection"].tolist())
    return dict(zip(names, lost.tolist(), strict=True))


def _directions(found: Explained) -> Rows:
    """Return the table of the directions with data.

    The connections that waited longest for timers and repair are first. Directions with equal waits
    are sorted by their retransmissions, and then by their data, the most first.
    """
    connections, again = found.table("connections"), found.table("retransmissions")
    waited_s = _waited_s(found)
    every = [row for row in connections.records() if row["data_packets"]]
    every.sort(
        key=lambda row: (
            -waited_s.get(f"c{row['connection']}", 0.0),
            -int(row["retransmissions"]),
            -int(row["unique_bytes"]),
        )
    )
    where, waited, mostly = vantages(found.tables), _waited_by_direction(found), _mostly(found)
    rows = [
        _cells(
            row,
            again,
            (waited.get((row["connection"], row["direction"]), "-"), mostly[row["connection"]]),
            beside=where.get((row["connection"], row["direction"])) == "receiver",
        )
        for row in every[:MOST_ROWS]
    ]
    head = (
        *("flow", "direction", "timers and repair", "mostly waited for"),
        *("retransmitted", "spurious"),
        *("causes", "throughput", "mean RTT", "data packets", "octets", "from, to"),
    )
    several = len({row["connection"] for row in every}) > 1
    order = " The connections that waited longest for timers and repair are first." * several
    return Rows(
        f"Directions with data: {len(every):,}.{order}",
        head,
        rows,
        (2, 4, 5, 7, 8, 9, 10),
        more=len(every) - len(rows),
        elsewhere=_ALL,
    )


def _waited_by_direction(found: Explained) -> dict[tuple[int, str], str]:
    """Return the time of waiting for timers and repair, for the directions that retransmitted.

    The time is known for a connection, but not for its directions. If both directions
    retransmitted, the text says `(both)`. If no direction is known to have retransmitted, the
    direction with the most data gets the time.
    """
    again, lost = found.table("retransmissions"), _waited_s(found)
    ways = set(zip(again["connection"].tolist(), again["direction"].tolist(), strict=True))
    told = {}
    for connection, direction in ways:
        lost_s = lost.get(f"c{connection}")
        both = (connection, "forward") in ways and (connection, "reverse") in ways
        if lost_s:
            told[connection, direction] = span(lost_s) + " (both)" * both
    return _of_busiest(found, lost) | told


def _of_busiest(found: Explained, lost: Mapping[str, float]) -> dict[tuple[int, str], str]:
    """Return the wait of each connection without known retransmissions.

    The key is the connection's busiest direction.
    """
    again = set(found.table("retransmissions")["connection"].tolist())
    return {
        (connection, direction): span(lost_s)
        for connection, direction in busiest(found.tables).items()
        if connection not in again and (lost_s := lost.get(f"c{connection}", 0.0))
    }


def _mostly(found: Explained) -> dict[int, str]:
    """Return, for each connection, what took the largest part of its time, and the share of it."""
    told = largest_parts(with_both_directions(found.tables))
    of = {connection: f"{BRIEFLY[name]} {share:.0%}" for connection, (name, share) in told.items()}
    return defaultdict(lambda: "not known", of)


def _cells(
    row: dict[str, Any], again: Table, waited: tuple[str, str], *, beside: bool
) -> tuple[str, ...]:
    """Return the cells of a direction.

    `waited` has the time of waiting for timers and repair, and what the direction's connection
    mostly waited for. `beside` is true if the direction was captured beside its receiver.
    """
    own = again.where(connection=row["connection"], direction=row["direction"])
    told = tallied(own["cause"].tolist(), likeliest=False)
    throughput, rtt = row["throughput_bps"], row["rtt_ns_mean"]
    return (
        *(f"c{row['connection']}", row["direction"]),
        *waited,
        *(number(len(own)), number((own["verdict"] == "spurious").sum()), told or "-"),
        "-" if throughput is None else rate(throughput),
        _round_trip(rtt, beside=beside),
        *(number(row["data_packets"]), number(row["unique_bytes"])),
        f"{end_of(row, 'source')} to {end_of(row, 'destination')}",
    )


def _round_trip(mean_ns: float | None, *, beside: bool) -> str:
    """Return a mean round trip as text.

    If there is no mean, the text is `no samples`. If the mean is zero, or if the direction was
    captured beside its receiver, the text is `not seen`.
    """
    if mean_ns is None:
        return "no samples"
    return "not seen" if beside or mean_ns == 0 else span(mean_ns / 1e9)


#: A sentence that says where all rows of a capture's tables are.
_ALL = "`netspurt explain --csv` prints all rows."

_HEAD = ("time", "flow", "first octet", "octets", "cause", "verdict", "evidence", "after")


def _spurious(found: Explained, drawn: Drawn) -> Rows:
    """Return the table of the retransmissions that the capture shows to be spurious."""
    again = found.table("retransmissions")
    return _table(
        found,
        again.select(again["verdict"] == "spurious"),
        drawn,
        ("Spurious retransmissions", "No retransmission is known to be spurious."),
    )


def _missed(found: Explained, drawn: Drawn) -> Rows:
    """Return the table of retransmissions that waited for a timer and are not known as spurious."""
    again = found.table("retransmissions")
    late = _by_timer(again)
    needed = late & (again["verdict"] != "spurious")
    none = "No loss is known to have waited for a timeout. A capture does not show what was lost "
    none += "and never retransmitted."
    if late.any() and not needed.any():
        none = "All retransmissions of repairs that began with a timeout are known to be spurious: "
        none += "the table of spurious retransmissions lists them."
    told = ("Losses repaired after a timeout", none)
    return _table(found, again.select(needed), drawn, told)


def _by_timer(again: Table) -> NDArray[np.bool_]:
    """Return, for each retransmission, whether a timer began the repair that it belongs to."""
    late = np.zeros(len(again), dtype=np.bool_)
    names = zip(again["connection"].tolist(), again["direction"].tolist(), strict=True)
    own: dict[tuple[int, str], list[int]] = {}
    for row, name in enumerate(names):
        own.setdefault(name, []).append(row)
    for rows in own.values():
        rows.sort(key=again["t_ns"].__getitem__)
        late[rows] = np.isin(begun(again["cause"][rows].tolist()), TIMERS)
    return late


def _table(found: Explained, again: Table, drawn: Drawn, told: tuple[str, str]) -> Rows:
    """Return a table of retransmissions in the order of time.

    `told` has the caption of the table, and the text for a table without rows. If the page has
    pictures of a row's direction, the row links to a place in these pictures.
    """
    rows, times = [], []
    places: list[Place | None] = []
    for row in again.records():
        direction = FlowDirection(f"c{row['connection']}", row["direction"])
        t = (row["t_ns"] - found.start_ns) / 1e9
        octets = (number(row["seq"]), number(row["len_bytes"]))
        evidence = "original missing" if row["original_missing"] else row["evidence"]
        since_ns = row["gap_ns"]
        gap = "-" if since_ns is None else span(since_ns / 1e9)
        both = (believed(row, "cause"), believed(row, "verdict"))
        rows.append((instant(t), direction.name, *octets, *both, evidence, gap))
        middle = row["seq"] + row["len_bytes"] / 2
        places.append(drawn.place(direction, t, middle))
        times.append(t)
    order = sorted(range(len(rows)), key=times.__getitem__)
    shown = order[:MOST_ROWS]
    return Rows(
        f"{told[0]}: {len(rows):,}",
        _HEAD,
        [rows[n] for n in shown],
        (0, 2, 3, 7),
        [places[n] for n in shown],
        len(order) - len(shown),
        told[1],
        elsewhere=_ALL.replace("--csv", "--json"),
    )
