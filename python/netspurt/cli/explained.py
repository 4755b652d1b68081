"""The output of `netspurt explain` for a capture: lines, JSON and files of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.directions import keys, opposite, rows_of
from netspurt.captures import end_of
from netspurt.causes import SEEN_IN_ACKS, believed
from netspurt.cli.common import of_files
from netspurt.cli.opening import there
from netspurt.cli.output import columns, named
from netspurt.cli.pooled import (
    ALIKE,
    dropped_by_host,
    hole_lines,
    limit_lines,
    lost_before,
    pooled_lines,
    reordering_lines,
    time_line,
)
from netspurt.cli.remedy_lines import remedy_lines
from netspurt.wording import counted, duration, number, rate, without_tcp

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.table import Table


def document(found: Explained, connection: int | None) -> dict[str, Any]:
    """Return as data for JSON the results for a capture, or for one of its connections.

    The rows of tables are iterators, so that they are not in memory at the same time.

    Raises
    ------
    ValueError
        If there is no connection of that number.
    """
    if connection is not None:
        _check_number(found, connection, np.unique(found.table("connections")["connection"]))
    tables = {
        name: _chosen(found.table(name), connection) for name in ("connections", "retransmissions")
    }
    return {
        "file": found.path,
        "packets": found.packets,
        "tcp_packets": found.tcp,
        "packets_without_ip": found.no_ip,
        "fragments": found.fragments,
        "other_packets": found.other,
        "start_ns": found.start_ns,
        "fault": found.fault,
        "notes": list(found.notes),
        **{name: _rows(table) for name, table in tables.items()},
    }


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as dictionaries. Only some rows are in memory at a time."""
    for part in _parts(table, _BLOCK, table.copied) if len(table) > _BLOCK else [table]:
        for together in _parts(part, _TOGETHER, part.take):
            yield from together.records()


def _parts(table: Table, most: int, take: Callable[[NDArray[np.intp]], Table]) -> Iterator[Table]:
    """Yield the rows of a table in parts of at most `most` rows."""
    for first in range(0, len(table), most):
        yield take(np.arange(first, min(first + most, len(table))))


#: The number of rows that are in memory as Python values at a time.
_TOGETHER = 1000
#: The number of rows whose columns are in memory as arrays at a time.
_BLOCK = 4096


def write_tables(found: Explained, path: Path) -> None:
    """Write the connections to `path`, and the retransmissions beside it.

    Raises
    ------
    ValueError
        If a folder or the capture itself is at one of the paths.
    """
    # This import loads OpenSSL and so takes 5 MB. Only this output needs the import.
    from netspurt.stored import discard

    beside = path.with_name(f"{path.stem}.retransmissions{path.suffix}")
    for file in (path, beside):
        if file.exists() and not file.is_file():
            raise ValueError(f"--parquet {file} exists and is not a file: name another file")
        if any(file.exists() and file.samefile(source) for source in found.sources):
            raise ValueError(f"--parquet {file} would replace the capture; name another file")
    for name, file in {"connections": path, "retransmissions": beside}.items():
        part = file.with_name(f"{file.name}.part")
        try:
            found.write(name, part)
            part.replace(file)
        finally:
            discard(part)


def _check_number(found: Explained, connection: int, numbers: NDArray[np.int64]) -> None:
    """Check that a connection has the number `connection`; `numbers` has all numbers.

    Raises
    ------
    ValueError
        If there is no connection of that number.
    """
    if connection not in numbers:
        problem = f"no connection has the number {connection}"
        raise ValueError(f"{found.path}: {problem}; {there('', len(numbers))}")


def _chosen(table: Table, connection: int | None) -> Table:
    return table if connection is None else table.where(connection=connection)


def lines(
    found: Explained,
    connection: int | None,
    *,
    few: int,
    room: int | None = None,
    own_room: int | None = None,
) -> Iterator[str]:
    """Yield the results for a capture in words.

    Parameters
    ----------
    found, connection
        The capture, and the number of the connection to print. `None` prints all of them.
    few
        The maximum number of connections for which each connection gets tables of its own.
    room
        The maximum width of tables, if their words allow it. `None` sets no limit.
    own_room
        The maximum width of the tables of single connections, if `connection` is `None`. The
        default is `room`.

    Raises
    ------
    ValueError
        If there is no connection of that number.
    """
    table = found.table("connections")
    numbers, first_rows = np.unique(table["connection"], return_index=True)
    if connection is not None:
        _check_number(found, connection, numbers)
        yield from _connection(found, connection, room)
        yield from lost_before(found, connection)
        yield from dropped_by_host(found, connection)
        yield from hole_lines(found, connection)
        yield ""
        yield time_line(found, connection)
        yield from limit_lines(found, connection)
        yield from reordering_lines(found, connection)
        names = ("connections", "waits", "floors", "habits", "spent", "retransmissions")
        own = {name: _chosen(found.table(name), connection) for name in names}
        yield from remedy_lines(own, found.tables)
        yield from _retransmissions(found, connection, room)
        return
    if len(numbers) > few:
        yield from pooled(found, room)
        return
    yield from _packets(found)
    if len(numbers):
        yield ""
        yield from pooled_lines(found, room)
    for one in numbers[np.argsort(first_rows)].tolist():
        yield ""
        yield from _connection(found, one, own_room or room)


