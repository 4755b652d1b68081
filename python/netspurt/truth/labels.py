"""The truth of a capture: a label for each retransmission in it.

A label has the cause and the verdict of the retransmission. They come from the tables of the run
that made the capture.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from netspurt.run import Run
from netspurt.truth.pcapng import CollectionError, Packet
from netspurt.truth.views import IP_HEADER, TCP_HEADER

#: The flags of a SYN and of a FIN. A SYN and a FIN take one sequence number each.
_SYN_FIN = 3

#: The side of the path on which a capture sees a segment. The key is how the segment passes the
#: node: it leaves a sender, comes in at a receiver, or goes through.
SIDES = {"out": "sender", "in": "receiver", "through": "middle"}


@dataclass(frozen=True)
class Label:
    """A retransmission in a capture, and the truth about it.

    Attributes
    ----------
    capture
        The capture's file.
    frame
        The number of the packet in the file, counted from 1.
    t_ns, unix_ns
        When the packet was captured [ns], since the file's first packet and since 1970.
    flow, direction
        The flow and the direction of the packet, as in the tables of runs.
    source, destination
        The address and the port of the end that sent the packet, and of the end that it is sent to.
    seq, len_bytes
        The first octet, counted from the number of the SYN, and the number of octets of payload.
    cause
        The cause of the retransmission.
    spurious
        True if earlier transmissions of all octets of the packet arrived, before or after the
        packet was sent.
    side
        The side on which the capture sees the packet: the `sender`, the `receiver`, or the
        `middle`.
    original
        Whether the capture has an earlier transmission of the packet's octets: `seen`, `partly`,
        `unseen`.
    copy
        True if the packet is the network's duplicate of a retransmission that is earlier in the
        capture.
    """

    capture: str
    frame: int
    t_ns: int
    unix_ns: int
    flow: str
    direction: str
    source: str
    destination: str
    seq: int
    len_bytes: int
    cause: str
    spurious: bool
    side: str
    original: str
    copy: bool


class NodeRows:
    """The rows of a run's tables for the packets that a node saw, in order."""

    def __init__(self, run: Run, node: str) -> None:
        table = run.segments
        chosen = np.flatnonzero(table["node"] == node)
        names = ["flow", "direction", "way", "seq", "len_bytes", "size_bytes", "flags"]
        names += ["cause", "spurious", "id"]
        columns = [table[name][chosen].tolist() for name in names]
        self.rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def check(self, packets: Sequence[Packet]) -> None:
        """Check that a capture contains exactly the packets of these rows.

        A packet agrees with its row if its size or its payload length is the same as in the row. A
        check of the size alone would fail, because the profile `ns-2` counts an ACK with SACK
        blocks as fewer octets than a real packet has.

        Raises
        ------
        CollectionError
            If the capture has other packets.
        """
        if len(packets) != len(self.rows):
            raise CollectionError(
                f"the capture has {len(packets)} packets, but its table has {len(self.rows)} rows"
            )
        for frame, (packet, row) in enumerate(zip(packets, self.rows, strict=True), 1):
            if packet.size_bytes != row["size_bytes"] and _payload(packet) != row["len_bytes"]:
                raise CollectionError(
                    f"packet {frame} has {packet.size_bytes} octets, but its row has "
                    f"{row['size_bytes']}"
                )

    def labels(
        self, file: str, kept: Sequence[int], packets: Sequence[Packet], ends: dict[str, Any]
    ) -> Iterator[Label]:
        """Yield the truth of a capture that keeps only the packets with the indices `kept`.

        Parameters
        ----------
        file
            The capture's file.
        kept
            The indices of the kept packets, from 0, in order.
        packets
            All packets that the node saw.
        ends
            For each flow, the address and the port of both ends.
        """
        seen: dict[tuple[str, str], _Octets] = {}
        ids: set[int] = set()
        for frame, number in enumerate(kept, 1):
            row, packet = self.rows[number], packets[number]
            key = row["flow"], row["direction"]
            # A SYN and a FIN take one sequence number each.
            length = row["len_bytes"] + bin(row["flags"] & _SYN_FIN).count("1")
            original = seen.setdefault(key, _Octets()).take(row["seq"], length)
            if row["cause"]:
                source, destination = _of_packet(ends[row["flow"]], row["direction"])
                yield Label(
                    capture=file,
                    frame=frame,
                    t_ns=packet.unix_ns - packets[kept[0]].unix_ns,
                    unix_ns=packet.unix_ns,
                    flow=row["flow"],
                    direction=row["direction"],
                    source=source,
                    destination=destination,
                    seq=row["seq"],
                    len_bytes=row["len_bytes"],
                    cause=row["cause"],
                    spurious=row["spurious"],
                    side=SIDES[row["way"]],
                    original=original,
                    copy=row["id"] in ids,
                )
            ids.add(row["id"])


