"""Reads connections to sites from folders of `netspurt poll`, captures, runs and tables."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.idle import IN_WORDS, Packets, longest_idle, reaction_s
from netspurt.analysis.receive_window import window_shift
from netspurt.analysis.sites import Connections
from netspurt.captures import Explained, explain, is_capture
from netspurt.run import Run, open_run
from netspurt.table import Table
from netspurt.wording import unknown_name

Row = dict[str, Any]

#: The columns that a table may have, in addition to `site`.
COLUMNS = tuple(column.name for column in fields(Connections))[1:]


class SourceError(ValueError):
    """A file or a folder has no connections, or they cannot be read."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"{place}: {why}")
        self.place = place


class NoConnectionsError(SourceError):
    """A file or a folder was read, and has no connections."""

    def __init__(self, place: str) -> None:
        super().__init__(place, "no connections")


def read_connections(path: Path, notes: list[str] | None = None) -> Connections:
    """Return the connections of a folder of `netspurt poll`, a run's folder, a capture or a table.

    A row of a poll is a fetch. Its start, throughput, handshake and ping come from
    `fetches.jsonl`, and its other values from its capture. A row of a run is a flow, and its site
    is the node that sends the most data. A row of a capture is a connection, and its site is the
    address that sends the most data. A table is CSV or JSON lines, with the column `site` and any
    of `COLUMNS`.

    Parameters
    ----------
    path
        The folder or file.
    notes
        A list that gets a message if the reading of a capture stopped early: where and why.

    Raises
    ------
    SourceError
        If there are no connections, or a row cannot be read.
    OSError
        If a file cannot be read.
    """
    notes = [] if notes is None else notes
    if path.is_dir() and (path / "fetches.jsonl").exists():
        return _connections(list(_fetches(path, notes)), str(path))
    if path.is_dir() and (path / "run.json").exists():
        return of_run(open_run(path))
    if path.is_dir():
        raise SourceError(
            str(path),
            "neither a folder of `netspurt poll` nor one of a run: name such a folder, captures "
            f"(for example {path / '*.pcap'}) or a table",
        )
    if is_capture(path):
        return _connections(list(_captured(explain(path, segments=True), notes)), str(path))
    return _connections(list(_table(path)), str(path))


def _connections(rows: list[Row], place: str) -> Connections:
    if not rows:
        raise NoConnectionsError(place)
    columns: dict[str, Any] = {
        name: [row.get(name, "" if name == "idle_for" else np.nan) for row in rows]
        for name in COLUMNS
    }
    return Connections.of([row["site"] for row in rows], **columns)


def _table(path: Path) -> Iterator[Row]:
    # Some programs begin a text with a byte-order mark. The encoding `utf-8-sig` leaves it out.
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix == ".csv":
            rows: Iterator[Mapping[str, Any]] = csv.DictReader(file)
        else:
            rows = _objects(file, str(path))
        try:
            for number, row in enumerate(rows, 2 if path.suffix == ".csv" else 1):
                yield _figures(row, f"{path}:{number}")
        except (UnicodeDecodeError, csv.Error):
            why = "neither a capture nor a table: give a capture, or CSV or JSON lines in UTF-8"
            raise SourceError(str(path), why) from None