def pooled(found: Explained, room: int | None = None) -> Iterator[str]:
    """Yield the results for all connections together. Tables should be at most `room` wide."""
    yield from _packets(found)
    yield from _summary(found, len(np.unique(found.table("connections")["connection"])))
    yield from of_files(found)
    yield ""
    yield from pooled_lines(found, room)


def _packets(found: Explained) -> Iterator[str]:
    """Yield lines on the packets of a capture, and on the limits of the results."""
    parts = [f"{named(found.path)}: {counted(found.packets, 'packet')}, {number(found.tcp)} of TCP"]
    others = {"fragment": found.fragments, "other": found.other}
    parts += [f"{number(found.no_ip)} without IP"] if found.no_ip else []
    parts += [counted(many, what) for what, many in others.items() if many]
    yield ", ".join(parts)
    for note in found.notes:
        yield f"Note: {note}."
    yield from _offloaded(found.table("connections"))
    yield from _unanswerable(found)


def _offloaded(connections: Table) -> Iterator[str]:
    """Yield a line if captured packets hold several segments: more data than the peer's MSS."""
    own = keys(connections)
    other = rows_of(opposite(own), own)
    most, offered = (connections.filled(name, 0) for name in ("segment_bytes_max", "mss_bytes"))
    mss = offered[other]
    joined = (other >= 0) & (mss > 0) & (most > mss)
    if joined.any():
        segments = -(-most[joined] // mss[joined])
        yield (
            f"Note: captured packets of {counted(len(segments), 'direction')} hold up to "
            f"{segments.max()} segments each, because the network card or its driver divides or "
            "joins segments (offload). The counts are counts of captured packets."
        )


def _unanswerable(found: Explained) -> Iterator[str]:
    """Yield lines on what the capture cannot answer.

    The lines say that the capture has no TCP, has many segments twice, or shows connections in one
    direction only.
    """
    if found.tcp == 0:
        yield from without_tcp(found.other)
        return
    table = found.table("connections")
    yield from _copies(found, int(table["data_packets"].sum()))
    silent = len(np.unique(table["connection"][table["packets"] == 0]))
    every = len(np.unique(table["connection"]))
    if silent:
        who = "The only connection was" if every == 1 else f"{number(silent)} of {number(every)} "
        who += "" if every == 1 else f"connections {'was' if silent == 1 else 'were'}"
        yield (
            f"{who} captured in one direction only. One direction does not show round trips, why "
            "a segment was retransmitted, or whether this was needed. netspurt recognises only "
            "timeouts whose waits double. Capture where both directions pass."
        )


def _copies(found: Explained, data_packets: int) -> Iterator[str]:
    """Yield the number of segments that were captured twice, if there are many."""
    copies = int(found.table("habits")["copied_packets"].sum())
    if copies >= _MANY and copies >= _COPIED * data_packets:
        yield (
            f"{counted(copies, 'segment')} came twice, as in a capture on all interfaces of a "
            "router or bridge. Copies count as packets, but they have no cause and no verdict."
        )


#: Copies are reported if there are at least `_MANY` of them, and if they are at least the share
#: `_COPIED` of the packets with data.
_MANY, _COPIED = 3, 0.1


def _summary(found: Explained, connections: int) -> Iterator[str]:
    """Yield lines with sums over all connections."""
    table, again = found.table("connections"), found.table("retransmissions")
    with_data = int((table["data_packets"] > 0).sum())
    yield f"{counted(connections, 'connection')}, {counted(with_data, 'direction')} with data"
    share = len(again) / max(1, table["data_packets"].sum())
    yield (
        f"{number(int(table['unique_bytes'].sum()))} octets of data; "
        f"{counted(len(again), 'retransmission')} ({share:.2%} of data packets)"
    )
    others = int(table["retransmissions"].sum()) - len(again)
    if others > 0:
        yield (
            f"{counted(others, 'other packet')} with octets seen before: out of order, or copies "
            "by the network or by the capture"
        )


def _time(ns: float | None) -> str:
    if ns is None:
        return "-"
    return duration(ns / 1e9)


def _octets(value: float | None) -> str:
    return "-" if value is None else f"{number(round(value))} B"


def _three(row: dict[str, Any], stem: str, word: Any) -> str:
    values = [word(row[f"{stem}_{what}"]) for what in ("min", "mean", "max")]
    return "-" if values[0] == "-" and values[2] == "-" else " / ".join(values)


def _round_trips(row: dict[str, Any]) -> str:
    """Return the round trips. A capture beside the receiver shows only the receiver's part."""
    if row["rtt_ns_max"] == 0:
        return "not seen beside the receiver"
    return _three(row, "rtt_ns", _time)


#: The lines for each direction: a label, and a function from a row to a text.
_TOLD: Sequence[tuple[str, Any]] = (
    ("packets", lambda r: number(r["packets"])),
    ("data packets", lambda r: number(r["data_packets"])),
    ("data", lambda r: _octets(r["unique_bytes"])),
    ("retransmissions", lambda r: number(r["retransmissions"])),
    ("retransmitted", lambda r: _octets(r["retransmitted_bytes"])),
    ("came after later octets", lambda r: number(r["out_of_order"])),
    ("same IP identification", lambda r: number(r["hardware_duplicates"])),
    ("duplicate ACKs", lambda r: number(r["duplicate_acks"])),
    ("largest segment", lambda r: _octets(r["segment_bytes_max"])),
    ("MSS offered", lambda r: _octets(r["mss_bytes"])),
    ("RTT of the handshake", lambda r: _time(r["handshake_rtt_ns"])),
    ("RTT of the newest segment, min / mean / max", _round_trips),
    ("RTT samples", lambda r: number(r["rtt_samples"])),
    ("most octets outstanding", lambda r: _octets(r["outstanding_bytes_max"])),
    ("initial window", lambda r: _octets(r["initial_window_bytes"])),
    (
        "advertised window, least above 0 / mean / most",
        lambda r: _three(r, "window_bytes", _octets),
    ),
    ("zero windows", lambda r: number(r["zero_windows"])),
    ("window probes", lambda r: number(r["window_probes"])),
    ("longest idle", lambda r: _time(r["idle_ns_max"])),
    ("not captured", lambda r: _octets(r["missing_bytes"])),
    ("throughput", lambda r: "-" if r["throughput_bps"] is None else rate(r["throughput_bps"])),
)


def _connection(found: Explained, connection: int, room: int | None) -> Iterator[str]:
    """Yield the results for a connection, with its directions side by side."""
    rows = list(_rows(_chosen(found.table("connections"), connection)))
    # If the SYN or the FIN was not captured, only the ACKs show that the capture lacks octets.
    habits = _chosen(found.table("habits"), connection)
    acked = {row["direction"]: row["uncaptured_bytes"] for row in habits.each()}
    for row in rows:
        row["missing_bytes"] = row["missing_bytes"] or acked.get(row["direction"])
    first = rows[0] if rows[0]["direction"] == "forward" else _with_ends_exchanged(rows[0])
    yield (
        f"connection {connection}: {end_of(first, 'source')} -> {end_of(first, 'destination')}, "
        f"{first['ending']}, {_time(first['duration_ns'])}"
    )
    if any(row["packets"] == 0 for row in rows):
        # The initial window and the outstanding octets follow from ACKs, which are missing here.
        unknown = {"initial_window_bytes": None, "outstanding_bytes_max": None}
        rows = [{**row, **unknown} for row in rows]
    table = [("", *(row["direction"] for row in rows))]
    table += [(words, *(text(row) for row in rows)) for words, text in _TOLD]
    kept = [row for row in table if not all(cell in {"0", "-", "0 B"} for cell in row[1:])]
    room = None if room is None else room - 2
    for line in columns(kept, range(1, len(rows) + 1), room):
        yield f"  {line}"


def _with_ends_exchanged(row: dict[str, Any]) -> dict[str, Any]:
    ends = ("source", "source_port"), ("destination", "destination_port")
    turned = {
        a: row[b] for one, other in (ends, ends[::-1]) for a, b in zip(one, other, strict=True)
    }
    return {**row, **turned}


def _retransmissions(found: Explained, connection: int, room: int | None) -> Iterator[str]:
    """Yield the retransmissions of a connection, each with its cause, verdict and evidence.

    The verdict says whether the retransmission was needed or spurious.
    """
    table = _chosen(found.table("retransmissions"), connection)
    yield ""
    if len(table) == 0:
        yield "No retransmissions were captured."
        return
    start = found.start_ns
    rows = [("time", "direction", "octet", "length", "after", "cause", "verdict", "evidence")]
    rows += [
        (
            f"{(row['t_ns'] - start) / 1e9:.6f}",
            row["direction"],
            str(row["seq"]),
            str(row["len_bytes"]),
            _time(row["gap_ns"]),
            believed(row, "cause"),
            believed(row, "verdict"),
            "original missing" if row["original_missing"] else row["evidence"],
        )
        for row in _rows(table)
    ]
    yield (
        "Retransmissions (time: seconds from the first packet; octet: counted from the SYN; after: "
        "time since the octets were last sent):"
    )
    yield from columns(rows, (0, 2, 3, 4), room)
    if {*table["cause"].tolist()} & {*SEEN_IN_ACKS}:
        yield f"{ALIKE} --json names the most likely cause."