def _payload(packet: Packet) -> int | None:
    """Return the octets of TCP's payload, or `None` if the captured octets do not show them."""
    header = IP_HEADER.get(packet.octets[0] >> 4) if packet.octets else None
    if header is None or len(packet.octets) < header + TCP_HEADER:
        return None
    # The upper four bits of the 13th octet are the header's length in words (RFC 9293 §3.1).
    return packet.size_bytes - header - 4 * (packet.octets[header + 12] >> 4)


def addresses(run: Run, ends: Mapping[str, Mapping[str, str]], node: str) -> list[str]:
    """Return the addresses of a node: one for each end of a flow at the node."""
    columns = (run.flows[name].tolist() for name in ("flow", "direction", "from", "to"))
    found = set()
    for flow, direction, *nodes in zip(*columns, strict=True):
        pair = nodes if direction == "forward" else nodes[::-1]
        sides = [side for side, at in zip(("from", "to"), pair, strict=True) if at == node]
        found |= {address_of(ends[flow][side]) for side in sides}
    return sorted(found)


def address_of(end: str) -> str:
    """Return the address of an end, which is an address and a port.

    Examples
    --------
    >>> address_of("[fe80::1]:80")
    'fe80::1'
    """
    return end.rpartition(":")[0].strip("[]")


def ends_of_connections(run: Run, hosts: Path) -> dict[str, dict[str, str]]:
    """Return the address and the port of both ends of each connection of a run's programs.

    Parameters
    ----------
    run
        A run of `netspurt live exec`.
    hosts
        The file with an address and a name in each line.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    lines = (line.split() for line in hosts.read_text(encoding="utf-8").splitlines())
    address = {
        name: f"[{one}]" if ":" in one else one
        for one, name in (line for line in lines if len(line) == 2)
    }
    nodes = run.flows.where(direction="forward")
    at = {
        flow: pair
        for flow, *pair in zip(*(nodes[n].tolist() for n in ("flow", "from", "to")), strict=True)
    }
    opened = (run.connections[name].tolist() for name in ("flow", "from_port", "to_port"))
    return {
        flow: {
            side: f"{address[node]}:{port}"
            for side, node, port in zip(("from", "to"), at[flow], ports, strict=True)
        }
        for flow, *ports in zip(*opened, strict=True)
    }


def _of_packet(ends: dict[str, str], direction: str) -> tuple[str, str]:
    pair = ends["from"], ends["to"]
    return pair if direction == "forward" else pair[::-1]


class _Octets:
    """The octets of one direction that the capture has had so far."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []

    def take(self, first: int, length: int) -> str:
        """Add octets. Return whether they were seen before: `seen`, `partly`, or `unseen`."""
        end = first + length
        overlap = sum(max(0, min(end, right) - max(first, left)) for left, right in self._spans)
        touching = [span for span in self._spans if span[0] <= end and first <= span[1]]
        apart = [span for span in self._spans if not (span[0] <= end and first <= span[1])]
        merged = min([first, *(s[0] for s in touching)]), max([end, *(s[1] for s in touching)])
        self._spans = [*apart, merged] if length else self._spans
        return "unseen" if overlap == 0 else "seen" if overlap == length else "partly"


def write_labels(file: Path, labels: Sequence[Label]) -> None:
    """Write the truth of captures as CSV."""
    with file.open("x", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [column.name for column in fields(Label)], lineterminator="\n")
        writer.writeheader()
        for label in labels:
            values = asdict(label)
            writer.writerow({**values, **{k: _yes_or_no(values[k]) for k in ("spurious", "copy")}})


def read_labels(file: Path) -> list[Label]:
    """Read the truth of captures.

    Raises
    ------
    CollectionError
        If the file does not have the columns that `write_labels` writes.
    OSError
        If the file cannot be read.
    """
    with file.open(newline="", encoding="utf-8") as rows:
        reader = csv.DictReader(rows)
        if reader.fieldnames != [column.name for column in fields(Label)]:
            raise CollectionError(
                f"{file} does not have the columns of a table of labels: make the collection again"
            )
        return [_label(row) for row in reader]


def _label(row: dict[str, str]) -> Label:
    numbers = ("frame", "t_ns", "unix_ns", "seq", "len_bytes")
    values: dict[str, Any] = {**row, **{name: int(row[name]) for name in numbers}}
    return Label(**{**values, **{name: row[name] == "yes" for name in ("spurious", "copy")}})


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