def _objects(lines: Any, place: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise SourceError(f"{place}:{number}", "not an object of JSON, or not complete")
        yield row


def _figures(row: Mapping[str, Any], place: str) -> Row:
    unknown = [str(name) for name in row if name not in ("site", *COLUMNS)]
    if unknown or not row.get("site"):
        why = f"unknown column {unknown[0]!r}" if unknown else "no site"
        raise SourceError(place, f"{why}: a row has site and any of {', '.join(COLUMNS)}")
    figures: Row = {}
    for name, value in row.items():
        if name in ("site", "idle_for"):
            figures[name] = str(value or "")
            continue
        try:
            figures[name] = np.nan if value in ("", None) else float(value)
        except (TypeError, ValueError):
            raise SourceError(place, f"{name} = {value!r} is not a number") from None
        # Only the instant at which a connection began may be negative.
        if np.isinf(figures[name]) or (figures[name] < 0 and name != "began_s"):
            raise SourceError(place, f"{name} = {value!r}: write a number of 0 or more")
    cause = figures.get("idle_for")
    if cause and cause not in IN_WORDS:
        raise SourceError(place, unknown_name("cause", cause, IN_WORDS, where="in idle_for"))
    return figures


def _fetches(folder: Path, notes: list[str]) -> Iterator[Row]:
    """Yield the connection of each fetch that succeeded."""
    with (folder / "fetches.jsonl").open(encoding="utf-8") as file:
        for number, row in enumerate(_objects(file, str(folder / "fetches.jsonl")), 1):
            if "failed" in row:
                continue
            try:
                yield _fetch(row) | _later(folder, row, notes)
            except (KeyError, TypeError) as error:
                place = f"{folder / 'fetches.jsonl'}:{number}"
                raise SourceError(place, f"not a fetch of `netspurt poll`: {error}") from None


def _fetch(row: Mapping[str, Any]) -> Row:
    total = float(row["total_s"])
    return {
        "site": str(row["site"]),
        "began_s": float(row["at_unix"]),
        "throughput_bps": 8 * float(row["octets"]) / total if total > 0 else np.nan,
        "handshake_s": _number(row.get("tcp_rtt_s")),
        "ping_s": _number(row.get("ping_rtt_s")),
    }


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _later(folder: Path, row: Mapping[str, Any], notes: list[str]) -> Row:
    """Return the values of a fetch that come from its capture, if it has a capture."""
    name = row.get("capture")
    if not name or not (folder / name).exists():
        return {}
    for figures in _captured(explain(folder / name, segments=True), notes):
        if figures["near_port"] == row.get("local_port"):
            kept = ("packets", "retransmissions", "rtt_mean_s", "rtt_max_s", "idle_s", "idle_for")
            return {key: figures[key] for key in kept if key in figures}
    return {}


#: The columns of a capture's table `connections` that are used.
_OF_CONNECTIONS = (
    *("connection", "direction", "source", "destination_port", "t_ns", "data_bytes"),
    *("data_packets", "retransmissions", "throughput_bps"),
)


def _captured(found: Explained, notes: list[str]) -> Iterator[Row]:
    """Yield a row for each connection with data in a capture."""
    if found.fault is not None:
        notes.append(f"{found.path}: {found.fault}")
    # The row of the end that sent the most data, for each connection with data.
    most: dict[int, Row] = {}
    for row in found.table("connections").records(_OF_CONNECTIONS):
        known = most.get(row["connection"])
        if row["data_bytes"] > (known["data_bytes"] if known else 0):
            most[row["connection"]] = row
    everything = packets_by_flow(found)
    for connection, far in sorted(most.items()):
        flow = f"c{connection}"
        if flow in everything:
            yield _far_end(far, everything[flow], found.table("rtt").where(flow=flow))


def _far_end(far: Row, packets: Packets, samples: Table) -> Row:
    """Return a row with the values of the end that sent the most data in a connection.

    The point of the capture divides the handshake's round trip into two parts. Round trips are
    measured in the direction with the longer part, because that part covers most of the path.
    """
    figures = _seen(packets, forward=far["direction"] == "forward") | {
        "site": far["source"],
        "near_port": far["destination_port"],
        "began_s": far["t_ns"] / 1e9,
        "packets": float(far["data_packets"]),
        "retransmissions": float(far["retransmissions"]),
        "throughput_bps": _number(far["throughput_bps"]),
    }
    # A sample ends when the ACK of the other end passes the capture point. In the handshake, the
    # end on the longer part of the path answers later, as seen from the capture point.
    near = reaction_s(packets, forward=False) >= reaction_s(packets, forward=True)
    opened = packets.t_s[packets.syn][-1] if packets.syn.any() else -1.0
    own = samples.where(direction="forward" if near else "reverse")
    later = own.seconds("rtt_ns")[own.seconds("sent_ns") > opened]
    if len(later):
        figures |= {"rtt_mean_s": float(later.mean()), "rtt_max_s": float(later.max())}
    return figures


def of_run(run: Run) -> Connections:
    """Return a row for each flow of a run; the site of a flow is the node that sends the most data.

    For the site, only data that was delivered counts.

    The numbers of packets, retransmissions, timeouts and octets come from the table `flows`. Three
    values come from the packets that were recorded at the node that receives the most data: the
    handshake, the longest idle time, and the duration from which the throughput is computed. If no
    packets were recorded there, these three values come from another node with recorded packets:
    the first in the order of names. Without recorded packets, these values are not known. The mean
    and the longest round trip come from the sender's samples.

    Raises
    ------
    SourceError
        If the run has no flow that carried data.
    """
    flows = run.flows
    rows = []
    for name in dict.fromkeys(flows["flow"].tolist()):
        own = flows.where(flow=name)
        busier = int(np.argmax(own["delivered_bytes"]))
        if own["delivered_bytes"][busier] > 0:
            rows.append(_flow(run, own.take(np.array([busier]))))
    return _connections(rows, run.title)


def _flow(run: Run, flow: Table) -> Row:
    name, direction = str(flow["flow"][0]), str(flow["direction"][0])
    sends, receives = str(flow["from"][0]), str(flow["to"][0])
    figures: Row = {
        "site": sends,
        "began_s": float(flow["start_ns"][0]) / 1e9,
        "packets": float(flow["sent"][0]),
        "retransmissions": float(flow["retransmissions"][0]),
        "timeouts": float(flow["timeouts"][0]),
    }
    samples = _optional(run, "rtt")
    if samples is not None:
        own = samples.where(flow=name, direction=direction).seconds("rtt_ns")
        if len(own):
            figures |= {"rtt_mean_s": float(own.mean()), "rtt_max_s": float(own.max())}
    segments = _optional(run, "segments")
    if segments is not None and len(seen := segments.where(flow=name)):
        nodes = set(seen["node"].tolist())
        at = seen.where(node=receives if receives in nodes else min(nodes))
        figures |= _seen(packets_of(at, _optional(run, "syns")), forward=direction == "forward")
        octets, lasts = float(flow["delivered_bytes"][0]), figures.pop("lasts_s")
        figures["throughput_bps"] = 8 * octets / lasts if lasts else np.nan
    return figures


def _optional(run: Run, name: str) -> Table | None:
    try:
        return run.table(name)
    except ValueError:
        return None


def _seen(packets: Packets, *, forward: bool) -> Row:
    """Return the values of the end that sends in a direction, from a connection's packets."""
    figures: Row = {
        "began_s": float(packets.t_s[0]),
        "lasts_s": _nanoseconds(packets.t_s[-1] - packets.t_s[0]),
    }
    syn_s = packets.t_s[packets.syn]
    answer = np.flatnonzero(~packets.syn & packets.forward)
    if len(syn_s) == 2 and len(answer):
        # At every node, the time from the SYN to the ACK of the SYN-ACK is one round trip.
        figures["handshake_s"] = _nanoseconds(packets.t_s[answer[0]] - syn_s[0])
    idle = longest_idle(packets, forward=forward)
    if idle is not None:
        figures |= {"idle_s": _nanoseconds(idle.length_s), "idle_for": idle.waited_for}
    return figures


def _nanoseconds(span_s: float) -> float:
    """Round a time to whole nanoseconds, so that equal times do not differ in their last bits."""
    return round(float(span_s), 9)


def packets_by_flow(found: Explained) -> dict[str, Packets]:
    """Return the packets of each connection of a capture that was explained with its segments."""
    segments, syns = found.table("segments"), found.table("syns")
    names, place = np.unique(segments["flow"], return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(len(names) + 1))
    return {
        str(name): packets_of(segments.take(order[low:high]), syns)
        for name, (low, high) in zip(names, itertools.pairwise(ends.tolist()), strict=True)
    }


def packets_of(segments: Table, syns: Table | None = None) -> Packets:
    """Return the packets of a flow at a node, from the rows of the table `segments`.

    Parameters
    ----------
    segments
        The rows of one flow at one node. If the clock of a capture steps back, or a packet was
        captured slightly too late, its time counts as the latest time before it.
    syns
        The table `syns`, which has the scale factors of receive windows. Without this table, the
        windows are not scaled.
    """
    forward = segments["direction"] == "forward"
    flags = segments["flags"]
    syn = (flags & 2) > 0
    window = np.asarray(segments["window"], dtype=np.int64)
    if syns is not None:
        own = syns.where(flow=str(segments["flow"][0]))
        for direction, rows in (("forward", forward), ("reverse", ~forward)):
            shift = window_shift(own, direction)
            window = np.where(rows & ~syn, window << shift, window)
    fin = (flags & 1) > 0
    length = np.asarray(segments["len_bytes"], dtype=np.int64) + syn + fin
    return Packets(
        t_s=np.maximum.accumulate(segments.seconds()),
        forward=forward,
        seq=_whole(segments["seq"]),
        length=length,
        ack=_whole(segments["ack"]),
        window=window,
        syn=syn,
        fin=fin,
        retransmission=_retransmitted(segments),
    )


def _whole(column: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(np.ma.filled(np.ma.asarray(column), 0), dtype=np.int64)


def _retransmitted(segments: Table) -> NDArray[np.bool_]:
    cause = np.ma.asarray(segments["cause"])
    retransmitted: NDArray[np.bool_] = (segments["kind"] == "retransmission") | np.asarray(
        np.ma.filled(cause != "", False), dtype=np.bool_
    )
    return retransmitted
