"""Finds connections that filled a link at the same time, and their rate together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from netspurt.analysis.full_link import full_links
from netspurt.table import Table
from netspurt.wording import counted, rate


@dataclass(frozen=True)
class SharedLink:
    """Connections between two hosts that filled a link at the same time.

    Attributes
    ----------
    source, destination
        The addresses of the host that sent the data and of the host that received it.
    connections
        The number of connections that filled a link.
    rate_bps
        The data of all connections from `source` to `destination` that lie within the time of the
        group, divided by this time, in bits per second.
    """

    source: str
    destination: str
    connections: int
    rate_bps: float

    def sentence(self) -> str:
        """Return a sentence on the rate of the link."""
        return (
            f"{counted(self.connections, 'connection')} from {self.source} to {self.destination} "
            f"filled a link at the same time, together at {rate(self.rate_bps)}. If it was the "
            "same link, this is about its rate, and each connection is slow because of the others."
        )


def shared_links(tables: Mapping[str, Table]) -> list[SharedLink]:
    """Return the groups of connections that filled a link at the same time.

    Each connection of a group overlaps in time with another one of the group. So at each instant at
    least one of them filled the link, and together they have the link's rate. The group with the
    most octets comes first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`,
        `retransmissions`, `spent`, `steady`.
    """
    full = {one.connection for one in full_links(tables)}
    if len(full) < 2:
        return []
    rows = [row for row in tables["connections"].each() if row["unique_bytes"] > 0]
    rows.sort(key=lambda row: (_hosts(row), row["t_ns"]))
    found = list[tuple[int, SharedLink]]()
    for (source, destination), own in groupby(rows, _hosts):
        every = list(own)
        largest = _larger_directions([row for row in every if row["connection"] in full], rows)
        for group in _overlapping(largest):
            first, last = min(row["t_ns"] for row in group), max(map(_end, group))
            within = [row for row in every if row["t_ns"] >= first and _end(row) <= last]
            octets = sum(int(row["unique_bytes"]) for row in within)
            shared = SharedLink(source, destination, len(group), 8e9 * octets / (last - first))
            found.append((octets, shared))
    return [shared for _, shared in sorted(found, key=lambda one: -one[0])]


def _hosts(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["source"], row["destination"]


def _end(row: Mapping[str, Any]) -> int:
    return int(row["t_ns"]) + int(row["duration_ns"])


def _larger_directions(
    directions: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the rows of `directions` that have the most data of their connection."""
    most = dict[int, int]()
    for row in rows:
        most[row["connection"]] = max(most.get(row["connection"], 0), int(row["unique_bytes"]))
    return [row for row in directions if row["unique_bytes"] == most[row["connection"]]]


def _overlapping(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the groups of two or more rows that overlap in time. `rows` are in order of time."""
    group, end = list[Mapping[str, Any]](), 0
    for row in rows:
        if row["t_ns"] >= end:
            if len(group) > 1:
                yield group
            group = []
        group.append(row)
        end = max(end, _end(row))
    if len(group) > 1:
        yield group
